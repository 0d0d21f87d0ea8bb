//! Dispatches that are refused, lost, or overtaken by a cancel.

use std::time::Duration;

use hyperscale_cluster::manager::{Request, Response};
use hyperscale_consensus::register::{EndStatus, JobId, RequestId};

use super::model::{Cluster, manager, worker};

const PLAN: &str = "workflows:\n  Browse: { vus: 1, duration: 5s, steps: { home: { http: 'http://x/' } } }\n";

fn cancel(job: JobId) -> Request {
    let (workflows, request) = (Vec::new(), RequestId([7; 16]));
    Request::Cancel {
        job,
        workflows,
        dependents: true,
        request,
        reason: "enough".to_owned(),
        caller: "ada".to_owned(),
    }
}

#[test]
fn refused_dispatch_is_committed_and_the_segment_runs_on_another_worker_at_once() {
    let mut cluster = Cluster::ready(&[4, 2]);
    let (first, _) = cluster.accepted(manager(1), "first", &PLAN.replace("5s", "30s"));
    cluster.wait("it runs", Duration::from_secs(5), |cluster| cluster.running().len() == 1);
    assert_eq!(cluster.started[0].0, worker(1));
    cluster.drain_worker(worker(1));
    let (second, _) = cluster.accepted(manager(2), "second", PLAN);
    cluster.wait("it runs too", Duration::from_secs(5), |cluster| cluster.running().len() == 2);
    let (node, attempt) = cluster.started[1];
    assert_eq!((node, attempt.job, attempt.attempt.number), (worker(2), second, 2));
    let job = cluster.register(manager(1)).job(second).unwrap();
    assert_eq!((job.retries(), job.segment("Browse", 0).unwrap().refused()), ((0, 1), 1));
    for job in [first, second] {
        let end = cluster.end_of(job, Duration::from_mins(1));
        assert_eq!(end.how.status, EndStatus::Completed);
        assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&job]);
    }
}

#[test]
fn worker_that_leaves_takes_nothing_with_it_that_it_never_began() {
    let mut cluster = Cluster::ready(&[4, 2]);
    // It hears of nothing that is assigned to it, and leaves.
    (1..=3).for_each(|it| cluster.cut_link(manager(it), worker(1)));
    let (job, _) = cluster.accepted(manager(1), "assigned", PLAN);
    cluster.wait("it is assigned", Duration::from_secs(5), |cluster| {
        cluster.register(manager(1)).worker(worker(1)).is_some_and(|it| it.promised().len() == 1)
    });
    cluster.drain_worker(worker(1));
    cluster.run(Duration::from_millis(500));
    (1..=3).for_each(|it| cluster.heal_link(manager(it), worker(1)));
    cluster.wait("it runs on the other", Duration::from_secs(5), |it| it.started.len() == 1);
    assert_eq!(cluster.started[0].0, worker(2));
    cluster.wait("it has left, before its lease is over", Duration::from_secs(2), |cluster| {
        !cluster.has_worker(worker(1)) && cluster.register(manager(1)).worker(worker(1)).is_none()
    });
    let end = cluster.end_of(job, Duration::from_mins(1));
    let result = cluster.result(&end);
    assert_eq!((end.how.status, result.validity.loss.workers_lost), (EndStatus::Completed, 0));
    assert_eq!(result.totals.requests, cluster.seen[&job]);
}

#[test]
fn job_is_taken_over_after_a_refusal() {
    let mut cluster = Cluster::ready(&[4, 2]);
    cluster.accepted(manager(1), "first", &PLAN.replace("5s", "60s"));
    cluster.wait("it runs", Duration::from_secs(5), |cluster| cluster.running().len() == 1);
    cluster.drain_worker(worker(1));
    let (second, leader) = cluster.accepted(manager(2), "second", &PLAN.replace("5s", "20s"));
    cluster.wait("it runs too", Duration::from_secs(5), |cluster| cluster.running().len() == 2);
    cluster.run(Duration::from_secs(2));
    cluster.kill_manager(leader);
    let end = cluster.end_of(second, Duration::from_mins(1));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&second]);
    assert_eq!(cluster.started.len(), 2);
}

#[test]
fn dispatch_without_any_response_is_not_moved_while_its_worker_has_its_lease() {
    let mut cluster = Cluster::ready(&[2, 1]);
    cluster.cut_link(manager(1), worker(1));
    let (job, leader) = cluster.accepted(manager(1), "unheard", PLAN);
    assert_eq!(leader, manager(1));
    cluster.run(Duration::from_secs(40));
    assert_eq!(cluster.started, [], "the worker may have taken it");
    cluster.heal_link(manager(1), worker(1));
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(cluster.started.len(), 1);
    assert_eq!((cluster.started[0].0, cluster.started[0].1.attempt.number), (worker(1), 1));
}

#[test]
fn cancelled_attempt_that_was_never_taken_does_not_start() {
    let set_up = "workflows:\n  Login:\n    vus: 1\n    duration: 1s\n    setup: [ { name: seed, http: 'http://x/seed' } ]\n    steps: { a: { http: 'http://x/' } }\n";
    let mut cluster = Cluster::ready(&[2, 1]);
    cluster.cut_link(manager(1), worker(1));
    let (job, _) = cluster.accepted(manager(1), "unheard", set_up);
    cluster.run(Duration::from_secs(5));
    let request = cluster.ask(manager(2), cancel(job));
    assert!(matches!(cluster.response(request), Response::CancelCommitted));
    cluster.run(Duration::from_secs(5));
    assert!(cluster.register(manager(1)).job(job).unwrap().end.is_none(), "its worker has not confirmed it");
    cluster.heal_link(manager(1), worker(1));
    let end = cluster.end_of(job, Duration::from_secs(10));
    assert_eq!(end.how.status, EndStatus::Cancelled);
    assert_eq!(cluster.started, [], "a set-up would run without being told to");
}
