//! Jobs whose lost segments run again from the beginning.

use std::time::Duration;

use hyperscale_consensus::register::{EndStatus, JobId, JobOptions, OnWorkerLoss};
use hyperscale_types::NodeId;

use super::model::{Cluster, Network, manager, worker};

const PLAN: &str =
    "workflows:\n  Browse: { vus: 8, duration: 10s, steps: { home: { http: 'http://x/' } } }\n";

fn restarting(cluster: &mut Cluster) -> (JobId, NodeId) {
    let options = JobOptions { on_worker_loss: OnWorkerLoss::Restart, ..JobOptions::default() };
    cluster.accepted_with(manager(1), "again", PLAN, &options)
}

/// The result counts the attempts that ended, all of each, and says what was discarded.
fn assert_counts(cluster: &mut Cluster, job: JobId) {
    let end = cluster.end_of(job, Duration::from_mins(2));
    assert_eq!(end.how.status, EndStatus::Completed);
    let result = cluster.result(&end);
    let of_number =
        |number| cluster.seen_of.iter().filter(move |(it, _)| it.job == job && it.attempt.number == number);
    let (first, again): (u64, u64) = (of_number(1).map(|it| it.1).sum(), of_number(2).map(|it| it.1).sum());
    let gone = of_number(1).find(|(it, _)| it.attempt.segment.index == 0).unwrap();
    assert_eq!(result.totals.requests, first - gone.1 + again);
    // Ten seconds of two cores with ten windows a second of five calls each: all of the load, not the rest of it.
    assert!((960..=1010).contains(&again), "{again}");
    let loss = &result.validity.loss;
    assert_eq!((loss.workers_lost, loss.unreported.len()), (1, 1));
    let discarded = &loss.discarded[0];
    assert_eq!((&*discarded.segment, discarded.attempt), ("Browse/0", 1));
    assert!(discarded.requests > 0 && discarded.requests <= *gone.1, "{discarded:?} of {}", gone.1);
    assert!(loss.unreported[0].from_s < 1.0, "{loss:?}");
    assert!(cluster.seen[&job] >= result.totals.requests + discarded.requests);
}

#[test]
fn segment_of_a_worker_that_died_is_restarted_from_the_beginning_and_what_it_measured_is_discarded() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, _) = restarting(&mut cluster);
    cluster.run(Duration::from_secs(5));
    cluster.kill_worker(worker(1));
    assert_counts(&mut cluster, job);
}

#[test]
fn job_is_taken_over_while_a_segment_runs_again() {
    for later_ms in [0, 5, 20, 200, 5_000] {
        let mut cluster = Cluster::ready(&[2, 2]);
        let (job, leader) = restarting(&mut cluster);
        cluster.run(Duration::from_secs(5));
        cluster.kill_worker(worker(1));
        cluster.wait("it runs again", Duration::from_mins(1), |cluster| cluster.started.len() == 3);
        cluster.run(Duration::from_millis(later_ms));
        cluster.kill_manager(leader);
        assert_counts(&mut cluster, job);
        assert_eq!(cluster.started.len(), 3, "no attempt was started twice");
    }
}

#[test]
fn segment_is_restarted_on_a_bad_network() {
    for seed in 0..4 {
        let mut cluster = Cluster::ready_on(&[2, 2], Network::bad(seed));
        let (job, _) = restarting(&mut cluster);
        cluster.wait("it runs", Duration::from_secs(20), |cluster| cluster.running().len() == 2);
        cluster.run(Duration::from_secs(3));
        cluster.kill_worker(worker(1));
        let end = cluster.end_of(job, Duration::from_mins(3));
        assert_eq!(end.how.status, EndStatus::Completed, "seed {seed}");
        let result = cluster.result(&end);
        let ended = cluster
            .seen_of
            .iter()
            .filter(|(it, _)| it.job == job && (it.attempt.segment.index == 1 || it.attempt.number == 2));
        assert_eq!(result.totals.requests, ended.map(|it| it.1).sum::<u64>(), "seed {seed}");
    }
}
