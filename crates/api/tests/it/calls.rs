//! The client's calls: leaders are followed, failures repeated where that is harmless, errors explained.

use std::time::Duration;

use hyperscale_api::error::Leader;
use hyperscale_api::method::{CancelJob, RequestId};
use hyperscale_api::{CallError, Client, ErrorCode, Method, RpcError};
use hyperscale_types::{ExitCode, Token};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{Node, PATIENCE, absent, client, options};

fn get() -> Method {
    Method::JobsGet { job: "j".into() }
}

fn moved_to(node: &Node, token: u64) -> RpcError {
    let leader = Leader { node: "m2".into(), http: Some(node.address.to_string()), token: Token(token) };
    RpcError::new(ErrorCode::Moved, "m2 leads the job").leader(&leader)
}

#[tokio::test]
async fn leader_is_followed_and_asked_first_the_next_time() {
    let (one, leader) = (Node::start().await, Node::start().await);
    one.backend.respond(Err(moved_to(&leader, 5)));
    leader.backend.respond(Ok(json!({"token": 5})));
    let client = client(&[one.url()]);
    assert_eq!(client.call::<Value>(&get()).await.unwrap()["token"], 5);
    assert_eq!(client.call::<Value>(&get()).await.unwrap()["echo"], "jobs.get");
    assert_eq!((one.backend.methods_called().len(), leader.backend.methods_called().len()), (1, 2));
}

#[tokio::test]
async fn leader_that_was_replaced_is_not_believed() {
    let (one, other) = (Node::start().await, Node::start().await);
    one.backend.respond(Ok(json!({"token": 9})));
    let client = client(&[one.url(), other.url()]);
    client.call::<Value>(&get()).await.unwrap();
    // A server that is behind responds, and names a leader, with an older token.
    one.backend.respond(Ok(json!({"token": 8})));
    other.backend.respond(Err(moved_to(&one, 8)));
    one.backend.respond(Ok(json!({"token": 10, "fresh": true})));
    assert_eq!(client.call::<Value>(&get()).await.unwrap()["fresh"], true);
    assert_eq!((one.backend.methods_called().len(), other.backend.methods_called().len()), (3, 1));
}

#[tokio::test]
async fn moves_in_a_circle_end() {
    let (one, other) = (Node::start().await, Node::start().await);
    for _ in 0..50 {
        one.backend.respond(Err(moved_to(&other, 5)));
        other.backend.respond(Err(moved_to(&one, 5)));
    }
    let error = client(&[one.url()]).call::<Value>(&get()).await.unwrap_err();
    assert!(matches!(&error, CallError::Refused(error) if error.is(ErrorCode::Moved)), "{error}");
    assert_eq!(error.exit_code(), ExitCode::Unreachable);
}

#[tokio::test]
async fn unreachable_servers_are_passed_over_even_for_what_is_not_repeatable() {
    let node = Node::start().await;
    let client = client(&[absent().await, node.url()]);
    let add = Method::ClusterAdd { node: "m4".into() };
    assert_eq!(client.call::<Value>(&add).await.unwrap()["echo"], "cluster.add");
    assert_eq!(node.backend.methods_called(), [add]);
}

#[tokio::test]
async fn no_server_at_all_is_reported_with_every_name() {
    let urls = [absent().await, absent().await];
    let error = client(&urls).call::<Value>(&get()).await.unwrap_err();
    assert!(urls.iter().all(|url| error.to_string().contains(url.as_str())), "{error}");
    assert_eq!(error.exit_code(), ExitCode::Unreachable);
    assert!(error.fix().contains("HYPERSCALE_SERVER"), "{}", error.fix());
}

#[tokio::test]
async fn quorum_errors_are_tried_at_the_other_servers_and_again() {
    let (one, other) = (Node::start().await, Node::start().await);
    let unavailable = || RpcError::new(ErrorCode::QuorumUnavailable, "1 of 2 needed voters").reach(1, 2);
    for node in [&one, &other] {
        node.backend.respond(Err(unavailable()));
    }
    one.backend.respond(Err(unavailable()));
    let client = client(&[one.url(), other.url()]);
    assert!(client.call::<Value>(&get()).await.is_ok(), "the second round finds a quorum");
    assert_eq!((one.backend.methods_called().len(), other.backend.methods_called().len()), (2, 2));
}

