//! Every route with good and bad requests, and the limits of a server.

use std::time::Duration;

use hyperscale_api::server::{BLOB_MAX, BODY_MAX, Source};
use hyperscale_api::{Access, ErrorCode, Limits, Method, RpcError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Node, Script, body, event, final_event, rate, read_to_end, read_until};

const GET: &str = r#"{"jsonrpc":"2.0","id":1,"method":"jobs.get","params":{"job":"j"}}"#;

#[tokio::test]
async fn rpc_is_served_at_both_paths_and_the_backend_knows_the_caller() {
    let node = Node::start().await;
    for line in ["POST /rpc", "POST /"] {
        let response = node.request(line, "", GET).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert_eq!(body(&response)["result"]["echo"], "jobs.get");
    }
    let (caller, method) = node.backend.calls.lock().unwrap()[0].clone();
    assert_eq!(method, Method::JobsGet { job: "j".into() });
    assert!(matches!(caller.source, Source::Peer(peer) if peer.ip().is_loopback()));
    assert!(!caller.is_authenticated, "there is no token");
}

#[tokio::test]
async fn batches_are_carried_out_in_order() {
    let node = Node::start().await;
    node.backend.respond(Ok(json!(1)));
    node.backend.respond(Err(RpcError::new(ErrorCode::UnknownJob, "there is no such job")));
    let list = r#"{"jsonrpc":"2.0","id":"b","method":"jobs.list","params":{"limit":5}}"#;
    let response = body(&node.request("POST /rpc", "", &format!("[{GET},{list},{{}}]")).await);
    let codes: Vec<Option<i64>> =
        response.as_array().unwrap().iter().map(|one| one["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [None, Some(ErrorCode::UnknownJob.number()), Some(ErrorCode::InvalidRequest.number())]);
    let names: Vec<&str> = node.backend.methods_called().iter().map(Method::name).collect();
    assert_eq!(names, ["jobs.get", "jobs.list"]);
}

#[tokio::test]
async fn malformed_requests_are_refused_with_a_code_each_and_reach_no_backend() {
    let node = Node::start().await;
    for (request, code) in [
        ("{", ErrorCode::ParseError),
        ("\u{0}", ErrorCode::ParseError),
        ("[]", ErrorCode::InvalidRequest),
        ("7", ErrorCode::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"method":"jobs.explode"}"#, ErrorCode::MethodNotFound),
        (r#"{"jsonrpc":"2.0","id":1,"method":"jobs.get"}"#, ErrorCode::InvalidParams),
        (r#"{"jsonrpc":"2.0","id":1,"method":"jobs.get","params":["j"]}"#, ErrorCode::InvalidParams),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"jobs.submit","params":{"plan":{"name":"p"}}}"#,
            ErrorCode::InvalidParams,
        ),
    ] {
        let response = node.request("POST /rpc", "", request).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert_eq!(body(&response)["error"]["code"], code.number(), "{request}");
        assert_eq!(body(&response)["error"]["data"]["reason"], code.reason(), "{request}");
    }
    assert!(node.backend.methods_called().is_empty());
}

#[tokio::test]
async fn probes_report_health_readiness_and_metrics() {
    let node = Node::start().await;
    assert!(node.request("GET /healthz", "", "").await.starts_with("HTTP/1.1 200"));
    assert_eq!(body(&node.request("GET /readyz", "", "").await), json!({ "ready": true }));
    *node.backend.not_ready.lock().unwrap() = Some("the group has no leader".into());
    let response = node.request("GET /readyz", "", "").await;
    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
    assert_eq!(body(&response), json!({ "ready": false, "reason": "the group has no leader" }));
    let metrics = node.request("GET /metrics", "", "").await;
    assert!(metrics.contains("text/plain; version=0.0.4"), "{metrics}");
    assert!(metrics.ends_with("hyperscale_api_requests_total 7\n"), "{metrics}");
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_are_refused() {
    let node = Node::start().await;
    for line in ["GET /other", "GET /events/", "GET /events/a%20b", "POST /rpc/x", "GET /blobs/x"] {
        let response = node.request(line, "", "").await;
        assert!(response.starts_with("HTTP/1.1 404"), "{line}: {response}");
        assert_eq!(body(&response)["error"]["data"]["reason"], "not_found");
    }
    for (line, allowed) in [
        ("GET /rpc", "allow: POST"),
        ("POST /healthz", "allow: GET"),
        ("POST /events/j", "allow: GET"),
        ("POST /blobs", "allow: PUT"),
    ] {
        let response = node.request(line, "", "").await;
        assert!(response.starts_with("HTTP/1.1 405") && response.contains(allowed), "{line}: {response}");
    }
}

#[tokio::test]
async fn oversized_bodies_are_refused_before_they_are_read() {
    let node = Node::start().await;
    for (line, bytes) in [("POST /rpc", BODY_MAX + 1), ("PUT /blobs", BLOB_MAX + 1)] {
        let head = format!("{line} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {bytes}\r\n\r\n");
        let response = node.raw(head.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 413"), "{response}");
        assert_eq!(body(&response)["error"]["data"]["reason"], "too_large");
    }
    let long = format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx: {}\r\n\r\n", "x".repeat(20 << 10));
    assert!(node.raw(long.as_bytes()).await.starts_with("HTTP/1.1 431"), "a head has a limit too");
    assert!(node.backend.methods_called().is_empty() && node.backend.blobs.lock().unwrap().is_empty());
}

#[tokio::test]
async fn blob_is_handed_to_the_backend_and_named() {
    let node = Node::start().await;
    let response = node.request("PUT /blobs", "", "name\nada\n").await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert_eq!(body(&response), json!({ "blob": "0".repeat(64), "bytes": 9 }));
    assert_eq!(node.backend.blobs.lock().unwrap()[0], "name\nada\n");
}

#[tokio::test]
async fn slow_peers_are_cut_off() {
    let limits = Limits { read_timeout: Duration::from_millis(20), ..Limits::NODE };
    let node = Node::with(Access::Open, None, limits).await;
    for part in ["", "POST /rpc HT"] {
        assert_eq!(node.raw(part.as_bytes()).await, "", "closed without a whole head");
    }
    // On a busy machine the head itself may come too late; then nothing is said about the body.
    let mut response = String::new();
    while response.is_empty() {
        response = node.raw(b"POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{").await;
    }
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
}

#[tokio::test]
async fn requests_beyond_the_rate_are_refused_with_a_time() {
    let node = Node::with(Access::Open, None, Limits { rate: rate(2), ..Limits::NODE }).await;
    let mut refused = None;
    for _ in 0..1_000 {
        let response = node.request("GET /healthz", "", "").await;
        if !response.starts_with("HTTP/1.1 200") {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("a thousand requests pass a limit of one per second");
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("retry-after: 1"), "{refused}");
    let error = &body(&refused)["error"];
    assert_eq!(error["code"], ErrorCode::RateLimited.number());
    assert!(error["data"]["retry_after_ms"].as_u64().is_some_and(|ms| ms <= 1_000), "{error}");
}

#[tokio::test]
async fn every_call_of_a_batch_counts_against_the_rate() {
    let node = Node::with(Access::Open, None, Limits { rate: rate(3), ..Limits::NODE }).await;
    let batch = format!("[{}]", vec![GET; 64].join(","));
    let response = node.request("POST /rpc", "", &batch).await;
    assert!(response.starts_with("HTTP/1.1 429"), "{response}");
    assert!(node.backend.methods_called().is_empty());
}

#[tokio::test]
async fn connections_of_one_source_beyond_its_limit_are_closed() {
    let limits = Limits { source_connections_max: 1, ..Limits::NODE };
    let node = Node::with(Access::Open, None, limits).await;
    let mut first = node.connect().await;
    first.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_until(&mut first, "healthy").await;
    let mut second = node.connect().await;
    // It may be closed before or after this is sent.
    let _ = second.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut response = Vec::new();
    let _ = second.read_to_end(&mut response).await;
    assert_eq!(response, b"");
}

#[tokio::test]
async fn stream_has_ids_and_ends_after_the_final_event() {
    let node = Node::start().await;
    node.backend.stream(Script::Stays(vec![event(3, 1), final_event(3, 2)]));
    let response = node.request("GET /events/j", "last-event-id: 2.9\r\n", "").await;
    assert!(response.contains("content-type: text/event-stream"), "{response}");
    assert!(response.contains("id: 3.1\nevent: changed\ndata: {"), "{response}");
    assert!(response.contains("id: 3.2\nevent: finished\ndata: {"), "{response}");
    let opened = node.backend.opened.lock().unwrap().clone();
    assert_eq!(opened, [("j".to_owned(), Some("2.9".parse().unwrap()))]);
}

#[tokio::test]
async fn silent_stream_is_kept_alive_and_ends_with_the_server() {
    let limits = Limits { keep_alive: Duration::from_millis(5), ..Limits::NODE };
    let node = Node::with(Access::Open, None, limits).await;
    node.backend.stream(Script::Stays(vec![event(1, 1)]));
    let mut stream = node.connect().await;
    stream.write_all(b"GET /events/j HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await.unwrap();
    let text = read_until(&mut stream, ": keep-alive\n\n").await;
    assert!(text.contains("id: 1.1\n"), "{text}");
    node.stop().await;
    let rest = read_to_end(&mut stream).await;
    assert!(rest.ends_with("0\r\n\r\n"), "an orderly end: {rest}");
}

#[tokio::test]
async fn stream_that_cannot_be_opened_says_why() {
    let node = Node::start().await;
    let unknown = node.request("GET /events/j", "", "").await;
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    assert_eq!(body(&unknown)["error"]["data"]["reason"], "unknown_job");
    let wrong = node.request("GET /events/j", "last-event-id: seven\r\n", "").await;
    assert!(wrong.starts_with("HTTP/1.1 400"), "{wrong}");
    node.backend.stream(Script::Refuses(RpcError::new(ErrorCode::Moved, "m2 leads the job")));
    assert!(node.request("GET /events/j", "", "").await.starts_with("HTTP/1.1 421"));
}

#[tokio::test]
async fn methods_of_the_node_are_listed() {
    let node = Node::start().await;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"system.methods"}"#;
    let methods = body(&node.request("POST /rpc", "", request).await)["result"]["methods"].clone();
    assert_eq!(methods, json!(Method::NAMES));
    assert_ne!(methods, Value::Null);
}
