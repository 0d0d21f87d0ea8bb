//! What counts of attempts that were lost, were silent, or came back at the wrong moment.

use std::time::Duration;

use hyperscale_cluster::manager::Response;
use hyperscale_cluster::message::{CallNumber, HowEnded, JobAttempt, ToManager};
use hyperscale_cluster::record::AttemptLeft;
use hyperscale_consensus::register::{EndStatus, JobId, JobOptions};
use hyperscale_job::{AttemptId, SegmentId, SegmentKind};
use hyperscale_types::Token;

use super::model::{Cluster, WORKER_LEASE, manager, worker};

const PLAN: &str = "workflows:\n  Browse: { vus: 1, duration: 8s, steps: { home: { http: 'http://x/' } } }\n";

fn cut_from_managers(cluster: &mut Cluster, number: u64) {
    (1..=3).for_each(|it| cluster.cut_link(manager(it), worker(number)));
}

fn heal_to_managers(cluster: &mut Cluster, number: u64) {
    (1..=3).for_each(|it| cluster.heal_link(manager(it), worker(number)));
}

/// How long after the acceptance of a job the lease of its worker ends in the log, which is cut off after 5 s.
fn lease_ends_after(options: &JobOptions) -> Duration {
    let mut cluster = Cluster::ready(&[1]);
    let request = cluster.submit_with(manager(1), "job", PLAN, options.clone());
    cluster.response(request);
    let accepted = cluster.now;
    cluster.run(Duration::from_secs(5));
    cut_from_managers(&mut cluster, 1);
    cluster.wait("the lease ends", WORKER_LEASE * 2, |cluster| {
        cluster.register(manager(1)).worker(worker(1)).is_none()
    });
    cluster.now.since(accepted)
}

#[test]
fn end_that_comes_while_its_lease_ends_counts_once() {
    let lease_ends = lease_ends_after(&JobOptions::default());
    let mut were_lost = 0;
    for early_ms in 0..20 {
        let mut cluster = Cluster::ready(&[1]);
        let request = cluster.submit_with(manager(1), "job", PLAN, JobOptions::default());
        let Response::Accepted { job, .. } = cluster.response(request) else { panic!("it is accepted") };
        let accepted = cluster.now;
        cluster.run(Duration::from_secs(5));
        // The load ends while nobody hears of it; its end arrives when the lease ends, or a moment before.
        cut_from_managers(&mut cluster, 1);
        let arrives = lease_ends.saturating_sub(Duration::from_millis(early_ms));
        cluster.run(arrives.saturating_sub(cluster.now.since(accepted)));
        let (leader, told) = (cluster.leader_of(job).unwrap().0, cluster.told.clone().unwrap());
        cluster.say(worker(1), leader, told);
        let end = cluster.end_of(job, Duration::from_mins(7));
        let (result, seen) = (cluster.result(&end), cluster.seen[&job]);
        let loss = &result.validity.loss;
        were_lost += u32::from(loss.workers_lost > 0);
        assert!(result.totals.requests <= seen, "{early_ms} ms: {} of {seen}", result.totals.requests);
        let is_whole = result.totals.requests == seen;
        assert_eq!(is_whole, loss.unreported.is_empty(), "{early_ms} ms: {loss:?}");
        assert_eq!(is_whole, loss.workers_lost == 0, "{early_ms} ms: what it left counts with its end only");
    }
    assert!((1..20).contains(&were_lost), "some come in time and some too late: {were_lost}");
}

#[test]
fn attempt_that_does_not_say_its_end_in_time_is_named_and_what_it_reported_counts() {
    let mut cluster = Cluster::ready(&[1]);
    let options = JobOptions { timeout_ms: Some(3_000), ..JobOptions::default() };
    let request = cluster.submit_with(manager(1), "silent", PLAN, options);
    let Response::Accepted { job, .. } = cluster.response(request) else { panic!("it is accepted") };
    cluster.run(Duration::from_millis(2_500));
    cut_from_managers(&mut cluster, 1);
    let end = cluster.end_of(job, Duration::from_secs(13));
    assert_eq!(end.how.status, EndStatus::TimedOut);
    let (result, seen) = (cluster.result(&end), cluster.seen[&job]);
    let loss = &result.validity.loss;
    assert!((80..seen).contains(&result.totals.requests), "{} of {seen}", result.totals.requests);
    assert_eq!((loss.workers_lost, loss.unreported.len()), (0, 1), "{loss:?}");
}

