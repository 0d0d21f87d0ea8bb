//! Task nodes as people use them: the binary, its commands, and bad input at every door.

pub(crate) mod agent;
mod doors;
mod full_disk;
mod kills;
pub(crate) mod node;
mod output;
mod workers;

use node::TaskNode;
use serde_json::{Value, json};

use crate::support::{PlanFile, hyperscale, wait_until};

const CHAIN: &str = "\
tasks:
  seed: { executor: wait, inputs: { duration: 0 } }
  load: { executor: wait, depends: [seed], inputs: { duration: 0 } }
  report: { executor: aggregate, depends: [load, { task: seed, required: false }] }
";

#[test]
fn tree_runs_on_a_node_with_nothing_configured() {
    let mut node = TaskNode::start(&[]);
    let file = PlanFile::named("tree.yaml", CHAIN);
    let ended = node.run(&["tasks", "create", &file.path(), "--wait", "--json"]);
    assert_eq!(ended.code, 0, "{ended}");
    for note in ["seed created", "seed started on ", "report completed"] {
        assert!(ended.stderr.contains(note), "no {note:?}: {ended}");
    }
    let tree: Value = serde_json::from_str(&ended.stdout).unwrap();
    let tasks = tree["tasks"].as_array().unwrap();
    assert!(tasks.len() == 3 && tasks.iter().all(|task| task["status"] == "completed"), "{tree}");
    let report = tasks.iter().find(|task| task["name"] == "report").unwrap();
    assert_eq!(report["result"], json!({ "load": null, "seed": null }));
    assert_eq!(report["depends_on"].as_array().unwrap().len(), 2);

    let id = report["id"].as_str().unwrap();
    assert_eq!(node.json(&["tasks", "get", id])["result"], report["result"]);
    assert_eq!(node.json(&["tasks", "tree", id])["tree"], tree["tree"]);
    let listed = node.json(&["tasks", "list", "--roots"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
    assert!(listed["tasks"][0].get("inputs").is_none() && listed["next"].is_null(), "{listed}");
    let events = node.json(&["tasks", "events", id]);
    assert_eq!(events["events"].as_array().unwrap().last().unwrap()["kind"], "completed", "{events}");
    let nodes = node.json(&["nodes"]);
    assert_eq!(
        (&nodes["nodes"][0]["is_leader"], &nodes["nodes"][0]["is_self"]),
        (&true.into(), &true.into())
    );
    assert!(node.database().exists() && node.stop());
}

#[test]
fn exit_code_says_how_a_tree_ended() {
    let node = TaskNode::start(&[]);
    let text =
        "tasks: { late: { executor: wait, inputs: { duration: 600 }, timeout_seconds: 1, max_attempts: 1 } }";
    let late = PlanFile::named("late.yaml", text);
    let failed = node.run(&["tasks", "create", &late.path(), "--wait"]);
    failed.assert_told(98, &["late failed"]);
    assert!(failed.stdout.contains("timeout: the deadline has passed"), "{failed}");
    let retried = node.json(&["tasks", "list", "--status", "failed"]);
    let task = retried["tasks"][0]["id"].as_str().unwrap();
    assert_eq!(node.json(&["tasks", "retry", task])["failures"], 0);

    let task = node.waiting(600.0);
    let watching = node.begin(&["tasks", "watch", &task]);
    watching.wait_for_note("one started");
    let cancelled = node.json(&["tasks", "cancel", &task, "--tree"]);
    assert_eq!(cancelled["requested"], 1, "{cancelled}");
    watching.wait().assert_told(97, &["one cancel requested", "one cancelled"]);
    // What has ended is shown at once.
    assert_eq!(node.run(&["tasks", "watch", &task]).code, 97);
}

#[test]
fn watching_is_detached_by_an_interrupt_and_the_task_runs_on() {
    let node = TaskNode::start(&[]);
    let task = node.waiting(600.0);
    let watching = node.begin(&["tasks", "watch", &task]);
    watching.wait_for_note("one started");
    watching.signal("INT");
    watching.wait().assert_told(97, &["detached; the tasks run on"]);
    assert_eq!(node.result("tasks.get", &json!({ "task": task }))["status"], "in_progress");
}

#[test]
fn killed_node_finishes_what_it_ran_when_it_is_started_again() {
    let mut node = TaskNode::start(&[]);
    let done = node.waiting(0.0);
    node.wait_for(&done, "completed");
    let text =
        "tasks: { a: { executor: wait, inputs: { duration: 2 } }, b: { executor: aggregate, depends: [a] } }";
    let file = PlanFile::named("tree.yaml", text);
    let created = node.json(&["tasks", "create", &file.path()]);
    let id = |name: &str| {
        let tasks = created["tasks"].as_array().unwrap();
        let task = tasks.iter().find(|task| task["name"] == name).unwrap();
        task["id"].as_str().unwrap().to_owned()
    };
    node.wait_for(&id("a"), "in_progress");
    node.restart();
    let ended = node.wait_for(&id("b"), "completed");
    assert_eq!(ended["attempt"], 1);
    assert_eq!(node.result("tasks.get", &json!({ "task": id("a") }))["crashes"], 1);
    assert_eq!(node.result("tasks.get", &json!({ "task": done }))["attempt"], 1, "not repeated");
}

#[test]
fn node_waits_for_its_database_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("later");
    let url = format!("sqlite:{}", place.join("tasks.db").display());
    let node = TaskNode::bound(&["--database", &url]);
    let away = wait_until("that the database is away", || {
        Some(node.request("GET /readyz", "", "")).filter(|it| it.contains("the database is not available"))
    });
    assert!(away.starts_with("HTTP/1.1 503"), "{away}");
    assert_eq!(node.refusal("tasks.list", &json!({})), (-32056, "database_unavailable".to_owned()));
    assert!(node.request("GET /metrics", "", "").contains("hyperscale_tasks_database_up 0"));
    std::fs::create_dir(&place).unwrap();
    wait_until("the database", || {
        node.request("GET /readyz", "", "").starts_with("HTTP/1.1 200").then_some(())
    });
    node.wait_for(&node.waiting(0.0), "completed");
}

#[test]
fn second_node_on_a_file_must_be_announced() {
    let node = TaskNode::start(&[]);
    node.wait_for(&node.waiting(0.0), "completed");
    let url = format!("sqlite:{}", node.database().display());
    let mut second = hyperscale();
    second.args(["serve", "--listen", "127.0.0.1:0", "--node-id", "second", "--database", &url]);
    let refused = crate::support::Process::spawn(&mut second).wait();
    refused.assert_told(1, &["uses the same database", "HYPERSCALE_CLUSTER_ENABLED=true"]);
    let announced = [("HYPERSCALE_CLUSTER_ENABLED", "true")];
    let second = TaskNode::with_variables(&["--node-id", "second", "--database", &url], &announced);
    wait_until("both nodes", || {
        (second.result("nodes.list", &json!({}))["nodes"].as_array().unwrap().len() == 2).then_some(())
    });
    // One leads, and the other one says who.
    assert_eq!(second.refusal("recover_stale_leases", &json!({})).1, "not_leader");
    assert_eq!(node.result("recover_stale_leases", &json!({}))["recovered"], 0);
}

#[test]
fn stream_of_a_tree_resumes_after_an_event_and_ends_with_it() {
    let node = TaskNode::start(&[]);
    let task = node.waiting(0.0);
    let whole = node.request(&format!("GET /events/{task}"), "", "");
    let kinds: Vec<&str> = whole.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(kinds, ["created", "assigned", "started", "completed"], "{whole}");
    let ids: Vec<&str> = whole.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(whole.matches("\"final\":true").count(), 1, "{whole}");
    let resumed = node.request(&format!("GET /events/{task}"), &format!("last-event-id: {}\r\n", ids[1]), "");
    assert!(!resumed.contains("event: assigned") && resumed.contains("event: started"), "{resumed}");
    // One that has seen everything is told that it was all.
    let ended = node.request(&format!("GET /events/{task}"), &format!("last-event-id: {}\r\n", ids[3]), "");
    assert!(ended.contains("event: completed") && ended.contains("\"final\":true"), "{ended}");
    let unknown = node.request("GET /events/01890000-0000-7000-8000-000000000000", "", "");
    assert!(unknown.starts_with("HTTP/1.1 404") && unknown.contains("unknown_task"), "{unknown}");
}

#[test]
fn schedules_are_stored_paused_triggered_and_deleted() {
    let node = TaskNode::start(&[]);
    let text = "name: nightly\ntrigger: { cron: { expression: '0 3 * * *', time_zone: Europe/Berlin } }\n\
                tasks: { check: { executor: wait, inputs: { duration: 0 } } }\n";
    let file = PlanFile::named("nightly.yaml", text);
    let schedule = node.json(&["schedules", "create", &file.path()]);
    assert_eq!((&schedule["name"], &schedule["paused"]), (&"nightly".into(), &false.into()));
    assert_eq!(node.json(&["schedules", "pause", "nightly"])["paused"], true);
    let id = schedule["id"].as_str().unwrap();
    assert_eq!(node.json(&["schedules", "resume", id])["paused"], false);
    let tree = node.json(&["schedules", "trigger", "nightly"])["tree"].as_str().unwrap().to_owned();
    node.wait_for(&tree, "completed");
    let runs = node.result("schedules.runs", &json!({ "schedule": "nightly" }));
    assert_eq!((&runs["runs"][0]["tree"], &runs["runs"][0]["status"]), (&tree.into(), &"completed".into()));
    // The same key makes one run.
    let keyed = json!({ "schedule": "nightly", "idempotency_key": "once" });
    let first = node.result("schedules.trigger", &keyed);
    assert_eq!(node.result("schedules.trigger", &keyed), first);
    assert_eq!(node.json(&["schedules", "delete", "nightly"])["deleted"], true);
    node.run(&["schedules", "delete", "nightly"]).assert_told(5, &["there is no schedule nightly"]);
    assert_eq!(node.json(&["schedules", "list"])["schedules"], json!([]));
}

#[test]
fn schedule_fires_by_itself() {
    let node = TaskNode::start(&[]);
    let spec = json!({
        "name": "beat", "trigger": { "interval": { "seconds": 1 } },
        "tree": { "tasks": [{ "name": "run", "executor": "wait", "inputs": { "duration": 0 } }] },
    });
    node.result("schedules.create", &spec);
    wait_until("a completed run", || {
        let runs = node.result("schedules.runs", &json!({ "schedule": "beat" }));
        runs["runs"].as_array().unwrap().iter().any(|run| run["status"] == "completed").then_some(())
    });
    let metrics = node.request("GET /metrics", "", "");
    assert!(!metrics.contains("hyperscale_tasks_schedule_fires_total 0"), "{metrics}");
}

#[test]
fn metrics_count_what_the_node_did() {
    let node = TaskNode::start(&[]);
    node.wait_for(&node.waiting(0.0), "completed");
    let metrics = node.request("GET /metrics", "", "");
    for line in [
        "hyperscale_tasks{state=\"completed\"} 1",
        "hyperscale_tasks_claims_total 1",
        "hyperscale_tasks_finished_total 1",
        "hyperscale_tasks_leases_lost_total 0",
        "hyperscale_tasks_stale_reports_total 0",
        "hyperscale_tasks_nodes{state=\"healthy\"} 1",
        "hyperscale_tasks_nodes{state=\"dead\"} 0",
    ] {
        assert!(metrics.contains(line), "no {line}: {metrics}");
    }
    for name in ["lease_renewals", "sweeps", "leases_swept", "schedule_fires"] {
        assert!(metrics.contains(&format!("hyperscale_tasks_{name}_total ")), "no {name}: {metrics}");
    }
}

#[test]
fn demo_runs_its_example_to_the_end_and_keeps_nothing() {
    let node = TaskNode::start(&["--demo"]);
    let report = wait_until("the example", || {
        let listed = node.call("tasks.list", &json!({ "name": "report" }));
        Some(listed["result"]["tasks"][0]["id"].as_str()?.to_owned())
    });
    let ended = node.wait_for(&report, "completed");
    let load = &ended["result"]["load"];
    assert_eq!(load["verdict"], "passed", "{load}");
    assert!(load["totals"]["requests"].as_u64().unwrap() > 0 && load["totals"]["failed"] == 0, "{load}");
    assert!(!node.database().exists());
}
