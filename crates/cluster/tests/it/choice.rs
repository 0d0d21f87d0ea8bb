//! Which workers are given what: by their state, their capabilities, and whether they answer.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_cluster::manager::{Rejection, Request, Response};
use hyperscale_cluster::worker::Readings;
use hyperscale_consensus::register::{EndStatus, JobOptions};
use hyperscale_swim::WorkerState;
use hyperscale_types::NodeId;

use super::model::{Cluster, manager, worker};

const PLAN: &str = "workflows:\n  Browse: { vus: 2, duration: 3s, steps: { home: { http: 'http://x/' } } }\n";
const BUSY_CPU: Readings = Readings { cpu_percent: 90, memory_percent: 10, lhm: 0 };
const FULL_MEMORY: Readings = Readings { cpu_percent: 10, memory_percent: 97, lhm: 0 };
const CALM: Readings = Readings { cpu_percent: 10, memory_percent: 10, lhm: 0 };
const SOON: Duration = Duration::from_secs(1);

fn all_see(cluster: &Cluster, node: NodeId, state: WorkerState) -> bool {
    (1..=3).all(|it| cluster.worker_state(manager(it), node) == Some(state))
}

fn workers_of(cluster: &Cluster) -> Vec<NodeId> {
    cluster.started.iter().map(|(node, _)| *node).collect()
}

#[test]
fn all_managers_know_within_a_second_that_a_worker_is_under_pressure_and_choose_it_last() {
    let mut cluster = Cluster::ready(&[8, 2, 1]);
    cluster.press_worker(worker(1), BUSY_CPU);
    cluster.wait("all know it", SOON, |it| all_see(it, worker(1), WorkerState::Degraded));
    let (job, _) = cluster.accepted(manager(2), "small", PLAN);
    cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(workers_of(&cluster), [worker(2)], "though another one has more cores");
    // What the healthy ones have no cores for it gets all the same.
    let (job, _) = cluster.accepted(manager(3), "large", &PLAN.replace("vus: 2", "vus: 11"));
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    let used: BTreeSet<NodeId> = workers_of(&cluster).into_iter().collect();
    assert_eq!(used, BTreeSet::from([worker(1), worker(2), worker(3)]));
    cluster.press_worker(worker(1), CALM);
    cluster.wait("all know it", SOON, |it| all_see(it, worker(1), WorkerState::Healthy));
}

#[test]
fn worker_that_drains_under_pressure_finishes_takes_nothing_new_and_comes_back() {
    let mut cluster = Cluster::ready(&[4]);
    let (first, _) = cluster.accepted(manager(1), "first", &PLAN.replace("3s", "8s"));
    cluster.wait("it runs", Duration::from_secs(5), |it| it.running().len() == 1);
    cluster.press_worker(worker(1), FULL_MEMORY);
    cluster.wait("all know it", SOON, |it| all_see(it, worker(1), WorkerState::Draining));
    let (second, _) = cluster.accepted(manager(2), "second", PLAN);
    cluster.press_worker(worker(1), CALM);
    let end = cluster.end_of(first, Duration::from_secs(20));
    assert_eq!((end.how.status, cluster.started.len()), (EndStatus::Completed, 1));
    let ended = cluster.now;
    cluster.wait("it is healthy again", Duration::from_secs(20), |it| {
        all_see(it, worker(1), WorkerState::Healthy)
    });
    assert!(cluster.now.since(ended) >= Duration::from_secs(9), "ten seconds without anything wrong");
    assert!(cluster.has_worker(worker(1)), "it was not asked to leave");
    let end = cluster.end_of(second, Duration::from_secs(20));
    assert_eq!(end.how.status, EndStatus::Completed);
    let attempts: Vec<u32> = cluster.started.iter().map(|(_, it)| it.attempt.number).collect();
    assert_eq!(attempts, [1, 1], "nobody tried to give it anything meanwhile");
}

#[test]
fn manager_that_was_restarted_hears_again_how_workers_are() {
    let mut cluster = Cluster::ready(&[2, 1]);
    cluster.press_worker(worker(1), BUSY_CPU);
    cluster.wait("all know it", SOON, |it| all_see(it, worker(1), WorkerState::Degraded));
    cluster.kill_manager(manager(3));
    cluster.start_manager(manager(3));
    cluster.wait("it knows it again", Duration::from_secs(10), |it| {
        it.worker_state(manager(3), worker(1)) == Some(WorkerState::Degraded)
    });
}