#[test]
fn worker_whose_lease_is_late_takes_what_it_is_given_once_it_is_renewed() {
    for step in 0..12 {
        let mut cluster = Cluster::ready(&[1]);
        cut_from_managers(&mut cluster, 1);
        cluster.wait("the lease cannot be used", WORKER_LEASE, |cluster| !cluster.is_usable(worker(1)));
        let (job, _) = cluster.accepted(manager(1), "later", PLAN);
        cluster.run(Duration::from_millis(40) * step);
        heal_to_managers(&mut cluster, 1);
        let end = cluster.end_of(job, Duration::from_secs(40));
        assert_eq!(end.how.status, EndStatus::Completed, "step {step}");
        assert_eq!(cluster.started.last().unwrap().1.attempt.number, 1, "nothing was refused: step {step}");
    }
}

#[test]
fn what_an_attempt_of_an_unknown_job_left_is_given_up_only_by_a_leader_that_has_proved_it() {
    let segment = SegmentId { workflow: 0, kind: SegmentKind::Load, index: 0 };
    let attempt = JobAttempt { job: JobId([9; 16]), attempt: AttemptId { segment, number: 1 } };
    let (token, how, left) = (Token(1), HowEnded::Ran, AttemptLeft::default());
    let ended = ToManager::Ended { attempt, token, how, left };
    let mut cluster = Cluster::ready(&[1]);
    let leader = cluster.cluster_leader().unwrap();
    cluster.say(worker(1), leader, ended.clone());
    cluster.run(Duration::from_millis(200));
    assert_eq!(cluster.confirmed, [attempt]);
    cluster.cut(leader);
    cluster.say(worker(1), leader, ended);
    cluster.run(Duration::from_millis(200));
    assert_eq!(cluster.cluster_leader(), Some(leader), "it does not know yet that it is alone");
    assert_eq!(cluster.confirmed, [attempt], "others may have accepted the job meanwhile");
}

#[test]
fn renewals_of_two_processes_under_one_id_are_both_answered() {
    let mut cluster = Cluster::ready(&[1]);
    let grant = cluster.register(manager(1)).worker(worker(1)).unwrap().grant;
    // A process that was started earlier under the same id asks again and again, and hears nothing.
    for call in 0..500 {
        (1..=3).for_each(|it| {
            let (call, load) = (CallNumber(1_000 + call), Box::new(cluster.load_of(worker(1))));
            let former = ToManager::Renew { call, grant: Token(grant.0 - 1), load };
            cluster.say(worker(1), manager(it), former);
        });
        cluster.run(Duration::from_millis(50));
    }
    let known = cluster.register(manager(1)).worker(worker(1)).map(|worker| worker.grant);
    assert_eq!(known, Some(grant), "its lease is renewed all the time");
}

#[test]
fn attempt_that_is_lost_while_its_last_word_is_waited_for_ends_and_the_job_with_it() {
    let limited = |timeout: Duration| JobOptions {
        timeout_ms: Some(timeout.as_millis() as u64),
        ..JobOptions::default()
    };
    let lease_ends = lease_ends_after(&limited(Duration::from_secs(7)));
    // Its time is over, and 10 s later, when its end is decided without it, its lease ends.
    let overdue = lease_ends.saturating_sub(Duration::from_secs(10));
    for later_ms in 0..30 {
        let timeout = overdue.saturating_sub(Duration::from_millis(15)) + Duration::from_millis(later_ms);
        let mut cluster = Cluster::ready(&[1]);
        let request = cluster.submit_with(manager(1), "job", PLAN, limited(timeout));
        let Response::Accepted { job, .. } = cluster.response(request) else { panic!("it is accepted") };
        cluster.run(Duration::from_secs(5));
        cut_from_managers(&mut cluster, 1);
        let end = cluster.end_of(job, Duration::from_secs(40));
        assert_eq!(end.how.status, EndStatus::TimedOut);
        let result = cluster.result(&end);
        assert_eq!(result.validity.loss.unreported.len(), 1, "{later_ms} ms: {:?}", result.validity);
    }
}
