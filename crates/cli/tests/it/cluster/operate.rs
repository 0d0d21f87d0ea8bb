//! What operators do with a running cluster: workers drain, managers join and leave.

use serde_json::Value;

use super::nodes::Cluster;
use super::{browse, result, submit};
use crate::support::{Target, get, start, wait_until};

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

#[test]
fn managers_that_drain_hand_over_and_leave_while_their_job_runs() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(2);
    let newcomer = format!("m{}", cluster.add_manager_with(&["--leave-on-term"]));
    wait_until("the new manager to be added", || {
        (cluster.ask(&["cluster", "add", &newcomer]).code == 0).then_some(())
    });
    wait_until("a fourth voter", || member(&cluster, &newcomer).filter(|member| member["voter"] == true));
    let leader: usize = wait_until("a leader", || {
        cluster.json(&["cluster", "status"])["leader"].as_str()?.strip_prefix('m')?.parse().ok()
    });
    let (plan, server) = (browse(&target, 2, "12s"), cluster.server(leader));
    let submitted = crate::support::run(&["submit", &plan.path(), "--json", "--server", &server]);
    let submitted: Value = serde_json::from_str(&submitted.stdout).unwrap();
    let job = submitted["job"].as_str().unwrap();
    target.wait_for_requests(1);
    let old = format!("m{leader}");
    // Whoever is asked says who has to drain, and the command follows.
    let drained = cluster.json(&["cluster", "drain", &old]);
    assert_eq!(
        (&drained["node"], &drained["status"]),
        (&old.clone().into(), &"accepted".into()),
        "{drained}"
    );
    assert!(cluster.managers[leader].take().unwrap().ended(), "it ends well");
    assert_eq!(member(&cluster, &old), None);
    assert_ne!(cluster.leader_of(job), leader);
    // The other way to let one go: it was started to leave when it is told to end.
    let leaving = cluster.managers[3].take().unwrap();
    leaving.signal("TERM");
    assert!(leaving.ended(), "it ends well");
    wait_until("two members", || {
        let status = cluster.json(&["cluster", "status"]);
        (status["members"].as_array()?.len() == 2).then_some(())
    });
    let ended = result(&cluster, job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["totals"]["requests"], target.seen().requests, "nothing is lost or run twice");
}

