//! `http` and `webhook` against a server that writes down what it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hyperscale_tasks::domain::{NodeProfile, Status, TaskSpec, TreeSpec, effect_key};
use hyperscale_tasks::runtime::Executors;
use hyperscale_tasks::runtime::executors::{Http, Webhook};
use hyperscale_tasks::store::Claim;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::Node;
use crate::support::{World, boot, claim, profile};

/// A request as it came.
#[derive(Clone, Debug)]
struct Seen {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

/// Answers by path; the first request to `/flaky` is refused with 503.
struct Peer {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _server: JoinSet<()>,
}

impl Peer {
    async fn start(tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (mut server, log) = (JoinSet::new(), seen.clone());
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (log, tls) = (log.clone(), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, &log).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &log).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, seen, _server: server }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, log: &Mutex<Vec<Seen>>) {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        stream.read_buf(&mut bytes).await.unwrap();
    }
    let body = String::from_utf8(bytes[end..].to_vec()).unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let response = {
        let mut log = log.lock().unwrap();
        let is_first = !log.iter().any(|seen| seen.line == line);
        let authorization = headers.get("authorization").cloned().unwrap_or_default();
        log.push(Seen { line, headers, body });
        match path.as_str() {
            "/flaky" if is_first => "HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy".to_owned(),
            "/gone" => "HTTP/1.1 404 Not Found\r\ncontent-length: 7\r\n\r\nno such".to_owned(),
            "/cut" if is_first => String::new(),
            "/echo" => format!("HTTP/1.1 401 No\r\ncontent-length: {}\r\n\r\n{authorization}", authorization.len()),
            "/big" => format!("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{}", "x".repeat(1_000_000)),
            "/slow" => std::iter::empty::<char>().collect(),
            _ => "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: id=hidden\r\ncontent-length: 8\r\n\r\n{\"a\": 1}".to_owned(),
        }
    };
    if path == "/slow" {
        std::future::pending::<()>().await;
    }
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn executors() -> Executors {
    Executors::default().with(Http::system()).with(Webhook::system())
}

