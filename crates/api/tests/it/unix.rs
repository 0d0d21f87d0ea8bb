//! The server of a local run: requests as our client and as strangers send them; limits; the end of a server.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hyperscale_api::method::{CancelJob, Page};
use hyperscale_api::server::BODY_MAX;
use hyperscale_api::{
    Backend, CallError, Caller, Client, ErrorCode, Folder, Limits, Listener, Method, RpcError, Server, folder,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};

/// Longest time anything may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Responds to methods; holds responses to `jobs.cancel` back until it is let go.
#[derive(Default)]
struct Echo {
    asked: AtomicUsize,
    held: Notify,
    go: Notify,
}

impl Backend for Echo {
    fn methods(&self) -> &'static [&'static str] {
        &["jobs.list", "jobs.get", "jobs.cancel"]
    }

    async fn call(&self, caller: &Caller, method: Method) -> Result<Value, RpcError> {
        assert!(caller.is_authenticated, "by its user");
        self.asked.fetch_add(1, Ordering::SeqCst);
        match method {
            Method::JobsGet { job } => Ok(json!({ "job": job })),
            Method::JobsCancel(_) => {
                self.held.notify_one();
                self.go.notified().await;
                Ok(json!("let go"))
            }
            other => Err(RpcError::refused(other.name(), "busy", "wait")),
        }
    }
}

/// A server on a thread of its own, stopped and joined with its owner.
struct Serving {
    _home: TempDir,
    socket: PathBuf,
    backend: Arc<Echo>,
    stop: watch::Sender<bool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Serving {
    fn start(user: u32) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("f");
        let folder = Folder::make(&path, folder::user()).unwrap();
        let backend = Arc::new(Echo::default());
        let (stop, stopped) = watch::channel(false);
        let responding = Arc::clone(&backend);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            runtime().block_on(async {
                let (listener, socket) = folder.listen("run-1").unwrap();
                ready.send(()).unwrap();
                let listener = Listener::unix(listener, user);
                Server { listener, backend: responding, limits: Limits::LOCAL }.run(stopped).await;
                drop(socket);
            });
        });
        is_ready.recv_timeout(PATIENCE).unwrap();
        Self { _home: home, socket: path.join("run-1.sock"), backend, stop, thread: Some(thread) }
    }

    /// Sends these bytes and returns everything that comes back.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn connect(&self) -> UnixStream {
        connect(&self.socket)
    }

    fn post(&self, body: &str) -> String {
        self.raw(request("POST /rpc", body).as_bytes())
    }

    fn call(&self, method: &Method) -> Result<Value, CallError> {
        runtime().block_on(Client::unix(&self.socket).call(method))
    }

    fn stop(&mut self) {
        self.stop.send_replace(true);
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn request(line: &str, body: &str) -> String {
    let length = body.len();
    format!("{line} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

const GET: &str = r#"{"jsonrpc":"2.0","id":1,"method":"jobs.get","params":{"job":"run-1"}}"#;

fn cancel() -> Method {
    Method::JobsCancel(CancelJob::of("run-1"))
}

#[test]
fn client_gets_results_and_refusals() {
    let serving = Serving::start(folder::user());
    let methods = json!({"methods": ["jobs.cancel", "jobs.get", "jobs.list", "system.methods"]});
    assert_eq!(serving.call(&Method::SystemMethods).unwrap(), methods);
    let Err(CallError::Refused(error)) = serving.call(&Method::JobsList(Page::default())) else {
        panic!("not refused")
    };
    assert_eq!(
        (error.kind(), error.detail("reason"), error.detail("fix")),
        (Some(ErrorCode::Refused), Some("busy"), Some("wait"))
    );
    let Err(CallError::Refused(error)) = serving.call(&Method::ClusterStatus) else { panic!("not refused") };
    assert!(error.is(ErrorCode::MethodNotFound), "a local run is no cluster");
}

#[test]
fn client_tells_an_absent_run_from_a_malformed_response() {
    let home = tempfile::tempdir().unwrap();
    let absent = runtime().block_on(Client::unix(&home.path().join("x")).call::<Value>(&cancel()));
    assert!(matches!(absent, Err(CallError::Unreachable { .. })), "{absent:?}");
    let serving = Serving::start(folder::user());
    let malformed = runtime().block_on(Client::unix(&serving.socket).call::<u8>(&Method::SystemMethods));
    assert!(matches!(malformed, Err(CallError::Malformed(_))), "{malformed:?}");
}

#[test]
fn batches_get_one_response_and_notifications_none() {
    let serving = Serving::start(folder::user());
    let notification = r#"{"jsonrpc":"2.0","method":"jobs.get","params":{"job":"run-2"}}"#;
    let response = serving.post(&format!("[{GET},{notification},7]"));
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
    let responses: Vec<Value> = serde_json::from_str(body).unwrap();
    assert_eq!(responses.len(), 2, "{responses:?}");
    assert_eq!(
        (&responses[0]["result"]["job"], &responses[1]["error"]["code"]),
        (&json!("run-1"), &json!(-32600))
    );
    assert!(serving.post(notification).starts_with("HTTP/1.1 204"));
    assert_eq!(serving.backend.asked.load(Ordering::SeqCst), 3, "notifications are carried out");
}

#[test]
fn other_paths_methods_and_sizes_are_refused() {
    let serving = Serving::start(folder::user());
    assert!(serving.raw(request("POST /other", GET).as_bytes()).starts_with("HTTP/1.1 404"));
    assert!(serving.raw(request("GET /rpc", "").as_bytes()).starts_with("HTTP/1.1 405"));
    let large = format!("POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", BODY_MAX + 1);
    assert!(serving.raw(large.as_bytes()).starts_with("HTTP/1.1 413"));
    // No byte more than it takes: what is sent after the response would reset the connection.
    let chunk = format!("{:x}\r\n{}", BODY_MAX + 1, " ".repeat(BODY_MAX + 1));
    let chunked = format!("POST /rpc HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{chunk}");
    assert!(serving.raw(chunked.as_bytes()).starts_with("HTTP/1.1 413"));
    assert_eq!(serving.backend.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn other_users_get_no_response() {
    let serving = Serving::start(folder::user() + 1);
    let lost = serving.call(&cancel());
    assert!(matches!(lost, Err(CallError::Lost(_))), "{lost:?}");
    assert_eq!(serving.backend.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn connections_beyond_the_limit_wait_for_their_turn() {
    let serving = Serving::start(folder::user());
    // Each of them gets one response, so that it has been accepted, and kept.
    let kept: Vec<UnixStream> = (0..16).map(|_| served(&serving)).collect();
    let mut waiting = serving.connect();
    waiting.write_all(request("POST /rpc", GET).as_bytes()).unwrap();
    drop(kept);
    let mut response = String::new();
    waiting.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

fn served(serving: &Serving) -> UnixStream {
    let mut stream = serving.connect();
    write!(stream, "POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{GET}", GET.len()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

#[test]
fn stopping_finishes_responses_under_way_and_removes_the_socket() {
    let mut serving = Serving::start(folder::user());
    let (socket, backend) = (serving.socket.clone(), Arc::clone(&serving.backend));
    let asking = thread::spawn(move || runtime().block_on(Client::unix(&socket).call::<Value>(&cancel())));
    runtime().block_on(backend.held.notified());
    serving.stop.send_replace(true);
    serving.backend.go.notify_one();
    assert_eq!(asking.join().unwrap().unwrap(), json!("let go"));
    serving.stop();
    assert!(!serving.socket.exists());
}
