//! Managers and workers that go away in the middle of a job.

use std::time::Duration;

use hyperscale_consensus::register::EndStatus;

use super::model::{Cluster, WORKER_LEASE, manager, worker};

const PLAN: &str =
    "workflows:\n  Browse: { vus: 8, duration: 20s, steps: { home: { http: 'http://x/' } } }\n";

#[test]
fn job_of_a_manager_that_died_is_taken_over_and_nothing_of_it_is_lost() {
    for kills_cluster_leader in [true, false] {
        let mut cluster = Cluster::ready(&[2, 2]);
        let cluster_leader = cluster.cluster_leader().unwrap();
        let accepts = if kills_cluster_leader {
            cluster_leader
        } else {
            (1..=3).map(manager).find(|it| *it != cluster_leader).unwrap()
        };
        let (job, leader) = cluster.accepted(accepts, "taken over", PLAN);
        cluster.run(Duration::from_secs(5));
        let before = cluster.running();
        assert_eq!(before.len(), 2);
        cluster.kill_manager(leader);
        cluster.wait("another leader", Duration::from_secs(5), |cluster| {
            cluster.leader_of(job).is_some_and(|(it, _)| it != leader)
        });
        cluster.run(Duration::from_secs(3));
        assert_eq!(cluster.running(), before, "healthy attempts run on");
        let end = cluster.end_of(job, Duration::from_secs(40));
        assert_eq!(end.how.status, EndStatus::Completed);
        let result = cluster.result(&end);
        assert_eq!(result.totals.requests, cluster.seen[&job], "{kills_cluster_leader}");
        assert_eq!(cluster.started.len(), 2, "no attempt was started twice");
    }
}

#[test]
fn manager_that_restarts_leads_its_jobs_again() {
    let mut cluster = Cluster::ready(&[2]);
    let (job, leader) = cluster.accepted(manager(1), "restarted", PLAN);
    cluster.run(Duration::from_secs(5));
    cluster.kill_manager(leader);
    cluster.start_manager(leader);
    let end = cluster.end_of(job, Duration::from_secs(40));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&job]);
    assert_eq!(cluster.started.len(), 1);
}

#[test]
fn all_managers_restart_and_the_job_ends_once() {
    let mut cluster = Cluster::ready(&[2]);
    let (job, _) = cluster.accepted(manager(1), "power", PLAN);
    cluster.run(Duration::from_secs(5));
    (1..=3).for_each(|number| cluster.kill_manager(manager(number)));
    (1..=3).for_each(|number| cluster.start_manager(manager(number)));
    let end = cluster.end_of(job, Duration::from_mins(1));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&job]);
}

#[test]
fn workflow_of_a_worker_that_died_fails_when_its_lease_has_ended() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, _) = cluster.accepted(manager(1), "lost", &PLAN.replace("20s", "60s"));
    cluster.run(Duration::from_secs(5));
    cluster.kill_worker(worker(1));
    cluster.run(Duration::from_secs(8));
    assert!(cluster.register(manager(1)).worker(worker(1)).is_some(), "its lease runs");
    cluster.wait("the lease ends", WORKER_LEASE + Duration::from_secs(2), |cluster| {
        cluster.register(manager(1)).worker(worker(1)).is_none()
    });
    let end = cluster.end_of(job, Duration::from_mins(2));
    assert_eq!(end.how.status, EndStatus::Failed);
    let reason = cluster.result(&end).workflows[0].reason.clone();
    assert_eq!(reason.as_deref(), Some("worker_lost"));
}

#[test]
fn worker_that_is_cut_off_stops_its_load_before_its_lease_ends() {
    let mut cluster = Cluster::ready(&[2]);
    let (job, _) = cluster.accepted(manager(1), "cut", &PLAN.replace("20s", "10m"));
    cluster.run(Duration::from_secs(5));
    cluster.cut(worker(1));
    // The model fails as soon as load is sent after the lease.
    cluster.run(WORKER_LEASE);
    let seen = cluster.seen[&job];
    cluster.run(Duration::from_secs(20));
    assert_eq!(cluster.seen[&job], seen, "nothing was sent any more");
}
