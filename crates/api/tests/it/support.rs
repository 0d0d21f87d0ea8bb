//! A node with a scripted backend on a real TCP socket, and raw requests to it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_api::client::Timing;
use hyperscale_api::event::EventKind;
use hyperscale_api::method::BlobHash;
use hyperscale_api::response::StoredBlob;
use hyperscale_api::rpc::{Id, write_response};
use hyperscale_api::server::RateLimit;
use hyperscale_api::{
    A2aCall, Access, ApiToken, Backend, Caller, Client, ClientOptions, ErrorCode, EventFrame, EventId,
    JobEvent, Limits, Listener, Method, Readiness, RpcError, Server, ServerTls,
};
use hyperscale_stats::result::Status;
use hyperscale_types::Token;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Longest time anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// Events that a scripted stream can hold.
const EVENTS_MAX: usize = 64;
/// A token as a user would choose it.
pub(crate) const TOKEN: &str = "correct-horse-battery-staple";

/// What a scripted backend does when a stream is opened.
pub(crate) enum Script {
    /// Sends these and ends the stream.
    Ends(Vec<JobEvent>),
    /// Sends these and keeps the stream open.
    Stays(Vec<JobEvent>),
    /// Refuses it.
    Refuses(RpcError),
}

/// Records what it is asked for and responds as scripted; without a script it echoes.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) calls: Mutex<Vec<(Caller, Method)>>,
    pub(crate) responses: Mutex<VecDeque<Result<Value, RpcError>>>,
    pub(crate) streams: Mutex<VecDeque<Script>>,
    pub(crate) opened: Mutex<Vec<(String, Option<EventId>)>>,
    pub(crate) blobs: Mutex<Vec<Bytes>>,
    pub(crate) not_ready: Mutex<Option<String>>,
    /// Whether it is an agent; the calls of A2A that it was asked for.
    pub(crate) is_agent: AtomicBool,
    pub(crate) asked: Mutex<Vec<A2aCall>>,
    kept: Mutex<Vec<mpsc::Sender<EventFrame>>>,
}

impl Scripted {
    pub(crate) fn respond(&self, response: Result<Value, RpcError>) {
        self.responses.lock().unwrap().push_back(response);
    }

    pub(crate) fn stream(&self, script: Script) {
        self.streams.lock().unwrap().push_back(script);
    }

    pub(crate) fn methods_called(&self) -> Vec<Method> {
        self.calls.lock().unwrap().iter().map(|(_, method)| method.clone()).collect()
    }

    pub(crate) fn opened_after(&self) -> Vec<Option<EventId>> {
        self.opened.lock().unwrap().iter().map(|(_, after)| *after).collect()
    }
}

impl Backend for Scripted {
    fn methods(&self) -> &'static [&'static str] {
        &Method::NAMES
    }

    async fn call(&self, caller: &Caller, method: Method) -> Result<Value, RpcError> {
        let name = method.name();
        self.calls.lock().unwrap().push((*caller, method));
        self.responses.lock().unwrap().pop_front().unwrap_or_else(|| Ok(json!({ "echo": name })))
    }

    async fn events(
        &self,
        _: &Caller,
        job: String,
        after: Option<EventId>,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        self.opened.lock().unwrap().push((job, after));
        let script = self.streams.lock().unwrap().pop_front();
        let (events, stays) = match script {
            None => return Err(RpcError::new(ErrorCode::UnknownJob, "there is no such job")),
            Some(Script::Refuses(error)) => return Err(error),
            Some(Script::Ends(events)) => (events, false),
            Some(Script::Stays(events)) => (events, true),
        };
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        for event in &events {
            sender.try_send(event.into()).unwrap();
        }
        if stays {
            self.kept.lock().unwrap().push(sender);
        }
        Ok(receiver)
    }

    fn is_agent(&self) -> bool {
        self.is_agent.load(Ordering::SeqCst)
    }

    fn agent_card(&self, url: &str, needs_token: bool) -> Value {
        json!({ "url": url, "needs_token": needs_token })
    }

    async fn a2a(&self, _: &Caller, call: A2aCall, hold_max: Duration) -> Result<Value, RpcError> {
        self.asked.lock().unwrap().push(call);
        let echo = || Ok(json!({ "hold_max": hold_max.as_secs() }));
        self.responses.lock().unwrap().pop_front().unwrap_or_else(echo)
    }

    async fn a2a_stream(
        &self,
        _: &Caller,
        call: A2aCall,
        id: Id,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        self.asked.lock().unwrap().push(call);
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        let mut responses = self.responses.lock().unwrap();
        while let Some(response) = responses.pop_front() {
            let response = write_response(&id, Ok(response?));
            sender.try_send(EventFrame::response(&response, responses.is_empty())).unwrap();
        }
        Ok(receiver)
    }

    async fn blob(&self, _: &Caller, bytes: Bytes) -> Result<StoredBlob, RpcError> {
        let mut blobs = self.blobs.lock().unwrap();
        let stored = StoredBlob { blob: BlobHash([blobs.len() as u8; 32]), bytes: bytes.len() as u64 };
        blobs.push(bytes);
        Ok(stored)
    }

    async fn readiness(&self) -> Readiness {
        self.not_ready.lock().unwrap().clone().map_or(Readiness::Ready, Readiness::NotReady)
    }

    async fn metrics(&self) -> String {
        "# TYPE hyperscale_api_requests_total counter\nhyperscale_api_requests_total 7\n".to_owned()
    }
}

