//! A node that is an agent: its card, versions of A2A, and responses that are streams.

use std::sync::atomic::Ordering;

use hyperscale_api::{A2aVersion, Access, ErrorCode, Limits, Operation, RpcError};
use serde_json::{Value, json};

use crate::support::{Node, body, token};

const NEW: &str = "a2a-version: 1.0\r\n";

async fn agent(access: Access) -> Node {
    let node = Node::with(access, None, Limits::NODE).await;
    node.backend.is_agent.store(true, Ordering::SeqCst);
    node
}

fn call(method: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": { "id": "t" } }).to_string()
}

#[tokio::test]
async fn card_needs_no_token_and_is_cached() {
    let node = agent(Access::Token(token())).await;
    let response = node.request("GET /.well-known/agent-card.json", "", "").await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert_eq!(body(&response), json!({ "url": format!("http://{}/", node.address), "needs_token": true }));
    let header =
        |name: &str| response.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!(header("cache-control:"), "max-age=60");
    let known = format!("if-none-match: {}\r\n", header("etag:"));
    let again = node.request("GET /.well-known/agent-card.json", &known, "").await;
    assert!(again.starts_with("HTTP/1.1 304"), "{again}");
    assert!(node.request("POST /.well-known/agent-card.json", "", "").await.starts_with("HTTP/1.1 405"));
    assert!(node.request("POST /", NEW, &call("GetTask")).await.starts_with("HTTP/1.1 401"));
}

#[tokio::test]
async fn node_that_is_no_agent_has_no_card_and_no_methods_of_a2a() {
    let node = Node::start().await;
    let card = node.request("GET /.well-known/agent-card.json", "", "").await;
    assert!(card.starts_with("HTTP/1.1 404"), "{card}");
    for (version, method) in [(NEW, "GetTask"), ("", "tasks/get"), ("a2a-version: 9\r\n", "GetTask")] {
        let response = body(&node.request("POST /", version, &call(method)).await);
        assert_eq!(response["error"]["data"]["reason"], "method_not_found", "{response}");
    }
}

#[tokio::test]
async fn version_of_the_request_decides_names_and_errors() {
    let node = agent(Access::Open).await;
    let code = |response: &Value| response["error"]["code"].as_i64();
    for (line, version, method, expected) in [
        ("POST /", NEW, "GetTask", None),
        ("POST /rpc", NEW, "GetTask", None),
        ("POST /?A2A-Version=1.0", "", "GetTask", None),
        ("POST /", "", "tasks/get", None),
        ("POST /", "a2a-version: 0.3\r\n", "tasks/get", None),
        ("POST /", "", "GetTask", Some(-32601)),
        ("POST /", NEW, "tasks/get", Some(-32601)),
        ("POST /", "a2a-version: 2.0\r\n", "GetTask", Some(-32009)),
        ("POST /", "a2a-version: 2.0\r\n", "jobs.get", Some(-32602)),
    ] {
        let response = body(&node.request(line, version, &call(method)).await);
        assert_eq!(code(&response), expected, "{line} {version} {method}: {response}");
        // 0.3 has errors as all other methods have them, 1.0 has a list of typed details.
        let data = &response["error"]["data"];
        assert!(expected.is_none() || data.is_array() != version.is_empty(), "{version} {response}");
    }
    let asked: Vec<A2aVersion> = node.backend.asked.lock().unwrap().iter().map(|call| call.version).collect();
    assert_eq!(
        asked,
        [A2aVersion::V1_0, A2aVersion::V1_0, A2aVersion::V1_0, A2aVersion::V0_3, A2aVersion::V0_3]
    );
    assert!(node.backend.asked.lock().unwrap().iter().all(|call| call.operation == Operation::Get));
}

#[tokio::test]
async fn stream_is_a_sequence_of_responses_with_the_id_of_the_request() {
    let node = agent(Access::Open).await;
    for (version, method) in
        [(NEW, "SendStreamingMessage"), ("", "message/stream"), ("", "tasks/resubscribe")]
    {
        node.backend.respond(Ok(json!(1)));
        node.backend.respond(Ok(json!(2)));
        let response = node.request("POST /", version, &call(method)).await;
        assert!(response.contains("content-type: text/event-stream"), "{response}");
        let data: Vec<Value> = response
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let expected = |number: u32| json!({ "jsonrpc": "2.0", "id": 7, "result": number });
        assert_eq!(data, [expected(1), expected(2)], "{method}");
    }
}

#[tokio::test]
async fn stream_that_is_refused_says_so_as_its_version_does() {
    let node = agent(Access::Open).await;
    let refuse = || node.backend.respond(Err(RpcError::new(ErrorCode::TaskNotFound, "there is no task t")));
    refuse();
    let new = node.request("POST /", NEW, &call("SubscribeToTask")).await;
    assert!(new.contains("content-type: application/json"), "{new}");
    assert_eq!(body(&new)["error"]["data"][0]["reason"], "TASK_NOT_FOUND");
    refuse();
    let old = node.request("POST /", "", &call("tasks/resubscribe")).await;
    assert!(old.contains("text/event-stream") && old.contains("data: {") && old.contains("-32001"), "{old}");
    // Neither a batch nor a notification can be responded to with a stream.
    let batch = node.request("POST /", NEW, &format!("[{0},{0}]", call("SubscribeToTask"))).await;
    assert_eq!(body(&batch)[1]["error"]["code"], -32600, "{batch}");
    let silent = r#"{"jsonrpc":"2.0","method":"SubscribeToTask","params":{"id":"t"}}"#;
    assert!(node.request("POST /", NEW, silent).await.starts_with("HTTP/1.1 204"));
}
