//! Managers and workers that go away in the middle of a job.

use std::time::Duration;

use hyperscale_cluster::manager::{Request, Response};
use hyperscale_consensus::register::{EndStatus, JobId, JobOptions, OnWorkerLoss};
use hyperscale_stats::event::Event;

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
        // When it was submitted, and what it is called, is known to all.
        assert_eq!(result.started_at, "2023-11-14T22:13:20Z");
        let other = (1..=3).map(manager).find(|it| *it != leader).unwrap();
        let request = cluster.ask(other, Request::List { after: None, limit: 10 });
        let Response::Jobs { lines: jobs, next: None } = cluster.response(request) else { panic!("no list") };
        assert_eq!((jobs[0].name.as_str(), jobs[0].submitted_at_ms), ("t", 1_700_000_000_000));
        assert_eq!(jobs[0].elapsed, Duration::from_secs_f64(result.elapsed_s), "until its end");
    }
}

#[test]
fn job_whose_leader_dies_between_its_last_workflow_and_its_end_is_ended_with_all_counts() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let (job, leader) = cluster.accepted(manager(1), "last word", &PLAN.replace("20s", "3s"));
    let other = if leader == manager(2) { manager(3) } else { manager(2) };
    cluster.wait("its workflow ends", Duration::from_secs(20), |cluster| {
        cluster.register(other).job(job).is_some_and(|job| job.workflow_end("Browse").is_some())
    });
    cluster.kill_manager(leader);
    assert!(cluster.register(other).job(job).unwrap().end.is_none());
    let end = cluster.end_of(job, Duration::from_secs(20));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&job]);
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
fn manager_that_restarts_has_its_jobs_granted_anew_and_their_clocks_go_on() {
    let mut cluster = Cluster::ready(&[2]);
    let began = cluster.now;
    let (job, leader) = cluster.accepted(manager(1), "again", PLAN);
    let before = cluster.leadership(job);
    cluster.run(Duration::from_secs(5));
    cluster.kill_manager(leader);
    cluster.start_manager(leader);
    cluster.wait("another grant", Duration::from_secs(10), |it| it.leadership(job) > before);
    let end = cluster.end_of(job, Duration::from_secs(40));
    let (took, result) = (cluster.now.since(began).as_secs_f64(), cluster.result(&end));
    assert!((result.elapsed_s - took).abs() < 1.5, "{} s of {took} s", result.elapsed_s);
    let introduced =
        cluster.events.iter().filter(|(_, of, event)| *of == job && matches!(event, Event::Started(_)));
    assert_eq!(introduced.count(), 2, "each leader introduces the job to its followers");
}

#[test]
fn clocks_of_jobs_go_on_when_all_managers_were_away() {
    let mut cluster = Cluster::ready(&[2]);
    let began = cluster.now;
    let (job, _) = cluster.accepted(manager(1), "away", PLAN);
    cluster.run(Duration::from_secs(5));
    (1..=3).for_each(|number| cluster.kill_manager(manager(number)));
    cluster.run(Duration::from_secs(4));
    (1..=3).for_each(|number| cluster.start_manager(manager(number)));
    let end = cluster.end_of(job, Duration::from_mins(1));
    let (took, result) = (cluster.now.since(began).as_secs_f64(), cluster.result(&end));
    assert!((result.elapsed_s - took).abs() < 1.5, "{} s of {took} s", result.elapsed_s);
    assert_eq!(result.totals.requests, cluster.seen[&job]);
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

/// A job of a minute on the first two of three workers, and the first of them dies; when its lease has ended.
fn lose_a_worker(cluster: &mut Cluster, options: JobOptions) -> JobId {
    let request = cluster.submit_with(manager(1), "lost", &PLAN.replace("20s", "60s"), options);
    let Response::Accepted { job, .. } = cluster.response(request) else { panic!("it is accepted") };
    cluster.run(Duration::from_secs(5));
    cluster.kill_worker(worker(1));
    cluster.run(Duration::from_secs(8));
    assert!(cluster.register(manager(1)).worker(worker(1)).is_some(), "its lease runs");
    assert_eq!(cluster.started.len(), 2, "nothing is started again before");
    cluster.wait("the lease ends", WORKER_LEASE + Duration::from_secs(2), |cluster| {
        cluster.register(manager(1)).worker(worker(1)).is_none()
    });
    job
}

#[test]
fn segment_of_a_worker_that_died_is_resumed_on_another_and_what_is_unknown_is_said() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let job = lose_a_worker(&mut cluster, JobOptions::default());
    cluster.start_worker(worker(3), 2);
    cluster.wait("it runs again", Duration::from_secs(5), |cluster| cluster.started.len() == 3);
    let (node, second) = cluster.started[2];
    assert_eq!((node, second.attempt.number), (worker(3), 2));
    let end = cluster.end_of(job, Duration::from_mins(2));
    assert_eq!(end.how.status, EndStatus::Completed);
    let result = cluster.result(&end);
    let loss = &result.validity.loss;
    assert_eq!((loss.workers_lost, loss.unreported.len()), (1, 1));
    let gap = &loss.unreported[0];
    assert_eq!((gap.segment.as_str(), gap.attempt), ("Browse/0", 1));
    assert!(gap.from_s > 4.0 && gap.from_s < 6.0 && gap.to_s > gap.from_s + 10.0, "{gap:?}");
    let seen = cluster.seen[&job];
    assert!(result.totals.requests <= seen, "{} of {seen}", result.totals.requests);
    assert!(seen - result.totals.requests <= 20, "only what was not reported yet is missing");
    assert!((59.0..63.0).contains(&result.workflows[0].elapsed_s), "it ended with the others");
}

