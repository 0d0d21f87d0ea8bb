//! Managers that drain, and managers that have too much to do.

use std::time::Duration;

use hyperscale_cluster::manager::{Busy, Rejection, Request, Response};
use hyperscale_cluster::message::Backpressure;
use hyperscale_consensus::register::EndStatus;
use hyperscale_swim::LoadLevel;
use hyperscale_types::NodeId;

use super::model::{Cluster, manager, worker};

const PLAN: &str =
    "workflows:\n  Browse: { vus: 2, duration: 10s, steps: { home: { http: 'http://x/' } } }\n";

fn leave(cluster: &mut Cluster, node: NodeId) -> Response {
    let request = cluster.ask(node, Request::Leave);
    cluster.response(request)
}

fn members(cluster: &Cluster, asked: NodeId) -> Vec<NodeId> {
    cluster.members(asked)
}

#[test]
fn manager_that_drains_hands_over_group_and_jobs_and_leaves_while_they_run() {
    let mut cluster = Cluster::ready(&[2]);
    let leader = cluster.cluster_leader().unwrap();
    let (job, led) = cluster.accepted(leader, "led by the leader", PLAN);
    assert_eq!(led, leader);
    cluster.wait("it runs", Duration::from_secs(5), |it| it.running().len() == 1);
    assert!(matches!(leave(&mut cluster, leader), Response::Draining { is_repeat: false }));
    assert!(matches!(leave(&mut cluster, leader), Response::Draining { is_repeat: true }));
    let request = cluster.submit(leader, "too late", PLAN);
    assert!(matches!(cluster.response(request), Response::Rejected(Rejection::Draining)));
    let request = cluster.submit(leader, "led by the leader", PLAN);
    assert!(matches!(cluster.response(request), Response::Accepted { is_repeat: true, .. }));
    cluster.wait("it has left", Duration::from_secs(10), |it| it.left == [leader]);
    assert!(cluster.register_of_any().job(job).unwrap().end.is_none(), "the job runs on");
    let others: Vec<NodeId> = (1..=3).map(manager).filter(|it| *it != leader).collect();
    cluster.wait("the others are alone", Duration::from_secs(5), |it| members(it, others[0]) == others);
    assert_ne!(cluster.leader_of(job).map(|(node, _)| node), Some(leader));
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    assert_eq!(cluster.result(&end).totals.requests, cluster.seen[&job]);
    assert_eq!(cluster.started.len(), 1, "no healthy segment was run again");
    // Two are left, and decide on.
    let (next, _) = cluster.accepted(others[1], "next", PLAN);
    assert_eq!(cluster.end_of(next, Duration::from_secs(30)).how.status, EndStatus::Completed);
}

#[test]
fn follower_that_drains_leaves_without_another_election() {
    let mut cluster = Cluster::ready(&[2]);
    let leader = cluster.cluster_leader().unwrap();
    let follower = (1..=3).map(manager).find(|it| *it != leader).unwrap();
    let (job, _) = cluster.accepted(follower, "led by the follower", PLAN);
    leave(&mut cluster, follower);
    cluster.wait("it has left", Duration::from_secs(10), |it| it.left == [follower]);
    assert_eq!(cluster.cluster_leader(), Some(leader));
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!((end.how.status, cluster.started.len()), (EndStatus::Completed, 1));
}

#[test]
fn manager_does_not_leave_those_who_could_not_decide_without_it() {
    let mut cluster = Cluster::ready(&[2]);
    let leader = cluster.cluster_leader().unwrap();
    let others: Vec<NodeId> = (1..=3).map(manager).filter(|it| *it != leader).collect();
    cluster.kill_manager(others[0]);
    assert!(matches!(leave(&mut cluster, others[1]), Response::Draining { .. }));
    cluster.run(Duration::from_secs(20));
    assert_eq!((cluster.left.len(), members(&cluster, leader).len()), (0, 3), "one of two is no majority");
    cluster.start_manager(others[0]);
    cluster.wait("it has left", Duration::from_secs(20), |it| it.left == [others[1]]);
}

#[test]
fn manager_that_was_restarted_does_not_leave_any_more() {
    let mut cluster = Cluster::ready(&[2]);
    let leader = cluster.cluster_leader().unwrap();
    let others: Vec<NodeId> = (1..=3).map(manager).filter(|it| *it != leader).collect();
    cluster.kill_manager(others[0]);
    leave(&mut cluster, others[1]);
    cluster.run(Duration::from_secs(2));
    cluster.kill_manager(others[1]);
    cluster.start_manager(others[1]);
    cluster.start_manager(others[0]);
    cluster.run(Duration::from_secs(20));
    assert_eq!((cluster.left.len(), members(&cluster, leader).len()), (0, 3));
}

#[test]
fn critical_load_refuses_submissions_and_finishes_what_runs() {
    let mut cluster = Cluster::ready(&[2]);
    let (job, leader) = cluster.accepted(manager(1), "runs", PLAN);
    cluster.wait("it runs", Duration::from_secs(5), |it| it.running().len() == 1);
    let critical = Busy { queue_percent: 0, level: LoadLevel::Critical };
    cluster.press_manager(leader, critical);
    let request = cluster.submit(leader, "new", PLAN);
    match cluster.response(request) {
        Response::Rejected(Rejection::Overloaded { retry_after }) => assert!(!retry_after.is_zero()),
        other => panic!("{other:?}"),
    }
    let request = cluster.submit(leader, "runs", PLAN);
    assert!(matches!(cluster.response(request), Response::Accepted { is_repeat: true, .. }));
    let end = cluster.end_of(job, Duration::from_secs(30));
    assert_eq!(end.how.status, EndStatus::Completed);
    cluster.press_manager(leader, Busy { level: LoadLevel::Severe, ..critical });
    cluster.accepted(leader, "new", PLAN);
}

#[test]
fn workers_send_progress_as_often_as_the_fullest_manager_allows() {
    let mut cluster = Cluster::ready(&[2]);
    let (_, leader) = cluster.accepted(manager(1), "long", &PLAN.replace("10s", "60s"));
    cluster.wait("it runs", Duration::from_secs(5), |it| it.running().len() == 1);
    let sent_with = |cluster: &mut Cluster, queue_percent| {
        cluster.press_manager(leader, Busy { queue_percent, ..Busy::default() });
        // The level before still holds until the next progress is answered.
        cluster.run(Duration::from_secs(3));
        let before = cluster.progress_sent;
        cluster.run(Duration::from_secs(4));
        cluster.progress_sent - before
    };
    let table = [(0, Backpressure::None, 35..=41), (70, Backpressure::Slower, 7..=9)];
    let more = [
        (85, Backpressure::Batch, 3..=5),
        (95, Backpressure::Drop, 1..=3),
        (10, Backpressure::None, 35..=41),
    ];
    for (percent, level, expected) in table.into_iter().chain(more) {
        let sent = sent_with(&mut cluster, percent);
        assert!(expected.contains(&sent), "{sent} messages in 4 s at {percent} %");
        assert_eq!(cluster.backpressure(leader), level);
    }
    assert!(cluster.is_usable(worker(1)));
}