#[tokio::test]
async fn lasting_quorum_error_is_reported_with_its_numbers_after_three_rounds() {
    let node = Node::start().await;
    for _ in 0..3 {
        node.backend.respond(Err(RpcError::new(ErrorCode::QuorumTimeout, "no majority").reach(1, 2)));
    }
    let error = client(&[node.url()]).call::<Value>(&get()).await.unwrap_err();
    let CallError::Refused(refused) = &error else { panic!("{error}") };
    assert_eq!((refused.details().reachable, refused.details().needed), (Some(1), Some(2)));
    assert_eq!((error.exit_code(), node.backend.methods_called().len()), (ExitCode::Refused, 3));
}

#[tokio::test]
async fn refusals_that_stay_are_not_repeated() {
    let node = Node::start().await;
    node.backend.respond(Err(RpcError::new(ErrorCode::UnknownJob, "there is no such job")));
    let error = client(&[node.url()]).job("j").await.unwrap_err();
    assert!(matches!(&error, CallError::Refused(error) if error.is(ErrorCode::UnknownJob)));
    assert_eq!(node.backend.methods_called().len(), 1);
}

/// Reads one request and returns its JSON body.
async fn read_request(stream: &mut TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return body;
        }
        let mut more = [0; 4_096];
        let count = timeout(PATIENCE, stream.read(&mut more)).await.unwrap().unwrap();
        assert_ne!(count, 0, "closed early");
        bytes.extend_from_slice(&more[..count]);
    }
}

/// Accepts a request, loses the response, responds to the repetition; returns both requests.
async fn lose_one_response(listener: TcpListener, result: Value) -> [Value; 2] {
    let (mut first, _) = listener.accept().await.unwrap();
    let lost = read_request(&mut first).await;
    drop(first);
    let (mut second, _) = listener.accept().await.unwrap();
    let repeated = read_request(&mut second).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    second.write_all((head + &body).as_bytes()).await.unwrap();
    [lost, repeated]
}

#[tokio::test]
async fn submission_whose_response_was_lost_is_repeated_under_the_same_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&[format!("http://{}", listener.local_addr().unwrap())]);
    let submitted =
        json!({"job": "j", "status": "queued", "token": 3, "job_leader": "m1", "queue_position": 0});
    let submission = hyperscale_api::method::Submit::new("p.yaml", "workflows: {}");
    let (requests, response) =
        tokio::join!(lose_one_response(listener, submitted), client.submit(submission));
    assert_eq!(response.unwrap().token, Some(Token(3)));
    let [lost, repeated] = requests.map(|request| request["params"]["idempotency_key"].clone());
    assert!(lost.as_str().is_some_and(|key| key.len() == 32), "{lost}");
    assert_eq!(lost, repeated);
}

#[tokio::test]
async fn cancel_keeps_the_request_id_of_its_caller() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&[format!("http://{}", listener.local_addr().unwrap())]);
    let id: RequestId = "cancel-7".parse().unwrap();
    let cancel = CancelJob { request_id: Some(id), reason: "wrong plan".into(), ..CancelJob::of("j") };
    let response = json!({"job": "j", "status": "requested"});
    let (requests, response) = tokio::join!(lose_one_response(listener, response), client.cancel_job(cancel));
    assert_eq!(response.unwrap().job, "j");
    for request in requests {
        assert_eq!(request["params"]["request_id"], "cancel-7");
    }
}

#[tokio::test]
async fn request_that_is_not_repeatable_is_not_sent_twice() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&[format!("http://{}", listener.local_addr().unwrap())]);
    let losing = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        drop(stream);
    };
    let remove = Method::ClusterRemove { node: "m1".into() };
    let ((), error) = tokio::join!(losing, client.call::<Value>(&remove));
    let error = error.unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error}");
    assert_eq!(error.exit_code(), ExitCode::Unreachable);
}

#[tokio::test]
async fn server_that_never_responds_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut options = options(&[format!("http://{}", listener.local_addr().unwrap())]);
    (options.timing.call, options.timing.rounds) = (Duration::from_millis(20), 2);
    let error = Client::new(options).unwrap().call::<Value>(&get()).await.unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error}");
}
