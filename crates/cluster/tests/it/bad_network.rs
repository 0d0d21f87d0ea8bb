//! The life of a job while messages are lost, doubled, delayed and reordered, over many seeds.

use std::time::Duration;

use hyperscale_cluster::manager::{Rejection, Request, Response};
use hyperscale_consensus::register::{EndStatus, JobId, JobOptions, RequestId};

use super::model::{Cluster, Network, WORKER_LEASE, manager, worker};

const SEEDS: u64 = 24;
const PLAN: &str =
    "workflows:\n  Browse: { vus: 8, duration: 10s, steps: { home: { http: 'http://x/' } } }\n";
const CHAIN: &str = "workflows:\n\
    \x20 Login:\n    vus: 2\n    duration: 3s\n    setup: [ { name: seed, http: 'http://x/seed' } ]\n    steps: { a: { http: 'http://x/' } }\n\
    \x20 Browse:\n    depends: [Login]\n    vus: 2\n    duration: 3s\n    steps: { b: { http: 'http://x/' } }\n";

/// Runs a scenario on a bad network of every seed; which one failed is printed.
fn on_bad_networks(cores: &[u32], scenario: impl Fn(&mut Cluster)) {
    for seed in 1..=SEEDS {
        let run = std::panic::AssertUnwindSafe(|| {
            scenario(&mut Cluster::ready_on(cores, Network::bad(seed)));
        });
        assert!(std::panic::catch_unwind(run).is_ok(), "it failed with seed {seed}");
    }
}

/// The job completed, and its result has everything that the target saw.
fn completes(cluster: &mut Cluster, job: JobId) {
    let end = cluster.end_of(job, Duration::from_mins(3));
    let result = cluster.result(&end);
    assert_eq!(end.how.status, EndStatus::Completed, "{:?} {:?}", result.reason, result.errors);
    assert_eq!(result.totals.requests, cluster.seen[&job], "{:?} {:?}", result.validity, cluster.started);
    let started: std::collections::BTreeSet<_> = cluster.started.iter().map(|(_, it)| *it).collect();
    assert_eq!(started.len(), cluster.started.len(), "an attempt was started twice");
}

#[test]
fn jobs_complete_with_exact_counts_on_a_bad_network() {
    on_bad_networks(&[2, 2], |cluster| {
        let (first, _) = cluster.accepted(manager(1), "first", PLAN);
        let (second, _) = cluster.accepted(manager(2), "second", CHAIN);
        completes(cluster, first);
        completes(cluster, second);
    });
}

#[test]
fn job_is_taken_over_on_a_bad_network() {
    on_bad_networks(&[2, 2], |cluster| {
        let cluster_leader = cluster.cluster_leader().unwrap();
        let other = (1..=3).map(manager).find(|it| *it != cluster_leader).unwrap();
        let (job, leader) = cluster.accepted(other, "taken over", &PLAN.replace("10s", "30s"));
        cluster.wait("load runs", Duration::from_secs(30), |it| it.running().len() == 2);
        cluster.run(Duration::from_secs(3));
        let before = cluster.running();
        cluster.kill_manager(leader);
        cluster.wait("another leader", Duration::from_secs(20), |it| {
            it.leader_of(job).is_some_and(|(other, _)| other != leader)
        });
        cluster.run(Duration::from_secs(2));
        assert_eq!(cluster.running(), before, "healthy attempts run on");
        completes(cluster, job);
        assert_eq!(cluster.started.len(), 2);
    });
}

#[test]
fn job_outlives_the_cluster_leader_on_a_bad_network() {
    on_bad_networks(&[2, 2], |cluster| {
        let cluster_leader = cluster.cluster_leader().unwrap();
        let (job, _) = cluster.accepted(cluster_leader, "taken over", &PLAN.replace("10s", "30s"));
        cluster.run(Duration::from_secs(5));
        cluster.kill_manager(cluster_leader);
        // An election may outlast leases here: then load is lost, and said to be.
        let end = cluster.end_of(job, Duration::from_mins(3));
        let result = cluster.result(&end);
        assert_eq!(end.how.status, EndStatus::Completed, "{:?} {:?}", result.reason, result.errors);
        let seen = cluster.seen[&job];
        let is_exact = result.validity.loss.unreported.is_empty();
        assert!(result.totals.requests == seen || !is_exact && result.totals.requests < seen);
    });
}

#[test]
fn all_managers_restart_on_a_bad_network() {
    on_bad_networks(&[2], |cluster| {
        let (job, _) = cluster.accepted(manager(1), "power", &PLAN.replace("10s", "20s"));
        cluster.run(Duration::from_secs(5));
        (1..=3).for_each(|number| cluster.kill_manager(manager(number)));
        (1..=3).for_each(|number| cluster.start_manager(manager(number)));
        completes(cluster, job);
    });
}

#[test]
fn worker_that_died_is_replaced_on_a_bad_network() {
    on_bad_networks(&[2, 2], |cluster| {
        let (job, _) = cluster.accepted(manager(1), "lost", &PLAN.replace("10s", "120s"));
        cluster.wait("load runs", Duration::from_secs(30), |it| it.running().len() == 2);
        cluster.run(Duration::from_secs(3));
        cluster.kill_worker(worker(1));
        cluster.start_worker(worker(3), 2);
        // A proposal whose message is lost takes 6 s to be made again.
        cluster.wait("it runs again", WORKER_LEASE + Duration::from_mins(1), |it| it.started.len() == 3);
        let end = cluster.end_of(job, Duration::from_mins(3));
        assert_eq!(end.how.status, EndStatus::Completed);
        let (reported, seen) = (cluster.result(&end).totals.requests, cluster.seen[&job]);
        assert!(reported <= seen, "{reported} of {seen}");
    });
}

#[test]
fn cancelled_job_ends_with_what_was_measured_on_a_bad_network() {
    on_bad_networks(&[2, 2], |cluster| {
        let (job, _) = cluster.accepted(manager(1), "long", &PLAN.replace("10s", "10m"));
        cluster.run(Duration::from_secs(5));
        let cancel = Request::Cancel {
            job,
            workflows: Vec::new(),
            dependents: true,
            request: RequestId([7; 16]),
            reason: "wrong target".to_owned(),
            caller: "ada".to_owned(),
        };
        loop {
            let request = cluster.ask(manager(3), cancel.clone());
            match cluster.response(request) {
                Response::CancelCommitted | Response::Rejected(Rejection::AlreadyEnded) => break,
                Response::Rejected(
                    Rejection::Unavailable(_) | Rejection::QuorumTimeout(_) | Rejection::QuorumCircuitOpen(_),
                ) => {}
                other => panic!("{other:?}"),
            }
        }
        let end = cluster.end_of(job, Duration::from_mins(1));
        let result = cluster.result(&end);
        assert_eq!(end.how.status, EndStatus::Cancelled, "{:?} {:?}", result.reason, result.errors);
        let seen = cluster.seen.get(&job).copied().unwrap_or_default();
        assert_eq!(result.totals.requests, seen);
    });
}

#[test]
fn job_with_options_is_accepted_once_on_a_bad_network() {
    on_bad_networks(&[2], |cluster| {
        let options = JobOptions { max_retries: 1, ..JobOptions::default() };
        let jobs = [1, 2, 3].map(|it| cluster.accepted_with(manager(it), "same", PLAN, &options).0);
        assert_eq!(jobs, [jobs[0]; 3]);
        completes(cluster, jobs[0]);
        assert_eq!(cluster.started.len(), 1);
    });
}
