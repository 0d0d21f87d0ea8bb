//! Clocks of jobs and workflows, and the order of acceptance.

use std::time::Duration;

use super::*;

fn at(seconds: u64) -> Now {
    Now::after_start(Duration::from_secs(seconds))
}

fn lead_with(elapsed: Elapsed) -> Body {
    Body::JobLeader { job: job(1), leader: node(2), elapsed, reason: "its leader is gone".to_owned() }
}

fn observe(clocks: &mut Clocks, seconds: u64, log: &Log) {
    clocks.observe(at(seconds), job(1), log.register().job(job(1)));
}

#[test]
fn deadlines_survive_a_change_of_the_leader() {
    let mut log = Log::new();
    let token = log.led(1);
    let grant = log.grant(9, 1);
    let mut old = Clocks::default();
    observe(&mut old, 100, &log);
    log.apply(token, assign(0, 1, grant, 1));
    observe(&mut old, 110, &log);
    let shown = old.elapsed(at(130), job(1));
    assert_eq!(shown, Elapsed { job_ms: 30_000, workflows_ms: [("load".to_owned(), 20_000)].into() });
    let token = match log.apply(token, lead_with(shown)) {
        Outcome::Granted(token) => token,
        other => panic!("{other:?}"),
    };
    // Somebody who has nothing but the log, on another clock.
    let mut new = Clocks::default();
    observe(&mut new, 5_000, &log);
    let shown = new.elapsed(at(5_010), job(1));
    assert_eq!(shown, Elapsed { job_ms: 40_000, workflows_ms: [("load".to_owned(), 30_000)].into() });
    log.apply(token, lead_with(Elapsed::default()));
    let known = log.register().job(job(1)).unwrap();
    assert_eq!(
        (known.elapsed_ms, known.workflow("load").unwrap().elapsed_ms),
        (30_000, 20_000),
        "never back"
    );
    observe(&mut new, 5_020, &log);
    assert_eq!(new.elapsed(at(5_020), job(1)).job_ms, 50_000, "nor do clocks that saw more");
}

#[test]
fn paused_time_does_not_count_for_a_workflow() {
    let mut log = Log::new();
    let token = log.led(1);
    let grant = log.grant(9, 1);
    log.apply(token, assign(0, 1, grant, 1));
    let mut clocks = Clocks::default();
    observe(&mut clocks, 0, &log);
    let control = |change, request| Body::Control {
        job: job(1),
        workflow: "load".to_owned(),
        change,
        request: RequestId([request; 16]),
    };
    log.apply(token, control(LoadChange::Pause, 1));
    observe(&mut clocks, 10, &log);
    log.apply(token, control(LoadChange::Resume, 2));
    observe(&mut clocks, 70, &log);
    let shown = clocks.elapsed(at(75), job(1));
    assert_eq!((shown.job_ms, shown.workflows_ms["load"]), (75_000, 15_000));
}

#[test]
fn clocks_end_with_what_they_measure() {
    let mut log = Log::new();
    let token = log.led(1);
    let grant = log.grant(9, 1);
    log.apply(token, assign(0, 1, grant, 1));
    let mut clocks = Clocks::default();
    observe(&mut clocks, 0, &log);
    log.apply(token, attempt_end(0, 1));
    log.apply(token, workflow_end("load", EndStatus::Completed));
    observe(&mut clocks, 1, &log);
    assert_eq!(clocks.elapsed(at(2), job(1)).workflows_ms, BTreeMap::new());
    log.apply(token, job_end(EndStatus::Completed));
    observe(&mut clocks, 3, &log);
    assert_eq!(clocks.elapsed(at(9), job(1)), Elapsed::default());
}

#[test]
fn jobs_know_the_order_of_their_acceptance() {
    let mut log = Log::new();
    for number in [3, 1, 2] {
        log.apply(Token(0), accept(number, &format!("key{number}"), b"plan"));
    }
    let mut jobs: Vec<_> = log.register().jobs().map(|(id, job)| (job.accepted, *id)).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, [(1, job(3)), (2, job(1)), (3, job(2))]);
}
