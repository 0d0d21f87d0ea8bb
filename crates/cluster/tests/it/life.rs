//! From submission to result.

use std::time::Duration;

use hyperscale_cluster::manager::{Rejection, Request, Response};
use hyperscale_consensus::register::{EndStatus, RequestId};
use hyperscale_stats::event::Event;
use hyperscale_stats::result::Status;

use super::model::{Cluster, manager, worker};

const PLAN: &str = "workflows:\n  Browse: { vus: 8, duration: 5s, steps: { home: { http: 'http://x/' } } }\n";

#[test]
fn plan_is_run_on_all_workers_and_the_result_counts_what_the_target_saw() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, leader) = cluster.accepted(manager(2), "first", PLAN);
    assert_eq!(leader, manager(2), "who accepted it leads it");
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    let result = cluster.result(&end);
    assert_eq!((result.status, result.is_final), (Status::Completed, true));
    let seen = cluster.seen[&job];
    assert!(seen > 900, "{seen}");
    assert_eq!((result.totals.requests, result.totals.ok), (seen, seen));
    assert_eq!(result.workflows[0].cores, 4);
    let workers: Vec<_> = cluster.started.iter().map(|(node, _)| *node).collect();
    assert!(workers.contains(&worker(1)) && workers.contains(&worker(2)), "{workers:?}");
    let free: u32 = cluster.register(manager(1)).workers().map(|(_, worker)| worker.free()).sum();
    assert_eq!(free, 4, "its cores are free again");
    let finished =
        cluster.events.iter().filter(|(_, it, event)| *it == job && matches!(event, Event::Finished(_)));
    assert_eq!(finished.count(), 1);
}

#[test]
fn same_key_never_makes_a_second_job() {
    let mut cluster = Cluster::ready(&[2]);
    let requests = [1, 2, 3].map(|number| cluster.submit(manager(number), "same", PLAN));
    let jobs: Vec<_> = requests
        .into_iter()
        .map(|request| match cluster.response(request) {
            Response::Accepted { job, is_repeat, .. } => (job, is_repeat),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(jobs.iter().all(|(job, _)| *job == jobs[0].0), "{jobs:?}");
    assert_eq!(jobs.iter().filter(|(_, is_repeat)| !is_repeat).count(), 1);
    cluster.end_of(jobs[0].0, Duration::from_secs(30));
    assert_eq!(cluster.started.len(), 1);
}

#[test]
fn plan_that_is_wrong_is_rejected_with_its_problems() {
    let mut cluster = Cluster::ready(&[1]);
    let request = cluster.submit(manager(1), "wrong", "workflows:\n  A: { vus: none }\n");
    match cluster.response(request) {
        Response::Rejected(Rejection::Plan(problems)) => assert!(!problems.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn job_waits_for_cores_and_runs_when_the_one_before_has_ended() {
    let mut cluster = Cluster::ready(&[1]);
    let (first, _) = cluster.accepted(manager(1), "one", PLAN);
    let (second, _) = cluster.accepted(manager(2), "two", PLAN);
    cluster.run(Duration::from_secs(2));
    assert!(cluster.running().iter().all(|attempt| attempt.job == first));
    for job in [first, second] {
        let end = cluster.end_of(job, Duration::from_secs(40));
        assert_eq!(end.how.status, EndStatus::Completed);
        assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&job]);
    }
}

#[test]
fn set_up_hands_its_values_to_the_load_and_workflows_follow_each_other() {
    let plan = "workflows:\n\
        \x20 Login:\n    vus: 2\n    duration: 1s\n    setup: [ { name: seed, http: 'http://x/seed' } ]\n    steps: { a: { http: 'http://x/' } }\n\
        \x20 Browse:\n    depends: [Login]\n    vus: 2\n    duration: 1s\n    steps: { b: { http: 'http://x/' } }\n";
    let mut cluster = Cluster::ready(&[2]);
    let (job, _) = cluster.accepted(manager(3), "chain", plan);
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed, "{:?}", cluster.result(&end).errors);
    let result = cluster.result(&end);
    assert_eq!(result.workflows.len(), 2);
    assert_eq!(result.totals.requests, cluster.seen[&job]);
}

#[test]
fn cancelled_job_stops_and_keeps_what_was_measured() {
    let long = PLAN.replace("5s", "10m");
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, leader) = cluster.accepted(manager(1), "long", &long);
    cluster.run(Duration::from_secs(3));
    let other = if leader == manager(1) { manager(2) } else { manager(1) };
    let cancel = Request::Cancel {
        job,
        workflows: Vec::new(),
        dependents: true,
        request: RequestId([7; 16]),
        reason: "wrong target".to_owned(),
        caller: "ada".to_owned(),
    };
    let request = cluster.ask(other, cancel.clone());
    assert!(matches!(cluster.response(request), Response::CancelCommitted));
    let end = cluster.end_of(job, Duration::from_secs(20));
    assert_eq!(end.how.status, EndStatus::Cancelled);
    let result = cluster.result(&end);
    assert_eq!(result.reason.as_deref(), Some("wrong target"));
    assert_eq!(result.totals.requests, cluster.seen[&job]);
    let request = cluster.ask(other, cancel);
    assert!(matches!(cluster.response(request), Response::Rejected(Rejection::AlreadyEnded)));
}

#[test]
fn who_does_not_lead_a_job_says_who_does() {
    let mut cluster = Cluster::ready(&[2]);
    let (job, leader) = cluster.accepted(manager(1), "asked", PLAN);
    cluster.run(Duration::from_secs(2));
    let request = cluster.ask(leader, Request::Get { job });
    match cluster.response(request) {
        Response::Running { result, .. } => {
            assert!(!result.is_final && result.totals.requests > 0);
        }
        other => panic!("{other:?}"),
    }
    let request = cluster.ask(manager(3), Request::Get { job });
    assert!(matches!(cluster.response(request), Response::Moved { leader: it, .. } if it == leader));
}

#[test]
fn worker_that_is_to_drain_is_told_until_it_has_finished_and_left() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, _) = cluster.accepted(manager(1), "drained", &PLAN.replace("duration: 5s", "duration: 10s"));
    cluster.wait("both run", Duration::from_secs(5), |cluster| cluster.running().len() == 2);
    let (asked, drained) = (manager(2), worker(1));
    let ask = |cluster: &mut Cluster, worker| {
        let request = cluster.ask(asked, Request::Drain { worker });
        cluster.response(request)
    };
    // What is said first is lost.
    cluster.cut_link(asked, drained);
    assert!(matches!(ask(&mut cluster, drained), Response::Draining { is_repeat: false }));
    assert!(matches!(ask(&mut cluster, drained), Response::Draining { is_repeat: true }));
    cluster.heal_link(asked, drained);
    let end = cluster.end_of(job, Duration::from_secs(30));
    let result = cluster.result(&end);
    assert_eq!((end.how.status, result.totals.requests), (EndStatus::Completed, cluster.seen[&job]));
    cluster.wait("it leaves", Duration::from_secs(5), |cluster| !cluster.has_worker(drained));
    assert!(cluster.has_worker(worker(2)));
    assert!(cluster.register(asked).worker(drained).is_none(), "with its grant");
    assert!(matches!(ask(&mut cluster, drained), Response::Rejected(Rejection::UnknownWorker)));
}