/// An event of job `j` at this place.
pub(crate) fn event(token: u64, sequence: u64) -> JobEvent {
    let id = EventId { token: Token(token), sequence };
    JobEvent::note("j", id, EventKind::Changed, Status::Running, "something happened")
}

/// The last event of job `j`.
pub(crate) fn final_event(token: u64, sequence: u64) -> JobEvent {
    let id = EventId { token: Token(token), sequence };
    JobEvent::note("j", id, EventKind::Finished, Status::Completed, "")
}

pub(crate) fn token() -> ApiToken {
    TOKEN.parse().unwrap()
}

/// As many requests at once, then one per second.
pub(crate) fn rate(burst: u32) -> RateLimit {
    RateLimit { per_second: NonZeroU32::new(1).unwrap(), burst: NonZeroU32::new(burst).unwrap() }
}

/// A server with a scripted backend, stopped with its owner.
pub(crate) struct Node {
    pub(crate) backend: Arc<Scripted>,
    pub(crate) address: SocketAddr,
    stop: watch::Sender<bool>,
    server: JoinSet<()>,
}

impl Node {
    pub(crate) async fn start() -> Self {
        Self::with(Access::Open, None, Limits::NODE).await
    }

    pub(crate) async fn with(access: Access, tls: Option<ServerTls>, limits: Limits) -> Self {
        let listener = Listener::tcp("127.0.0.1:0".parse().unwrap(), access, tls).await.unwrap();
        let address = listener.address().unwrap();
        let backend = Arc::new(Scripted::default());
        let (stop, stopped) = watch::channel(false);
        let mut server = JoinSet::new();
        server.spawn(Server { listener, backend: Arc::clone(&backend), limits }.run(stopped));
        Self { backend, address, stop, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops and waits for the end.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        timeout(PATIENCE, self.server.join_next()).await.unwrap();
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these bytes and returns everything that comes back until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        read_to_end(&mut stream).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn request(&self, line: &str, headers: &str, body: &str) -> String {
        let head = format!("{line} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}", self.address);
        self.raw(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await
    }
}

/// Everything until the peer closes.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut response)).await.unwrap().unwrap();
    String::from_utf8(response).unwrap()
}

/// Reads until this text has come.
pub(crate) async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    while !text.contains(wanted) {
        let mut bytes = [0; 4_096];
        let count = timeout(PATIENCE, stream.read(&mut bytes)).await.unwrap().unwrap();
        assert_ne!(count, 0, "closed before {wanted:?}: {text}");
        text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    text
}

/// The JSON body of a raw response.
pub(crate) fn body(response: &str) -> Value {
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Times for tests: failures are noticed and repeated quickly.
pub(crate) fn quick() -> Timing {
    Timing {
        pause_min: Duration::from_millis(1),
        pause_max: Duration::from_millis(5),
        orphaned: PATIENCE,
        ..Timing::default()
    }
}

/// A client of these servers.
pub(crate) fn client(urls: &[String]) -> Client {
    Client::new(options(urls)).unwrap()
}

pub(crate) fn options(urls: &[String]) -> ClientOptions {
    let servers = urls.join(",").parse().unwrap();
    ClientOptions { timing: quick(), seed: Some(7), ..ClientOptions::new(servers) }
}

/// A URL at which nothing listens.
pub(crate) async fn absent() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
