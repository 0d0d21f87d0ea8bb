//! Cancels of single workflows, and how far a cancel is.

use std::time::Duration;

use hyperscale_cluster::manager::{Request, Response};
use hyperscale_consensus::register::{EndStatus, JobId, RequestId};
use hyperscale_job::CancelStatus;
use hyperscale_stats::result::Status;
use hyperscale_types::NodeId;

use super::model::{Cluster, manager, worker};

const CHAIN: &str = "workflows:\n\
    \x20 Login: { vus: 1, duration: 60s, steps: { a: { http: 'http://x/' } } }\n\
    \x20 Browse: { depends: [Login], vus: 1, duration: 5s, steps: { a: { http: 'http://x/' } } }\n\
    \x20 Other: { vus: 1, duration: 5s, steps: { a: { http: 'http://x/' } } }\n";

fn cancel(cluster: &mut Cluster, leader: NodeId, job: JobId, workflows: &[&str], dependents: bool) {
    let workflows = workflows.iter().map(|name| (*name).to_owned()).collect();
    let (request, reason, caller) = (RequestId([3; 16]), "enough".to_owned(), "ada".to_owned());
    let request =
        cluster.ask(leader, Request::Cancel { job, workflows, dependents, request, reason, caller });
    assert!(matches!(cluster.response(request), Response::CancelCommitted));
}

fn status(
    cluster: &mut Cluster,
    leader: NodeId,
    job: JobId,
    workflows: &[&str],
) -> (Vec<(CancelStatus, usize)>, bool) {
    let workflows = workflows.iter().map(|name| (*name).to_owned()).collect();
    let request = cluster.ask(leader, Request::CancelStatus { job, workflows });
    match cluster.response(request) {
        Response::Cancellation { workflows, is_complete } => {
            (workflows.into_iter().map(|it| (it.status, it.errors.len())).collect(), is_complete)
        }
        other => panic!("{other:?}"),
    }
}

fn ends(cluster: &mut Cluster, job: JobId) -> (EndStatus, Vec<Status>) {
    let end = cluster.end_of(job, Duration::from_mins(2));
    let result = cluster.result(&end);
    assert_eq!(result.totals.requests, cluster.seen[&job]);
    (end.how.status, result.workflows.iter().map(|workflow| workflow.status).collect())
}

#[test]
fn workflow_is_cancelled_with_its_dependents_or_they_are_skipped() {
    for dependents in [true, false] {
        let mut cluster = Cluster::ready(&[2]);
        let (job, leader) = cluster.accepted(manager(1), "chain", CHAIN);
        cluster.run(Duration::from_secs(2));
        cancel(&mut cluster, leader, job, &["Login"], dependents);
        cluster.run(Duration::from_secs(1));
        let asked = &["Login", "Browse", "Wrong"];
        let (statuses, is_complete) = status(&mut cluster, leader, job, asked);
        let browse = if dependents { CancelStatus::PendingCancelled } else { CancelStatus::AlreadyEnded };
        let wanted = [CancelStatus::Cancelled, browse, CancelStatus::NotFound];
        assert_eq!((statuses, is_complete), (wanted.map(|it| (it, 0)).to_vec(), true));
        let (end, workflows) = ends(&mut cluster, job);
        let browse = if dependents { Status::Cancelled } else { Status::Skipped };
        assert_eq!(end, EndStatus::Partial);
        assert_eq!(workflows, [Status::Cancelled, browse, Status::Completed], "{dependents}");
    }
}

#[test]
fn cancel_is_complete_when_all_workers_have_answered_or_were_silent_for_ten_seconds() {
    let mut cluster = Cluster::ready(&[1, 1]);
    let plan = CHAIN.replace("Login: { vus: 1", "Login: { vus: 2");
    let (job, leader) = cluster.accepted(
        manager(1),
        "silent",
        &plan.replace("  Other: { vus: 1, duration: 5s, steps: { a: { http: 'http://x/' } } }\n", ""),
    );
    cluster.run(Duration::from_secs(3));
    assert_eq!(cluster.running().len(), 2);
    cluster.cut_link(leader, worker(1));
    cancel(&mut cluster, leader, job, &["Login"], true);
    cluster.run(Duration::from_secs(8));
    let asked = &["Login"];
    assert_eq!(status(&mut cluster, leader, job, asked), (vec![(CancelStatus::InProgress, 0)], false));
    cluster.run(Duration::from_secs(3));
    assert_eq!(status(&mut cluster, leader, job, asked), (vec![(CancelStatus::Failed, 1)], true));
    cluster.heal_link(leader, worker(1));
    let (end, workflows) = ends(&mut cluster, job);
    assert_eq!((end, workflows), (EndStatus::Failed, vec![Status::Cancelled, Status::Cancelled]));
    let request = cluster.ask(leader, Request::CancelStatus { job, workflows: Vec::new() });
    assert!(matches!(cluster.response(request), Response::Ended(_)));
}
