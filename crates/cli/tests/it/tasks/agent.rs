//! A task node as an agent: public clients of A2A talk to it, and shapes that they do not look at.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::node::TaskNode;
use crate::support::Process;

const TOKEN: &str = "correct-horse-battery-staple";
/// The header of a request in version 1.0; one in 0.3 has none.
const NEW: &str = "a2a-version: 1.0\r\n";
const OLD: &str = "";

/// The interpreter of an environment that the test command made from `tests/a2a/NAME.txt`.
pub(crate) fn python(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let python = target.join("python").join(name).join("bin/python");
    assert!(python.exists(), "{} is missing; `cargo xtask test` installs it", python.display());
    python
}

/// A script talks to a node until it is content.
fn converse(name: &str) {
    let node = TaskNode::start(&["--token", TOKEN]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/a2a/{name}.py"));
    let mut command = Command::new(python(name));
    command.arg(script).args([&node.server(), TOKEN]);
    let ended = Process::spawn(&mut command).wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "done\n"), "{ended}");
}

#[test]
fn public_client_of_version_1_0_converses() {
    converse("v1_0");
}

#[test]
fn public_client_of_version_0_3_converses() {
    converse("v0_3");
}

/// Parameters that send one data part, in the words of a version.
fn message(version: &str, id: &str, data: &Value) -> Value {
    let (role, part) = match version {
        NEW => ("ROLE_USER", json!({ "data": data })),
        _ => ("user", json!({ "kind": "data", "data": data })),
    };
    json!({ "message": { "messageId": id, "role": role, "parts": [part] } })
}

fn wait(seconds: f64) -> Value {
    json!({ "executor": "wait", "name": "pause", "inputs": { "duration": seconds } })
}

