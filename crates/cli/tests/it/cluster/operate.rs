//! What operators do with a running cluster: workers drain, managers join and leave.

use serde_json::Value;

use super::nodes::Cluster;
use super::{browse, result, submit};
use crate::support::{Target, wait_until};

/// A manager as `cluster status` shows it.
fn member(cluster: &Cluster, id: &str) -> Option<Value> {
    let status = cluster.json(&["cluster", "status"]);
    status["members"].as_array()?.iter().find(|member| member["id"] == id).cloned()
}

/// Words of the events that a manager tells.
fn events(cluster: &Cluster) -> Vec<String> {
    let list = cluster.json(&["cluster", "events", "--last", "1000"]);
    let events = list["events"].as_array().unwrap();
    events.iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn drained_worker_finishes_and_leaves_while_another_takes_what_is_new() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(2);
    let first = submit(&cluster, &browse(&target, 1, "4s"), &[]);
    let busy = cluster.busy_worker();
    let name = format!("w{busy}");
    assert_eq!(cluster.json(&["cluster", "drain", &name])["status"], "accepted");
    assert_eq!(cluster.json(&["cluster", "drain", &name])["status"], "unchanged");
    let status = cluster.json(&["cluster", "status"]);
    let worker = status["workers"].as_array().unwrap().iter().find(|worker| worker["id"] == *name).unwrap();
    assert_eq!(worker["state"], "draining", "{status}");
    let second = submit(&cluster, &browse(&target, 1, "1s"), &[]);
    assert!(cluster.workers[busy].take().unwrap().ended(), "it ends well");
    let ended = [result(&cluster, &first), result(&cluster, &second)];
    let requests: u64 = ended.iter().map(|ended| ended["totals"]["requests"].as_u64().unwrap()).sum();
    assert_eq!([&ended[0]["status"], &ended[1]["status"]], ["completed", "completed"]);
    assert_eq!((requests, &ended[0]["loss"]["workers_lost"]), (target.seen().requests, &0.into()));
    wait_until("the end of its lease", || events(&cluster).contains(&"worker_gone".to_owned()).then_some(()));
    cluster.ask(&["cluster", "drain", &name]).assert_told(5, &["there is no node", "cluster status"]);
    cluster.ask(&["cluster", "drain", "m0"]).assert_told(5, &["m0 is a manager", "cluster remove"]);
    cluster.ask(&["cluster", "remove", "nobody"]).assert_told(5, &["there is no node `nobody`"]);
    let other = format!("w{}", 1 - busy);
    cluster.ask(&["cluster", "remove", &other]).assert_told(5, &["is a worker", "cluster drain"]);
    cluster.ask(&["cluster", "add", "m9"]).assert_told(5, &["no manager `m9` has asked to join", "--peers"]);
}

#[test]
fn manager_that_leads_is_replaced_under_load_and_nothing_is_lost() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(2);
    let leader: usize = wait_until("a leader", || {
        cluster.json(&["cluster", "status"])["leader"].as_str()?.strip_prefix('m')?.parse().ok()
    });
    // The leader of the group leads the job too.
    let (plan, server) = (browse(&target, 2, "15s"), cluster.server(leader));
    let submitted = crate::support::run(&["submit", &plan.path(), "--json", "--server", &server]);
    let submitted: Value = serde_json::from_str(&submitted.stdout).unwrap();
    let job = submitted["job"].as_str().unwrap();
    target.wait_for_requests(1);
    let newcomer = format!("m{}", cluster.add_manager());
    assert_eq!(member(&cluster, &newcomer), None, "it waits to be added");
    wait_until("the new manager to be added", || {
        (cluster.ask(&["cluster", "add", &newcomer]).code == 0).then_some(())
    });
    wait_until("a fourth voter", || member(&cluster, &newcomer).filter(|member| member["voter"] == true));
    assert_eq!(cluster.json(&["cluster", "add", &newcomer])["status"], "unchanged");
    let old = format!("m{leader}");
    let removed = cluster.ask(&["cluster", "remove", &old, "--json"]);
    assert_eq!(removed.code, 0, "{removed}");
    // It still runs, and is asked nothing any more: who is no member learns nothing new.
    let removed = cluster.managers[leader].take().unwrap();
    wait_until("another leader of the job", || (cluster.leader_of(job) != leader).then_some(()));
    removed.kill();
    assert_eq!(member(&cluster, &old), None);
    let ended = result(&cluster, job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["totals"]["requests"], target.seen().requests, "nothing is lost or run twice");
    let status = cluster.json(&["cluster", "status"]);
    assert_eq!(status["members"].as_array().unwrap().len(), 3, "{status}");
    assert_eq!((&status["quorum"]["reachable"], &status["quorum"]["needed"]), (&3.into(), &2.into()));
    let events = events(&cluster);
    for event in ["leader_changed", "members_changed", "worker_registered", "node_joined"] {
        assert!(events.iter().any(|seen| seen == event), "no {event} in {events:?}");
    }
}
