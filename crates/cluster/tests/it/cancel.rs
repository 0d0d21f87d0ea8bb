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

const FIRST: RequestId = RequestId([3; 16]);

fn cancel(cluster: &mut Cluster, leader: NodeId, job: JobId, workflows: &[&str], dependents: bool) {
    cancel_as(cluster, leader, job, (FIRST, workflows, dependents));
}

fn cancel_as(
    cluster: &mut Cluster,
    leader: NodeId,
    job: JobId,
    (request, workflows, dependents): (RequestId, &[&str], bool),
) {
    let workflows = workflows.iter().map(|name| (*name).to_owned()).collect();
    let (reason, caller) = ("enough".to_owned(), "ada".to_owned());
    let request =
        cluster.ask(leader, Request::Cancel { job, workflows, dependents, request, reason, caller });
    assert!(matches!(cluster.response(request), Response::CancelCommitted));
}

type Statuses = Vec<(String, CancelStatus, usize, usize)>;

/// Each workflow that a request is about, how far its cancel is, how many dependents it has and how many errors; whether it is over.
fn status(cluster: &mut Cluster, leader: NodeId, job: JobId, request: RequestId) -> (Statuses, bool) {
    let request = cluster.ask(leader, Request::CancelStatus { job, request });
    match cluster.response(request) {
        Response::Cancellation { workflows, is_complete } => {
            let line = |it: hyperscale_job::WorkflowCancel| {
                (it.workflow, it.status, it.dependents.len(), it.errors.len())
            };
            (workflows.into_iter().map(line).collect(), is_complete)
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
        let told = status(&mut cluster, leader, job, FIRST);
        let wanted = ("Login".to_owned(), CancelStatus::Cancelled, usize::from(dependents), 0);
        assert_eq!(told, (vec![wanted], true));
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
    let login = |status, errors| vec![("Login".to_owned(), status, 1, errors)];
    let told = status(&mut cluster, leader, job, FIRST);
    assert_eq!(told, (login(CancelStatus::InProgress, 0), false));
    cluster.run(Duration::from_secs(3));
    let told = status(&mut cluster, leader, job, FIRST);
    assert_eq!(told, (login(CancelStatus::Failed, 1), true));
    cluster.heal_link(leader, worker(1));
    let (end, workflows) = ends(&mut cluster, job);
    assert_eq!((end, workflows), (EndStatus::Failed, vec![Status::Cancelled, Status::Cancelled]));
    let request = cluster.ask(leader, Request::CancelStatus { job, request: FIRST });
    assert!(matches!(cluster.response(request), Response::Ended(_)));
}

#[test]
fn status_of_a_cancel_is_about_the_workflows_of_that_request() {
    let mut cluster = Cluster::ready(&[2]);
    let (job, leader) = cluster.accepted(manager(1), "two", CHAIN);
    cluster.run(Duration::from_secs(2));
    let second = RequestId([4; 16]);
    cancel_as(&mut cluster, leader, job, (FIRST, &["Browse"], true));
    cancel_as(&mut cluster, leader, job, (second, &["Other"], true));
    cluster.run(Duration::from_secs(2));
    let one = |name: &str, status| vec![(name.to_owned(), status, 0, 0)];
    let told = status(&mut cluster, leader, job, FIRST);
    assert_eq!(told, (one("Browse", CancelStatus::PendingCancelled), true));
    let told = status(&mut cluster, leader, job, second);
    assert_eq!(told, (one("Other", CancelStatus::Cancelled), true));
    // Whoever leads the job: the log says what a request named.
    cluster.kill_manager(leader);
    cluster.wait("another leader", Duration::from_secs(5), |cluster| {
        cluster.leader_of(job).is_some_and(|(it, _)| it != leader)
    });
    cluster.run(Duration::from_secs(2));
    let leader = cluster.leader_of(job).unwrap().0;
    let told = status(&mut cluster, leader, job, second);
    assert_eq!(told, (one("Other", CancelStatus::Cancelled), true));
}
