//! Bad input: clear errors, and nothing is stored.

use serde_json::{Value, json};

use super::node::TaskNode;
use crate::support::{PlanFile, run};

fn wait(name: &str, depends_on: &[&str]) -> Value {
    let edges: Vec<Value> = depends_on.iter().map(|task| json!({ "task": task })).collect();
    json!({ "name": name, "executor": "wait", "inputs": { "duration": 0 }, "depends_on": edges })
}

#[test]
fn trees_that_cannot_be_are_refused_with_what_and_where() {
    let node = TaskNode::start(&[]);
    let create = |tasks: Value| node.refusal("tasks.create", &json!({ "tasks": tasks }));
    let cases = [
        (json!([wait("a", &["b"]), wait("b", &["a"])]), -32044, "dependency_cycle"),
        (json!([{ "name": "a", "executor": "magic" }]), -32045, "unknown_executor"),
        (
            json!([{ "name": "a", "executor": "wait", "inputs": { "duration": "long" } }]),
            -32046,
            "invalid_inputs",
        ),
        (json!([wait("a", &["nobody"])]), -32046, "invalid_inputs"),
        (json!([]), -32046, "invalid_inputs"),
        (json!([{ "name": "a", "executor": "wait", "inptus": {} }]), -32602, "invalid_params"),
        (json!("a"), -32602, "invalid_params"),
    ];
    for (tasks, code, reason) in cases {
        assert_eq!(create(tasks.clone()), (code, reason.to_owned()), "{tasks}");
    }
    assert_eq!(node.refusal("tasks.create", &json!({})).0, -32602);
    assert_eq!(node.result("tasks.counts", &json!({}))["pending"], 0);
}

#[test]
fn key_that_was_used_for_other_tasks_is_refused() {
    let node = TaskNode::start(&[]);
    let keyed = |name: &str| json!({ "task": wait(name, &[]), "idempotency_key": "once" });
    let first = node.result("tasks.create", &keyed("a"));
    let again = node.result("tasks.create", &keyed("a"));
    assert_eq!(
        (&again["tree"], &again["is_new"], &again["tasks"]),
        (&first["tree"], &false.into(), &first["tasks"])
    );
    assert_eq!(node.refusal("tasks.create", &keyed("b")), (-32047, "idempotency_conflict".to_owned()));
}

#[test]
fn files_are_refused_at_the_place_that_is_wrong() {
    let node = TaskNode::start(&[]);
    let create = |text: &str| {
        let file = PlanFile::named("tree.yaml", text);
        node.run(&["tasks", "create", &file.path()])
    };
    let cyclic = "tasks:\n  a: { executor: wait, depends: [b] }\n  b: { executor: wait, depends: [a] }\n";
    create(cyclic).assert_told(3, &["tree.yaml:2:34: error: circular dependency: a -> b -> a"]);
    let missing = "tasks:\n  seed: { executor: wait }\n  load: { executor: wait, depends: [sed] }\n";
    create(missing).assert_told(3, &["tree.yaml:3:37: error", "`sed`", "did you mean `seed`?"]);
    create("tasks: { a: { excutor: wait } }")
        .assert_told(3, &["`excutor` is not known", "did you mean `executor`?"]);
    create("task: {}").assert_told(3, &["`task` is not known here", "did you mean `tasks`?"]);
    create("tasks: { a: {executor: wait, priority: 9 } }").assert_told(3, &["priority 9 is not in 0..=3"]);
    // What only the server knows is told at its place too.
    let unknown = "tasks:\n  a:\n    executor: magic\n";
    create(unknown).assert_told(5, &["tree.yaml:2:3: error: task `a` wants executor `magic`", "known: "]);
    let inputs = "tasks: { a: { executor: wait, inputs: { duraton: 1 } } }";
    create(inputs).assert_told(
        5,
        &["tree.yaml:1:10: error: task `a`: bad inputs: `duraton` is not known; known: duration"],
    );
    let plan = "tasks: { a: { executor: load_test, inputs: { plan: missing.yaml } } }";
    create(plan).assert_told(3, &["missing.yaml cannot be read"]);
    assert_eq!(node.result("tasks.counts", &json!({}))["pending"], 0);
}

