//! What the windows of a lost attempt said: the same for every leader of the job, and never more than came in time.

use std::time::Duration;

use hyperscale_cluster::message::JobAttempt;
use hyperscale_consensus::register::{AttemptState, EndStatus, JobId};
use hyperscale_stats::result::RunResult;

use super::model::{Cluster, WORKER_LEASE, manager, worker};

const PLAN: &str =
    "workflows:\n  Browse: { vus: 8, duration: 60s, steps: { home: { http: 'http://x/' } } }\n";

/// Waits until the lease of the first worker has ended and the loss of its attempt is decided.
fn wait_for_the_loss(cluster: &mut Cluster, job: JobId) {
    cluster.wait("the loss is decided", WORKER_LEASE * 2, |cluster| {
        let observer = (1..=3).map(manager).find(|it| cluster.runs_manager(*it)).unwrap();
        let attempts = cluster.register(observer).job(job).and_then(|job| job.segment("Browse", 0));
        attempts.is_some_and(|it| matches!(it.attempts()[0].state, AttemptState::Lost { windows: Some(_) }))
    });
}

fn first_of(cluster: &Cluster, number: u64) -> JobAttempt {
    cluster.started.iter().find(|(node, _)| *node == worker(number)).unwrap().1
}

/// Requests in a result that are none of attempts that ended: what is known of the lost one.
fn known_of_the_lost(cluster: &Cluster, lost: JobAttempt, result: &RunResult) -> u64 {
    let ended = cluster.seen_of.iter().filter(|(it, _)| it.job == lost.job && **it != lost);
    result.totals.requests - ended.map(|(_, requests)| requests).sum::<u64>()
}

#[test]
fn windows_of_a_lost_attempt_are_committed_and_count_whoever_leads_the_job() {
    let results = [false, true].map(|is_taken_over| {
        let mut cluster = Cluster::ready(&[2, 2]);
        let (job, leader) = cluster.accepted(manager(1), "lost", PLAN);
        cluster.run(Duration::from_secs(5));
        let gone = first_of(&cluster, 1);
        cluster.kill_worker(worker(1));
        wait_for_the_loss(&mut cluster, job);
        if is_taken_over {
            cluster.kill_manager(leader);
        }
        let end = cluster.end_of(job, Duration::from_mins(3));
        assert_eq!(end.how.status, EndStatus::Completed);
        let result = cluster.result(&end);
        let known = known_of_the_lost(&cluster, gone, &result);
        assert!(known > 0 && known <= cluster.seen_of[&gone], "{known} of {}", cluster.seen_of[&gone]);
        let loss = &result.validity.loss;
        assert_eq!((loss.windows_lost, loss.windows_late), (0, 0), "{is_taken_over}");
        (known, loss.unreported[0].from_s)
    });
    assert_eq!(results[0], results[1], "the successor knows the same");
}

#[test]
fn windows_that_died_with_their_leader_are_counted_as_lost() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, leader) = cluster.accepted(manager(1), "lost", PLAN);
    cluster.run(Duration::from_secs(6));
    cluster.kill_manager(leader);
    cluster.wait("another leader", Duration::from_secs(5), |cluster| {
        cluster.leader_of(job).is_some_and(|(it, _)| it != leader)
    });
    cluster.run(Duration::from_secs(5));
    let gone = first_of(&cluster, 1);
    cluster.kill_worker(worker(1));
    wait_for_the_loss(&mut cluster, job);
    let end = cluster.end_of(job, Duration::from_mins(3));
    let result = cluster.result(&end);
    // Two cores with ten windows a second each, of five calls each: since the load began, until another led the job.
    let windows = result.validity.loss.windows_lost;
    assert!((80..200).contains(&windows), "{windows}");
    let known = known_of_the_lost(&cluster, gone, &result);
    assert!(known > 0, "those that came to the successor");
    assert!(known + windows * 5 <= cluster.seen_of[&gone]);
}

#[test]
fn windows_that_come_after_the_loss_count_nowhere_and_are_named() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, leader) = cluster.accepted(manager(1), "late", PLAN);
    cluster.run(Duration::from_secs(5));
    let gone = first_of(&cluster, 1);
    cluster.cut_link(leader, worker(1));
    cluster.run(Duration::from_millis(300));
    cluster.kill_worker(worker(1));
    let late = cluster.progress[&worker(1)].clone();
    wait_for_the_loss(&mut cluster, job);
    for _ in 0..2 {
        cluster.say(worker(1), leader, late.clone());
    }
    let end = cluster.end_of(job, Duration::from_mins(3));
    let result = cluster.result(&end);
    assert_eq!(result.validity.loss.windows_late, 2, "one of each core, told twice");
    let known = known_of_the_lost(&cluster, gone, &result);
    assert!(known > 0 && known < cluster.seen_of[&gone]);
}
