//! Workers without a database: they register, claim, renew and report through the API of a node.

use serde_json::{Value, json};

use super::node::TaskNode;

/// A node that runs nothing itself, and a task that only a worker can run.
fn node_with_task() -> (TaskNode, String) {
    let node = TaskNode::start(&[]);
    // Only nodes with this capability: the worker, and not the node.
    let task = json!({
        "name": "remote", "executor": "wait", "inputs": { "duration": 1 },
        "placement": { "requires_capabilities": { "gpu": "nvidia" } },
    });
    let tree = node.result("tasks.create", &json!({ "task": task }))["tree"].as_str().unwrap().to_owned();
    (node, tree)
}

fn register(node: &TaskNode) -> Value {
    let registered = node.result(
        "register_node",
        &json!({ "node": "w1", "executors": ["wait"], "capabilities": { "gpu": "nvidia" } }),
    );
    json!({ "node": "w1", "boot": registered["boot"] })
}

#[test]
fn worker_without_a_database_runs_a_task() {
    let (node, task) = node_with_task();
    let unplaceable = node.result("tasks.get", &json!({ "task": task }))["unplaceable"].clone();
    assert!(unplaceable.as_str().unwrap().contains("gpu"), "{unplaceable}");
    let worker = register(&node);
    assert_eq!(node.result("heartbeat", &worker), worker);
    let found = node.result("find_executable_tasks", &worker);
    assert_eq!(found["tasks"][0]["id"], task.as_str(), "{found}");
    let claimed = node.result("claim_tasks", &worker);
    let lease = &claimed["tasks"][0];
    assert_eq!((&lease["task"], &lease["inputs"]), (&task.clone().into(), &json!({ "duration": 1 })));
    let token = &lease["token"];
    let renewed = node.result("renew_lease", &json!({ "token": token, "progress": 0.5 }));
    assert_eq!(renewed["renewed"][0]["cancel"], false, "{renewed}");
    assert_eq!(node.result("tasks.get", &json!({ "task": task }))["progress"], 0.5);
    node.result("report_completion", &json!({ "token": token, "result": { "answer": 42 } }));
    let ended = node.result("tasks.get", &json!({ "task": task }));
    assert_eq!((&ended["status"], &ended["result"]["answer"]), (&"completed".into(), &42.into()));
    // A second report changes nothing.
    let stale = json!({ "token": token, "result": 1 });
    assert_eq!(node.refusal("report_completion", &stale), (-32040, "lease_lost".to_owned()));
    assert!(node.request("GET /metrics", "", "").contains("hyperscale_tasks_stale_reports_total 1"));
    node.result("deregister_node", &worker);
    assert_eq!(node.refusal("heartbeat", &worker).1, "unregistered");
    assert_eq!(node.refusal("claim_tasks", &worker).1, "unregistered");
}

#[test]
fn lease_is_released_failed_and_asked_to_stop_through_the_api() {
    let (node, task) = node_with_task();
    let worker = register(&node);
    let acquire = || {
        let mut params = worker.clone();
        params["task"] = json!(task);
        node.result("acquire_lease", &params)["tasks"][0]["token"].clone()
    };
    let released = node.result("release_lease", &json!({ "token": acquire() }));
    assert_eq!((&released["status"], &released["failures"]), (&"pending".into(), &0.into()));
    let token = acquire();
    let mut again = worker.clone();
    again["task"] = json!(task);
    assert_eq!(node.refusal("acquire_lease", &again), (-32043, "bad_transition".to_owned()));
    node.result("tasks.cancel", &json!({ "task": task }));
    assert_eq!(node.result("renew_lease", &json!({ "tokens": [token] }))["renewed"][0]["cancel"], true);
    let failed = json!({ "token": token, "error": "stopped", "cancelled": true });
    assert_eq!(node.result("report_failure", &failed)["status"], "cancelled");
}

#[test]
fn forged_and_foreign_lease_tokens_are_refused() {
    let ((node, task), (other, _)) = (node_with_task(), node_with_task());
    let lease = |node: &TaskNode| {
        let token = node.result("claim_tasks", &register(node))["tasks"][0]["token"].clone();
        token.as_str().unwrap().to_owned()
    };
    let (token, foreign) = (lease(&node), lease(&other));
    let (signed, mac) = token.rsplit_once('.').unwrap();
    let (id, fence) = signed.split_once('.').unwrap();
    let raised: i64 = fence.parse::<i64>().unwrap() + 1;
    for forged in [foreign, format!("{id}.{raised}.{mac}"), format!("{signed}.00"), "token".to_owned()] {
        for (method, params) in [
            ("report_completion", json!({ "token": forged, "result": 1 })),
            ("report_failure", json!({ "token": forged, "error": "e" })),
            ("renew_lease", json!({ "token": forged })),
            ("release_lease", json!({ "token": forged })),
        ] {
            assert_eq!(node.refusal(method, &params), (-32040, "lease_lost".to_owned()), "{method} {forged}");
        }
    }
    assert_eq!(node.result("tasks.get", &json!({ "task": task }))["status"], "in_progress");
}

#[test]
fn node_describes_its_methods_and_executors() {
    let node = TaskNode::start(&[]);
    let described = node.result("system.methods", &json!({}));
    let methods = described["methods"].as_array().unwrap();
    for method in methods.iter().filter(|method| *method != "system.methods") {
        let schema = &described["schemas"][method.as_str().unwrap()];
        assert!(
            jsonschema::validator_for(schema).is_ok() && schema["type"] == "object",
            "{method}: {schema}"
        );
    }
    assert_eq!(described["executors"]["wait"]["required"], json!(["duration"]), "{described}");
}