#[test]
fn requests_that_are_none_are_refused() {
    let node = TaskNode::start(&[]);
    assert!(node.request("POST /", "", "not json").contains("-32700"));
    assert!(node.request("POST /", "", "{\"jsonrpc\":\"1.0\"}").contains("-32600"));
    assert_eq!(node.refusal("tasks.explode", &json!({})).1, "method_not_found");
    assert_eq!(node.refusal("jobs.list", &json!({})).1, "method_not_found");
    assert_eq!(node.refusal("tasks.get", &json!({ "task": "one" })).1, "invalid_params");
    let nobody = json!({ "task": "01890000-0000-7000-8000-000000000000" });
    for method in ["tasks.get", "tasks.tree", "tasks.cancel", "tasks.retry", "tasks.events"] {
        assert_eq!(node.refusal(method, &nobody), (-32049, "unknown_task".to_owned()), "{method}");
    }
    assert_eq!(node.refusal("tasks.list", &json!({ "limit": 0 })).1, "invalid_params");
    assert_eq!(node.refusal("tasks.subscribe", &nobody).1, "use_stream");
    let done = node.waiting(0.0);
    node.wait_for(&done, "completed");
    for method in ["tasks.cancel", "tasks.retry"] {
        assert_eq!(node.refusal(method, &json!({ "task": done })).1, "bad_transition", "{method}");
    }
    let batch = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks.counts\"},1]";
    let response = node.request("POST /rpc", "", batch);
    assert!(response.contains("\"completed\":1") && response.contains("-32600"), "{response}");
    node.run(&["tasks", "get", "one"]).assert_told(2, &["`one` is not the id of a task"]);
}

#[test]
fn observer_reads_and_is_refused_to_write() {
    let node = TaskNode::start(&[]);
    let task = node.waiting(0.0);
    node.wait_for(&task, "completed");
    let url = format!("sqlite:{}", node.database().display());
    let observer = TaskNode::start(&["--role", "observer", "--database", &url]);
    observer.wait_for(&task, "completed");
    for (method, params) in [
        ("tasks.create", json!({ "task": wait("a", &[]) })),
        ("tasks.cancel", json!({ "task": task })),
        ("schedules.delete", json!({ "schedule": "s" })),
        ("claim_tasks", json!({ "node": "w", "boot": task })),
        ("nodes.set_role", json!({ "role": "auto" })),
    ] {
        assert_eq!(observer.refusal(method, &params), (-32051, "observer".to_owned()), "{method}");
    }
    let nodes = observer.result("nodes.list", &json!({}));
    assert_eq!(nodes["nodes"].as_array().unwrap().len(), 1, "an observer registers nothing: {nodes}");

    // A node that becomes one drains, and works again when it is told to.
    assert_eq!(node.result("nodes.set_role", &json!({ "role": "observer" }))["role"], "observer");
    assert_eq!(node.refusal("tasks.create", &json!({ "task": wait("a", &[]) })).1, "observer");
    node.result("nodes.set_role", &json!({ "role": "auto" }));
    node.wait_for(&node.waiting(0.0), "completed");
}

#[test]
fn token_guards_everything_but_probes_and_the_page() {
    let node = TaskNode::start(&["--token", "correct-horse-battery-staple"]);
    let refused = node.request("POST /", "", "{}");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    node.run(&["tasks", "list"]).assert_told(5, &["a token is required"]);
    let listed = node.run(&["tasks", "list", "--token", "correct-horse-battery-staple"]);
    assert_eq!(listed.code, 0, "{listed}");
    let page = node.request("GET /", "accept: text/html\r\n", "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<!doctype html>"), "{page}");
    for path in ["/ui/app.js", "/ui/style.css", "/healthz", "/.well-known/agent-card.json"] {
        assert!(node.request(&format!("GET {path}"), "", "").starts_with("HTTP/1.1 200"), "{path}");
    }
    assert!(node.request("GET /ui/../etc", "", "").starts_with("HTTP/1.1 404"));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let serve = |args: &[&str]| run(&[&["serve", "--data", "/tmp"], args].concat());
    serve(&["--role", "king"]).assert_told(2, &["`king` is not auto, leader, worker or observer"]);
    serve(&["--database", "mysql://h/d"]).assert_told(2, &["neither postgres:// nor sqlite:"]);
    serve(&["--node-id", "a b"]).assert_told(2, &["`a b` is not 1 to 64 letters"]);
    serve(&["--listen", "0.0.0.0:0"]).assert_told(2, &["HYPERSCALE_API_TOKEN"]);
    let with = |name: &str, value: &str| {
        let mut command = crate::support::hyperscale();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", "/tmp"]).env(name, value);
        crate::support::Process::spawn(&mut command).wait()
    };
    with("HYPERSCALE_POLL_INTERVAL_SECONDS", "60")
        .assert_told(2, &["poll is 60s, but it must be at most lease (30s)"]);
    with("HYPERSCALE_LEADER_RENEW_SECONDS", "soon").assert_told(2, &["`soon` is not a number of seconds"]);
    with("HYPERSCALE_LEASE_SECONDS", "9").assert_told(2, &["unknown setting `lease_seconds`"]);
    run(&["tasks", "list", "--server", "http://127.0.0.1:9"]).assert_told(4, &["is unreachable"]);
}