#[test]
fn events_of_all_managers_are_followed_as_lines_of_json() {
    let cluster = Cluster::start(1);
    // One manager is named; the others are found through it.
    let server = cluster.server(0);
    let following = start(&["cluster", "events", "--follow", "--json", "--server", &server]);
    let seen_by = |lines: &[Value], event: &str| {
        let by = lines.iter().filter(|line| line["event"] == event).map(|line| line["by"].to_string());
        by.collect::<std::collections::BTreeSet<_>>()
    };
    let mut lines: Vec<Value> = Vec::new();
    wait_until("all managers to tell of the worker", || {
        lines.extend(following.printed().iter().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        (seen_by(&lines, "worker_registered").len() == 3).then_some(())
    });
    assert_eq!(cluster.json(&["cluster", "drain", "w0"])["status"], "accepted");
    wait_until("all managers to tell of the drain", || {
        lines.extend(following.printed().iter().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        (seen_by(&lines, "worker_gone").len() == 3).then_some(())
    });
    following.signal("INT");
    assert_eq!(following.wait().code, 97);
}

/// Every metric that the specification asks of one datacenter.
const OF_ALL: [&str; 8] = [
    "hyperscale_members",
    "hyperscale_membership_probes_total",
    "hyperscale_membership_suspicions_total",
    "hyperscale_membership_health_multiplier",
    "hyperscale_membership_load_level",
    "hyperscale_frames_refused_total",
    "hyperscale_rate_limited_total",
    "hyperscale_previous_secret_uses_total",
];
const OF_MANAGERS: [&str; 17] = [
    "hyperscale_log_leader_changes_total",
    "hyperscale_log_proposals_total",
    "hyperscale_log_commit_latency_seconds",
    "hyperscale_log_quorum_circuit",
    "hyperscale_jobs",
    "hyperscale_jobs_queue_depth",
    "hyperscale_segments",
    "hyperscale_workers",
    "hyperscale_worker_circuits_open",
    "hyperscale_backpressure_level",
    "hyperscale_dispatches_total",
    "hyperscale_dispatch_refusals_total",
    "hyperscale_attempts_total",
    "hyperscale_job_leader_transfers_total",
    "hyperscale_job_leader_transfer_latency_seconds",
    "hyperscale_requests_rerouted_total",
    "hyperscale_windows_total",
];
const OF_WORKERS: [&str; 8] = [
    "hyperscale_worker_state",
    "hyperscale_worker_queue_depth",
    "hyperscale_dispatches_total",
    "hyperscale_dispatch_refusals_total",
    "hyperscale_job_leader_transfers_total",
    "hyperscale_orphans",
    "hyperscale_attempts_cut_off_total",
    "hyperscale_windows_total",
];

/// The value of a line of metrics.
fn metric(text: &str, line: &str) -> Option<u64> {
    text.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn metrics_of_managers_and_workers_exist_and_count() {
    let target = Target::start(&[]);
    let cluster = Cluster::start(1);
    let job = submit(&cluster, &browse(&target, 1, "1s"), &[]);
    result(&cluster, &job);
    let of = |node: &super::nodes::Node| get(&node.http, "/metrics");
    let managers: Vec<String> = cluster.managers.iter().flatten().map(of).collect();
    let worker = of(cluster.workers[0].as_ref().unwrap());
    let names = |text: &str, all: &[&str]| {
        for name in OF_ALL.iter().chain(all) {
            let kind = format!("# TYPE {name} ");
            assert_eq!(text.matches(&kind).count(), 1, "{name} in {text}");
        }
    };
    for text in &managers {
        names(text, &OF_MANAGERS);
    }
    names(&worker, &OF_WORKERS);
    let sum = |line: &str| managers.iter().filter_map(|text| metric(text, line)).sum::<u64>();
    assert!(sum("hyperscale_dispatches_total{outcome=\"sent\"}") > 0);
    assert!(sum("hyperscale_log_proposals_total{outcome=\"applied\"}") >= 5);
    assert!(sum("hyperscale_log_commit_latency_seconds_count") >= 5);
    assert_eq!(sum("hyperscale_jobs{state=\"completed\"}"), 3, "every manager knows it");
    assert_eq!(sum("hyperscale_log_quorum_circuit{state=\"closed\"}"), 3);
    assert!(sum("hyperscale_membership_probes_total{outcome=\"sent\"}") > 0);
    assert_eq!(metric(&worker, "hyperscale_dispatches_total{outcome=\"taken\"}"), Some(1), "{worker}");
    assert_eq!(metric(&worker, "hyperscale_worker_has_lease"), Some(1));
    let memory = metric(&worker, "hyperscale_worker_memory_percent");
    assert!(memory.is_some_and(|percent| percent > 0), "the machine is looked at: {worker}");
}

#[test]
fn plan_runs_where_its_capabilities_are_and_others_say_what_is_missing() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(1);
    let plan = crate::support::PlanFile::new(&format!(
        "workflows:\n  Browse:\n    requires: gpu=nvidia\n    vus: 1\n    duration: 1s\n    steps:\n      \
         home: {{ http: {{ url: '{}/' }} }}\n",
        target.base
    ));
    let path = plan.path();
    cluster.ask(&["submit", &path]).assert_told(5, &["workflow `Browse` requires: gpu=nvidia"]);
    cluster.add_worker_with(&["--capability", "gpu=nvidia"]);
    cluster.wait_for_workers(2);
    let ended = result(&cluster, &submit(&cluster, &plan, &[]));
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["totals"]["requests"], target.seen().requests);
    let capable = get(&cluster.workers[1].as_ref().unwrap().http, "/metrics");
    assert_eq!(metric(&capable, "hyperscale_dispatches_total{outcome=\"taken\"}"), Some(1));
}