/// Ids and times by their kind, so that shapes can be compared.
fn masked(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match name.as_str() {
                "id" | "taskId" | "contextId" | "artifactId" if value.is_string() => {
                    (name.clone(), json!("ID"))
                }
                "messageId" if value.as_str().is_some_and(|id| id.len() > 36) => (name.clone(), json!("ID-")),
                "timestamp" => (name.clone(), json!("TIME")),
                _ => (name.clone(), masked(value)),
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

#[test]
fn task_has_the_shape_of_each_version() {
    let node = TaskNode::start(&[]);
    let counts =
        json!({ "waiting": 0, "running": 0, "completed": 1, "failed": 0, "cancelled": 0, "tolerated": 0 });
    let data = json!({ "executor": "aggregate" });
    let new = node.call_with(NEW, "SendMessage", &message(NEW, "m-new", &data));
    let task = &new["result"]["task"];
    assert_eq!(
        masked(task),
        json!({
            "id": "ID", "contextId": "ID",
            "status": { "state": "TASK_STATE_COMPLETED", "timestamp": "TIME" },
            "artifacts": [{
                "artifactId": "ID", "name": "aggregate", "metadata": { "executor": "aggregate" },
                "parts": [{ "data": {}, "mediaType": "application/json" }],
            }],
            "history": [{
                "messageId": "m-new", "role": "ROLE_USER", "taskId": "ID", "contextId": "ID",
                "parts": [{ "data": { "executor": "aggregate" }, "mediaType": "application/json" }],
            }],
            "metadata": { "tasks": counts, "progress": 1.0 },
        }),
        "{new}"
    );
    let time = task["status"]["timestamp"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[19] == b'.', "{time}");
    let old = node.call_with(OLD, "message/send", &message(OLD, "m-old", &data));
    assert_eq!(
        masked(&old["result"]),
        json!({
            "kind": "task", "id": "ID", "contextId": "ID",
            "status": { "state": "completed", "timestamp": "TIME" },
            "artifacts": [{
                "artifactId": "ID", "name": "aggregate", "metadata": { "executor": "aggregate" },
                "parts": [{ "kind": "data", "data": {} }],
            }],
            "history": [{
                "kind": "message", "messageId": "m-old", "role": "user", "taskId": "ID", "contextId": "ID",
                "parts": [{ "kind": "data", "data": { "executor": "aggregate" } }],
            }],
            "metadata": { "tasks": counts, "progress": 1.0 },
        }),
        "{old}"
    );
    // What was sent in one version is seen in the other.
    let seen = node.call_with(NEW, "GetTask", &json!({ "id": old["result"]["id"] }));
    assert_eq!(seen["result"]["history"][0]["role"], "ROLE_USER", "{seen}");
}

/// The data of all frames of a stream.
fn stream(node: &TaskNode, version: &str, method: &str, params: &Value) -> Vec<Value> {
    let body = json!({ "jsonrpc": "2.0", "id": "s", "method": method, "params": params }).to_string();
    let response = node.request("POST /", version, &body);
    assert!(response.contains("text/event-stream"), "{response}");
    let frames = response.lines().filter_map(|line| line.strip_prefix("data: "));
    let frames: Vec<Value> = frames.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert!(frames.iter().all(|frame| frame["id"] == "s" && frame["jsonrpc"] == "2.0"), "{frames:?}");
    frames.into_iter().map(|mut frame| frame["result"].take()).collect()
}

#[test]
fn updates_have_the_shape_of_each_version() {
    let node = TaskNode::start(&["--node-id", "here"]);
    let tree = json!({ "tasks": { "a": { "executor": "aggregate" } } });
    let new = stream(&node, NEW, "SendStreamingMessage", &message(NEW, "m-new", &tree));
    let said = |text: &str| json!({ "messageId": "ID-", "role": "ROLE_AGENT", "taskId": "ID", "contextId": "ID", "parts": [{ "text": text }] });
    let happened = |text: &str| {
        json!({ "statusUpdate": {
        "taskId": "ID", "contextId": "ID",
        "status": { "state": "TASK_STATE_WORKING", "timestamp": "TIME", "message": said(text) },
    } })
    };
    let (first, rest) = new.split_first().unwrap();
    assert!(first["task"]["id"].is_string() && first.as_object().unwrap().len() == 1, "{first}");
    let artifact = json!({ "artifactUpdate": {
        "taskId": "ID", "contextId": "ID", "lastChunk": true,
        "artifact": {
            "artifactId": "ID", "name": "a", "metadata": { "executor": "aggregate" },
            "parts": [{ "data": {}, "mediaType": "application/json" }],
        },
    } });
    let counts =
        json!({ "waiting": 0, "running": 0, "completed": 1, "failed": 0, "cancelled": 0, "tolerated": 0 });
    let end = json!({ "statusUpdate": {
        "taskId": "ID", "contextId": "ID", "status": { "state": "TASK_STATE_COMPLETED", "timestamp": "TIME" },
        "metadata": { "tasks": counts, "progress": 1.0 },
    } });
    let rest: Vec<Value> = rest.iter().map(masked).collect();
    assert_eq!(rest, [happened("a started on here"), artifact, end]);

    let old = stream(&node, OLD, "message/stream", &message(OLD, "m-old", &tree));
    let kinds: Vec<&str> = old.iter().map(|update| update["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["task", "status-update", "artifact-update", "status-update"]);
    assert_eq!((&old[1]["final"], &old[3]["final"]), (&json!(false), &json!(true)));
    assert_eq!(
        (&old[1]["status"]["state"], &old[3]["status"]["state"]),
        (&json!("working"), &json!("completed"))
    );
    assert_eq!(old[1]["status"]["message"]["kind"], "message");
    // A message that was sent before is followed again; its task has ended, so that nothing comes after it.
    let again = stream(&node, NEW, "SendStreamingMessage", &message(NEW, "m-new", &tree));
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(again[0]["task"]["id"], new[0]["task"]["id"]);
}

#[test]
fn response_does_not_wait_when_it_need_not() {
    let node = TaskNode::start(&[]);
    let mut params = message(NEW, "m1", &wait(600.0));
    params["configuration"] = json!({ "returnImmediately": true, "historyLength": 0 });
    let task = node.call_with(NEW, "SendMessage", &params)["result"]["task"].clone();
    let state = task["status"]["state"].as_str().unwrap();
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state), "{task}");
    assert!(task.get("history").is_none(), "{task}");
    let mut params = message(OLD, "m2", &wait(600.0));
    params["configuration"] = json!({ "blocking": false });
    let other = node.call_with(OLD, "message/send", &params)["result"].clone();
    // A cancel waits for what runs to stop.
    let id = |task: &Value| json!({ "id": task["id"] });
    let cancelled = node.call_with(NEW, "CancelTask", &id(&task));
    assert_eq!(cancelled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
    let cancelled = node.call_with(OLD, "tasks/cancel", &id(&other));
    assert_eq!(cancelled["result"]["status"]["state"], "canceled", "{cancelled}");
}

#[test]
fn tasks_of_others_are_seen_and_their_parts_are_not() {
    let node = TaskNode::start(&[]);
    let wait = |name: &str| json!({ "name": name, "executor": "wait", "inputs": { "duration": 0 } });
    let created = node.result("tasks.create", &json!({ "tasks": [wait("a"), wait("b")] }));
    let (tree, part) = (&created["tasks"][0]["id"], &created["tasks"][1]["id"]);
    for task in [tree, part] {
        node.wait_for(task.as_str().unwrap(), "completed");
    }
    let seen = node.call_with(NEW, "GetTask", &json!({ "id": tree }));
    assert_eq!((&seen["result"]["contextId"], seen["result"].get("history")), (tree, None), "{seen}");
    let refused = node.call_with(NEW, "GetTask", &json!({ "id": part }));
    assert_eq!(refused["error"]["code"], -32001);
    assert!(
        refused["error"]["data"][0]["metadata"]["fix"].as_str().unwrap().contains(tree.as_str().unwrap())
    );
    let listed = node.call_with(NEW, "ListTasks", &json!({}));
    assert_eq!(listed["result"]["totalSize"], 0, "only what messages made is listed: {listed}");
}

#[test]
fn observer_shows_tasks_and_takes_no_messages() {
    let node = TaskNode::start(&[]);
    let sent = node.call_with(NEW, "SendMessage", &message(NEW, "m1", &wait(0.0)));
    let task = sent["result"]["task"]["id"].clone();
    let url = format!("sqlite:{}", node.database().display());
    let observer = TaskNode::start(&["--role", "observer", "--database", &url]);
    let seen = observer.call_with(NEW, "GetTask", &json!({ "id": task }));
    assert_eq!(seen["result"]["status"]["state"], "TASK_STATE_COMPLETED", "{seen}");
    let refused = observer.call_with(NEW, "SendMessage", &message(NEW, "m2", &wait(0.0)));
    assert_eq!(refused["error"]["code"], -32004, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("observer"), "{refused}");
}

#[test]
fn message_and_its_task_outlive_the_node() {
    let mut node = TaskNode::start(&[]);
    let mut params = message(NEW, "m1", &wait(0.0));
    params["message"]["contextId"] = json!("shop");
    let sent = node.call_with(NEW, "SendMessage", &params)["result"]["task"].clone();
    node.restart();
    let seen = node.call_with(NEW, "GetTask", &json!({ "id": sent["id"] }));
    assert_eq!(seen["result"], sent);
    let again = node.call_with(NEW, "SendMessage", &params);
    assert_eq!(again["result"]["task"]["id"], sent["id"], "the same message is the same task");
}