#[test]
fn drain_that_one_manager_was_asked_for_holds_for_all_of_them_whoever_dies() {
    let mut cluster = Cluster::ready(&[2, 1]);
    let (first, _) = cluster.accepted(manager(1), "first", &PLAN.replace("3s", "20s"));
    cluster.wait("it runs", Duration::from_secs(5), |it| it.running().len() == 1);
    assert_eq!(workers_of(&cluster), [worker(1)]);
    // The worker does not hear of it: nobody who could tell it reaches it.
    (1..=3).for_each(|it| cluster.cut_link(manager(it), worker(1)));
    let request = cluster.ask(manager(2), Request::Drain { worker: worker(1) });
    assert!(matches!(cluster.response(request), Response::Draining { is_repeat: false }));
    cluster.kill_manager(manager(2));
    cluster.run(SOON);
    let (second, _) = cluster.accepted(manager(3), "second", &PLAN.replace("vus: 2", "vus: 1"));
    let end = cluster.end_of(second, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(workers_of(&cluster)[1..], [worker(2)], "nobody gives it anything new");
    for it in [1, 3] {
        cluster.heal_link(manager(it), worker(1));
    }
    let end = cluster.end_of(first, Duration::from_mins(1));
    assert_eq!(end.how.status, EndStatus::Completed);
    cluster.wait("it leaves", Duration::from_secs(10), |it| !it.has_worker(worker(1)));
    assert!(cluster.register(manager(1)).worker(worker(1)).is_none(), "with its grant");
}

#[test]
fn job_runs_on_workers_that_have_what_it_requires() {
    let mut cluster = Cluster::ready(&[4]);
    let plan = PLAN.replace("vus: 2", "requires: [gpu=nvidia], vus: 2");
    let request = cluster.submit(manager(1), "early", &plan);
    match cluster.response(request) {
        Response::Rejected(Rejection::Refused(message)) => {
            assert_eq!(message, "no worker has what workflow `Browse` requires: gpu=nvidia");
        }
        other => panic!("{other:?}"),
    }
    cluster.start_worker_with(worker(2), 1, &["gpu=nvidia", "ssd"]);
    cluster.wait("it is owned", Duration::from_secs(10), |it| {
        it.register(manager(1)).worker(worker(2)).is_some_and(|it| it.owner.is_some())
    });
    let (job, _) = cluster.accepted(manager(1), "late", &plan);
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(workers_of(&cluster), [worker(2)], "the other one has more free cores");
}

#[test]
fn spread_job_runs_on_all_workers_and_others_on_the_fewest() {
    let mut cluster = Cluster::ready(&[4, 4, 4]);
    let plan = PLAN.replace("vus: 2", "vus: 3");
    let (job, _) = cluster.accepted(manager(1), "packed", &plan);
    cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(cluster.started.len(), 1);
    let options = JobOptions { spread: true, ..JobOptions::default() };
    let (job, _) = cluster.accepted_with(manager(1), "spread", &plan, &options);
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    let used: BTreeSet<NodeId> = workers_of(&cluster)[1..].iter().copied().collect();
    assert_eq!(used.len(), 3);
    assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&job]);
}

#[test]
fn small_jobs_are_spread_over_equal_workers_by_chance() {
    let mut cluster = Cluster::ready(&[8, 8, 8, 8]);
    let plan = PLAN.replace("vus: 2", "vus: 1").replace("3s", "30s");
    for number in 0..12 {
        cluster.accepted(manager(1 + number % 3), &format!("job {number}"), &plan);
    }
    cluster.wait("all run", Duration::from_secs(10), |it| it.running().len() == 12);
    for number in 1..=4 {
        let count = workers_of(&cluster).into_iter().filter(|it| *it == worker(number)).count();
        assert!((1..=6).contains(&count), "{count} on worker {number}");
    }
}

#[test]
fn worker_that_does_not_answer_dispatches_gets_nothing_new_until_it_does() {
    let mut cluster = Cluster::ready(&[4, 2]);
    cluster.cut_link(manager(1), worker(1));
    let plan = PLAN.replace("vus: 2", "vus: 1");
    let (unheard, _) = cluster.accepted(manager(1), "unheard", &plan);
    cluster.wait("the circuit opens", Duration::from_secs(15), |it| it.circuits_open(manager(1)) == 1);
    let counters = cluster.counters(manager(1));
    assert_eq!((counters.dispatches_repeated >= 4, counters.dispatches_unanswered), (true, 3));
    let (second, _) = cluster.accepted(manager(1), "second", &plan);
    let end = cluster.end_of(second, Duration::from_secs(9));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(workers_of(&cluster), [worker(2)], "though the other one has more free cores");
    assert!(cluster.register(manager(1)).job(unheard).unwrap().end.is_none(), "that one is not moved");
    cluster.heal_link(manager(1), worker(1));
    let end = cluster.end_of(unheard, Duration::from_secs(20));
    assert_eq!((end.how.status, cluster.circuits_open(manager(1))), (EndStatus::Completed, 0));
    let (third, _) = cluster.accepted(manager(1), "third", &plan);
    cluster.end_of(third, Duration::from_secs(20));
    assert_eq!(workers_of(&cluster).last(), Some(&worker(1)));
}
