//! A node whose disk is full: it says so, loses nothing that it acknowledged, and works again when there is room.

use serde_json::{Value, json};

use super::node::TaskNode;
use crate::support::{SmallDisk, wait_until};

#[test]
fn full_disk_is_said_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(folder.path(), 16);
    let node = TaskNode::start(&["--data", folder.path().to_str().unwrap()]);
    let running = node.waiting(3.0);
    node.wait_for(&running, "in_progress");
    disk.fill();
    // What the file still has room for is accepted; the rest is refused.
    let mut accepted = Vec::new();
    let refused = wait_until("a refusal", || {
        let inputs = json!({ "url": "http://127.0.0.1:9/", "body": "x".repeat(50_000) });
        let later = 4_000_000_000_000_u64;
        let task = json!({ "name": "large", "executor": "http", "inputs": inputs, "run_at": later });
        let response = node.call("tasks.create", &json!({ "task": task }));
        let refused = response.get("error").cloned();
        if refused.is_none() {
            accepted.push(response["result"]["tree"].clone());
        }
        refused
    });
    assert_eq!(
        (&refused["code"], &refused["data"]["reason"]),
        (&json!(-32056), &json!("database_unavailable"))
    );
    assert!(refused["message"].as_str().unwrap().contains("the disk is full"), "{refused}");
    let listed = node.result("tasks.list", &json!({ "limit": 200 }))["tasks"].as_array().unwrap().len();
    assert_eq!(listed, accepted.len() + 1, "what was accepted, and nothing of what was refused");

    // Its time passes while nothing can be written; its end is written when there is room again.
    wait_until("the end of the wait", || (age_ms(&node, &running) > 4_000).then_some(()));
    assert_eq!(node.result("tasks.get", &json!({ "task": running }))["status"], "in_progress");
    disk.free();
    assert_eq!(node.wait_for(&running, "completed")["attempt"], 1, "it was not repeated");
    node.wait_for(&node.waiting(0.0), "completed");
    for task in &accepted {
        assert_eq!(node.result("tasks.get", &json!({ "task": task }))["status"], "pending");
    }
    // Before its disk is taken away.
    drop(node);
}

/// Milliseconds since a task was started first.
fn age_ms(node: &TaskNode, task: &str) -> u64 {
    let task: Value = node.result("tasks.get", &json!({ "task": task }));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap().saturating_sub(task["started_at"].as_u64().unwrap())
}