#[test]
fn workflow_completes_with_loss_if_there_is_no_core_before_its_end() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let job = lose_a_worker(&mut cluster, JobOptions::default());
    let end = cluster.end_of(job, Duration::from_mins(2));
    assert_eq!(end.how.status, EndStatus::Completed);
    let result = cluster.result(&end);
    assert_eq!((result.validity.loss.workers_lost, cluster.started.len()), (1, 2));
    assert!(result.totals.requests <= cluster.seen[&job]);
}

#[test]
fn workflow_fails_with_its_worker_if_the_job_wants_that() {
    let mut cluster = Cluster::ready(&[2, 2, 2]);
    let options = JobOptions { on_worker_loss: OnWorkerLoss::Fail, ..JobOptions::default() };
    let request = cluster.submit_with(manager(1), "fails", &PLAN.replace("20s", "60s"), options);
    let Response::Accepted { job, .. } = cluster.response(request) else { panic!("it is accepted") };
    cluster.run(Duration::from_secs(5));
    cluster.kill_worker(cluster.started[0].0);
    let end = cluster.end_of(job, Duration::from_mins(2));
    assert_eq!(end.how.status, EndStatus::Failed);
    let reason = cluster.result(&end).workflows[0].reason.clone();
    assert_eq!(reason.as_deref(), Some("worker_lost"));
}

#[test]
fn job_is_taken_over_while_a_segment_waits_for_another_worker() {
    let mut cluster = Cluster::ready(&[2, 2]);
    let job = lose_a_worker(&mut cluster, JobOptions::default());
    let (leader, _) = cluster.leader_of(job).unwrap();
    cluster.kill_manager(leader);
    cluster.run(Duration::from_secs(4));
    cluster.start_worker(worker(3), 2);
    cluster.wait("it runs again", Duration::from_secs(10), |cluster| cluster.started.len() == 3);
    let end = cluster.end_of(job, Duration::from_mins(2));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert!(cluster.result(&end).totals.requests <= cluster.seen[&job]);
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

#[test]
fn manager_that_starts_takes_those_for_dead_that_it_never_sees() {
    let mut cluster = Cluster::ready(&[2]);
    cluster.kill_manager(manager(1));
    cluster.kill_manager(manager(2));
    cluster.start_manager(manager(2));
    assert!(!cluster.is_gone(manager(2), manager(1)), "nobody says so");
    cluster.run(Duration::from_secs(11));
    assert!(cluster.is_gone(manager(2), manager(1)));
    assert!(!cluster.is_gone(manager(2), manager(3)));
    cluster.start_manager(manager(1));
    cluster.run(Duration::from_secs(11));
    assert!(!cluster.is_gone(manager(2), manager(1)), "it is back");
}
