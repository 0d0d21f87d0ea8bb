//! Jobs that wait, are listed, and are found after their end.

use std::time::Duration;

use hyperscale_cluster::manager::{JobLine, Request, Response};
use hyperscale_consensus::register::{EndStatus, JobId};
use hyperscale_stats::result::Status;
use hyperscale_types::NodeId;

use super::model::{Cluster, manager};

const PLAN: &str =
    "name: shop\nworkflows:\n  Browse: { vus: 2, duration: 10s, steps: { home: { http: 'http://x/' } } }\n";

fn line(cluster: &mut Cluster, at: NodeId, job: JobId) -> JobLine {
    let request = cluster.ask(at, Request::List { after: None, limit: 1_000 });
    let Response::Jobs { lines, .. } = cluster.response(request) else { panic!("it is a list") };
    lines.into_iter().find(|line| line.job == job).unwrap()
}

#[test]
fn waiting_jobs_are_queued_in_the_order_of_their_acceptance() {
    let mut cluster = Cluster::ready(&[2]);
    let (first, leader) = cluster.accepted(manager(1), "first", PLAN);
    cluster.run(Duration::from_secs(1));
    let (second, _) = cluster.accepted(manager(2), "second", PLAN);
    let (third, _) = cluster.accepted(manager(3), "third", PLAN);
    cluster.run(Duration::from_secs(1));
    let at = |cluster: &mut Cluster, job| {
        let line = line(cluster, manager(1), job);
        (line.status, line.queue_position)
    };
    assert_eq!(at(&mut cluster, first), (Status::Running, None));
    assert_eq!(at(&mut cluster, second), (Status::Queued, Some(1)));
    assert_eq!(at(&mut cluster, third), (Status::Queued, Some(2)));
    let shown = line(&mut cluster, leader, first);
    assert_eq!(shown.name, "shop");
    assert!(shown.elapsed > Duration::from_secs(1) && shown.elapsed < Duration::from_secs(5), "{shown:?}");
    let request = cluster.ask(manager(2), Request::Get { job: second });
    let Response::Running { result, queue_position, .. } = cluster.response(request) else { panic!() };
    assert_eq!((result.status, queue_position), (Status::Queued, Some(1)));
    let repeated = cluster.submit(manager(1), "second", PLAN);
    let Response::Accepted { status, queue_position, .. } = cluster.response(repeated) else { panic!() };
    assert_eq!((status, queue_position), (Status::Queued, Some(1)));
    cluster.end_of(first, Duration::from_secs(30));
    cluster.run(Duration::from_secs(2));
    assert_eq!(at(&mut cluster, third), (Status::Queued, Some(1)));
    assert_eq!(cluster.end_of(third, Duration::from_mins(1)).how.status, EndStatus::Completed);
}

#[test]
fn waiting_jobs_of_a_manager_are_served_by_priority() {
    let plan = |priority: &str| PLAN.replace("vus:", &format!("priority: {priority}, vus:"));
    // Whatever the order of their ids.
    for round in 0..6 {
        let mut cluster = Cluster::ready(&[1]);
        let (first, _) = cluster.accepted(manager(2), "first", PLAN);
        cluster.run(Duration::from_secs(1));
        let (low, _) = cluster.accepted(manager(1), &format!("low {round}"), &plan("low"));
        let (high, _) = cluster.accepted(manager(1), &format!("high {round}"), &plan("high"));
        cluster.end_of(first, Duration::from_secs(30));
        cluster.end_of(high, Duration::from_secs(30));
        cluster.end_of(low, Duration::from_secs(30));
        let order: Vec<_> = cluster.started.iter().map(|(_, attempt)| attempt.job).collect();
        assert_eq!(order, [first, high, low], "round {round}");
    }
}

#[test]
fn job_without_any_worker_fails_after_the_queue_timeout_whoever_leads_it() {
    let mut cluster = Cluster::ready(&[]);
    cluster.wait("a leader", Duration::from_secs(10), |cluster| cluster.cluster_leader().is_some());
    let (job, leader) = cluster.accepted(manager(1), "alone", PLAN);
    cluster.run(Duration::from_secs(200));
    assert_eq!(line(&mut cluster, leader, job).status, Status::Queued);
    cluster.kill_manager(leader);
    cluster.run(Duration::from_secs(90));
    let other = if leader == manager(2) { manager(3) } else { manager(2) };
    assert!(cluster.register(other).job(job).unwrap().end.is_none());
    let end = cluster.end_of(job, Duration::from_secs(20));
    assert_eq!(end.how.status, EndStatus::Failed);
    assert_eq!(cluster.result(&end).reason.as_deref(), Some("no_worker"));
}

#[test]
fn job_whose_workers_are_busy_waits_longer_than_the_queue_timeout() {
    let mut cluster = Cluster::ready(&[2]);
    let (_, _) = cluster.accepted(manager(1), "long", &PLAN.replace("10s", "400s"));
    cluster.run(Duration::from_secs(1));
    let (job, _) = cluster.accepted(manager(2), "patient", PLAN);
    let end = cluster.end_of(job, Duration::from_secs(450));
    assert_eq!(end.how.status, EndStatus::Completed);
}

#[test]
fn sealed_job_is_found_by_its_id() {
    let mut cluster = Cluster::ready_with_chunks(&[2], 512);
    let jobs: Vec<JobId> = (0..4)
        .map(|number| {
            let (job, _) = cluster.accepted(manager(1), &number.to_string(), &PLAN.replace("10s", "1s"));
            cluster.run(Duration::from_secs(5));
            job
        })
        .collect();
    let is_sealed = |cluster: &Cluster, at| {
        cluster.register(at).sealed(jobs[0]).is_some_and(|sealed| sealed.chunk.is_some())
    };
    for at in (1..=3).map(manager) {
        assert!(is_sealed(&cluster, at));
        let request = cluster.ask(at, Request::Get { job: jobs[0] });
        let Response::Ended(end) = cluster.response(request) else { panic!("it has ended") };
        assert_eq!(end.how.status, EndStatus::Completed);
        assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&jobs[0]]);
    }
}

#[test]
fn sealed_jobs_are_listed_page_by_page_after_those_that_are_open() {
    let mut cluster = Cluster::ready_with_chunks(&[2], 512);
    let mut jobs: Vec<JobId> = Vec::new();
    for number in 0..7 {
        let (job, _) = cluster.accepted(manager(1), &number.to_string(), &PLAN.replace("10s", "1s"));
        cluster.run(Duration::from_secs(5));
        jobs.push(job);
    }
    for number in 7..10 {
        jobs.push(cluster.accepted(manager(1), &number.to_string(), &PLAN.replace("10s", "600s")).0);
    }
    assert!(cluster.register(manager(2)).chunks().len() > 2, "a page may read two");
    for limit in [1, 2, 3, 100] {
        let (mut listed, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let request = cluster.ask(manager(2), Request::List { after, limit });
            let Response::Jobs { lines, next } = cluster.response(request) else { panic!("it is a list") };
            assert!(lines.len() <= limit);
            listed.extend(lines.into_iter().map(|line| (line.job, line.status == Status::Completed)));
            pages += 1;
            after = next;
            if after.is_none() {
                break;
            }
        }
        let newest_first = jobs.iter().enumerate().rev().map(|(number, job)| (*job, number < 7));
        assert_eq!(listed, newest_first.collect::<Vec<_>>(), "{limit} at once");
        assert!(pages >= 10_usize.div_ceil(limit) && pages <= 12, "{pages} pages of {limit}");
    }
}