#[tokio::test]
async fn response_is_the_result_and_the_effect_key_is_sent() {
    let (peer, node) = (Peer::start(None).await, Node::start(executors()).await);
    let inputs =
        json!({"url": peer.url("/x?y=1"), "method": "PUT", "json": {"b": 2}, "headers": {"x-mine": "1"}});
    let task = node.run("http", inputs).await;
    let result = task.result.unwrap();
    assert_eq!((&result["status"], &result["body"]), (&json!(200), &json!({"a": 1})));
    assert_eq!(result["headers"]["set-cookie"], json!("***"));
    let seen = peer.seen().remove(0);
    assert_eq!((seen.line.as_str(), seen.body.as_str()), ("PUT /x?y=1 HTTP/1.1", r#"{"b":2}"#));
    assert_eq!(seen.headers["idempotency-key"], effect_key(task.id, "request"));
    assert_eq!(
        (seen.headers["content-type"].as_str(), seen.headers["x-mine"].as_str()),
        ("application/json", "1")
    );
}

#[tokio::test]
async fn what_may_pass_is_retried_with_the_same_key_and_the_rest_is_not() {
    let (peer, node) = (Peer::start(None).await, Node::start(executors()).await);
    for path in ["/flaky", "/cut"] {
        let task = node.run("http", json!({"url": peer.url(path)})).await;
        assert_eq!((task.status, task.attempt), (Status::Completed, 2), "{path}");
    }
    let keys: Vec<String> = peer.seen().iter().map(|seen| seen.headers["idempotency-key"].clone()).collect();
    assert!(keys.len() == 4 && keys[0] == keys[1] && keys[2] == keys[3], "{keys:?}");
    let task = node.run("http", json!({"url": peer.url("/gone")})).await;
    assert_eq!((task.status, task.attempt), (Status::Failed, 1));
    let error = task.error.unwrap();
    assert!(error.ends_with("/gone: status 404 (Not Found), expected 200-299: no such"), "{error}");
    assert_eq!(
        node.run("http", json!({"url": peer.url("/gone"), "expect": [404]})).await.status,
        Status::Completed
    );
    let task = node.run("http", json!({"url": "http://127.0.0.1:1/"})).await;
    assert_eq!((task.status, task.attempt), (Status::Failed, 3));
}

#[tokio::test]
async fn long_bodies_are_cut_and_slow_responses_are_not_waited_for() {
    let (peer, node) = (Peer::start(None).await, Node::start(executors()).await);
    let result = node.run("http", json!({"url": peer.url("/big")})).await.result.unwrap();
    assert_eq!((result["body"].as_str().unwrap().len(), &result["truncated"]), (256 << 10, &json!(true)));
    let task = node.run("http", json!({"url": peer.url("/slow"), "timeout": 0.1})).await;
    assert!(task.error.unwrap().ends_with("no response within 100ms"));
    let task = node.submit("http", json!({"url": peer.url("/slow")})).await;
    node.when(task, |task| task.status == Status::InProgress).await;
    assert!(node.world.store.cancel(task).await.unwrap());
    assert_eq!(node.ended(task).await.status, Status::Cancelled);
}

#[tokio::test]
async fn secrets_of_requests_are_stored_nowhere() {
    let (peer, node) = (Peer::start(None).await, Node::start(executors()).await);
    let url = peer.url("/echo").replace("http://", "http://me:hidden-1@");
    let with_header = json!({"url": peer.url("/echo"), "headers": {"Authorization": "Bearer hidden-2"}});
    for inputs in [
        json!({"url": url}),
        with_header.clone(),
        json!({"expect": 401, "url": with_header["url"], "headers": with_header["headers"]}),
    ] {
        let task = node.run("http", inputs).await;
        let all = node.everything(task.id).await;
        assert!(!all.contains("hidden"), "{all}");
    }
    let sent: Vec<String> = peer.seen().iter().map(|seen| seen.headers["authorization"].clone()).collect();
    assert_eq!(sent[1], "Bearer hidden-2");
    assert!(sent[0].starts_with("Basic "));
}

/// The node that sent it dies after the response: its effect is known, its task is not completed.
#[tokio::test]
async fn webhook_is_not_sent_again_after_it_succeeded() {
    let peer = Peer::start(None).await;
    let world = World::live_sqlite().await;
    let inputs = json!({"url": peer.url("/hook"), "body": "hi"});
    let tree =
        executors().prepare(TreeSpec::single(TaskSpec::new("one", "webhook", inputs.clone()))).unwrap();
    let task = world.store.submit(tree).await.unwrap().tree;
    let node = NodeProfile { executors: executors().names(), ..profile("dead") };
    let claim = Claim { node, ..claim("dead", boot(1), 1) };
    let held = world.store.claim(&claim).await.unwrap()[0].held;
    let key = effect_key(task, "request");
    world.store.begin_effect(&key, held).await.unwrap();
    world.store.finish_effect(&key, held, json!({"status": 200, "kept": true})).await.unwrap();
    world.store.release(&[held]).await.unwrap();
    let node = Node::start_on(world, executors()).await;
    assert_eq!(node.ended(task).await.result, Some(json!({"status": 200, "kept": true})));
    assert!(peer.seen().is_empty());
    let task = node.run("webhook", inputs).await;
    assert_eq!((task.result.unwrap()["status"].clone(), peer.seen().len()), (json!(200), 1));
    assert_eq!(peer.seen()[0].line, "POST /hook HTTP/1.1");
}

#[tokio::test]
async fn certificates_are_checked() {
    let authority = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(authority.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![authority.cert.der().clone()], key)
        .unwrap();
    let peer = Peer::start(Some(Arc::new(config).into())).await;
    let trusting = Http::with_authorities(authority.cert.pem().as_bytes()).unwrap();
    let url = format!("https://{}/x", peer.address);
    let node = Node::start(Executors::default().with(trusting)).await;
    assert_eq!(node.run("http", json!({"url": url})).await.status, Status::Completed);
    let node = Node::start(Executors::default().with(Http::system())).await;
    let error = node.run("http", json!({"url": url})).await.error.unwrap();
    assert!(error.contains("TLS: invalid peer certificate"), "{error}");
}
