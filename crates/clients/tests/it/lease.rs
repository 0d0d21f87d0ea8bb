//! The lease in the write path: a process that was stopped for longer than its lease sends nothing when it wakes.

use std::env;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hyperscale_clients::http::Session;
use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_clients::network::{MemoryNetwork, Network};
use hyperscale_clients::{ClientOptions, Outcome, Protocol as _, clock};
use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Body, HttpVersion, Reuse};
use hyperscale_target::{Options, Running, Target};
use hyperscale_types::ErrorKind;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::{JoinSet, LocalSet};

use super::support::{Client, get, ok};

/// Tells the process that sends where to.
const TARGET: &str = "HYPERSCALE_TEST_LEASE_TARGET";
/// How long it may send. Much longer than starting it takes, for it is stopped within.
const LEASE: Duration = Duration::from_secs(3);
/// Requests after which all kinds of senders are at work.
const WARM: u64 = 500;
/// Virtual users of each kind.
const SENDERS: usize = 8;
/// Bytes of a body that the kernel does not take at once.
const LARGE: usize = 8 << 20;
/// Bytes of a body that HTTP/2 lets a client send before it is asked for more.
const WINDOW: usize = (64 << 10) - 1;

fn cancelled(outcome: &Outcome) -> bool {
    outcome.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Cancelled)
}

/// A client on sockets, and its lease.
fn client(lease: LeaseDeadline) -> (Client, LeaseDeadline) {
    (Client::with(Network::System, ClientOptions { seed: 7, lease: lease.clone() }), lease)
}

/// Requests of all the ways in which one can leave: kept and new connections, hops, streams, large bodies.
fn requests(target: &str) -> Vec<HttpRequest> {
    let kept = get(&format!("http://{target}/kept"));
    let mut new = get(&format!("http://{target}/new"));
    new.transport.reuse = Reuse::Call;
    let hops = get(&format!("http://{target}/redirect/3"));
    let mut streams = get(&format!("http://{target}/streams"));
    streams.transport.version = HttpVersion::Http2;
    let mut shared = streams.clone();
    shared.transport.connections = Some(1);
    vec![kept, new, hops, streams, shared, upload(target)]
}

/// The process that is stopped. Ends when every sender was refused.
#[test]
fn sender() {
    let Ok(target) = env::var(TARGET) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = Rc::new(client(LeaseDeadline::lasting(LEASE)).0);
    LocalSet::new().block_on(&runtime, async {
        let mut senders = JoinSet::new();
        for request in requests(&target) {
            for _ in 0..SENDERS {
                let (client, request) = (Rc::clone(&client), request.clone());
                senders.spawn_local(async move {
                    let prepared = client.prepare(&request).await;
                    let session = Session::new();
                    loop {
                        let call = client.http.call(&session, &prepared, &client.scope, &client.progress);
                        if cancelled(&call.await) {
                            return;
                        }
                    }
                });
            }
        }
        while senders.join_next().await.is_some() {}
    });
}

struct Sender(Child);

impl Sender {
    fn start(target: &Running) -> Self {
        let child = Command::new(env::current_exe().expect("a test has a program"))
            .args(["lease::sender", "--exact"])
            .env(TARGET, target.handle().listen().to_string())
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        Sender(child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it lives");
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Asks again and again, for at most half a minute.
fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{what} within half a minute");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_process_stopped_for_longer_than_its_lease_sends_at_most_one_request_per_core_when_it_wakes() {
    let target = Target::bind(Options::new(([127, 0, 0, 1], 0).into())).expect("a free port");
    let target = target.spawn().expect("a thread");
    let count = || target.handle().stats().requests;
    let begin = Instant::now();
    let mut sender = Sender::start(&target);
    wait_for("the sender is at work", || (count() > WARM).then_some(()));
    sender.signal(Signal::STOP);
    assert!(begin.elapsed() < LEASE, "it was stopped within its lease");
    // What it has handed to the kernel arrives; then its lease runs out.
    let after = begin.elapsed() + LEASE;
    wait_for("the lease is over", || (begin.elapsed() > after).then_some(()));
    let before = count();
    sender.signal(Signal::CONT);
    let ended = wait_for("every sender is refused", || sender.0.try_wait().expect("it can be asked"));
    assert!(ended.success());
    let woken = count() - before;
    assert!(woken <= 1, "{woken} requests of one core after it woke up");
}

#[tokio::test]
async fn every_way_to_send_is_refused_after_the_lease() {
    let target = Target::bind(Options::new(([127, 0, 0, 1], 0).into())).expect("a free port");
    let target = target.spawn().expect("a thread");
    let address = target.handle().listen().to_string();
    LocalSet::new()
        .run_until(async {
            for request in requests(&address) {
                let (client, lease) = client(LeaseDeadline::none());
                let prepared = client.prepare(&request).await;
                assert_eq!(client.call(&prepared).await.error, None);
                let before = (target.handle().stats().requests, client.progress.bytes_sent());
                lease.set(clock::now());
                let refused = client.call(&prepared).await;
                assert!(cancelled(&refused) && !refused.answered, "{:?}", refused.error);
                assert_eq!((target.handle().stats().requests, client.progress.bytes_sent()), before);
                lease.set(clock::now().plus(LEASE));
                assert_eq!(client.call(&prepared).await.error, None, "renewed");
            }
        })
        .await;
}

#[tokio::test]
async fn a_redirect_that_comes_after_the_lease_is_not_followed() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (client, lease) = client(LeaseDeadline::none());
    let prepared = client.prepare(&get(&format!("http://{address}/"))).await;
    let serve = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut request).await.expect("a request");
        }
        lease.set(clock::now());
        let found = b"HTTP/1.1 302 Found\r\nlocation: /next\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(found).await.expect("the client reads");
        let mut more = Vec::new();
        stream.read_to_end(&mut more).await.expect("the client closes");
        more.len()
    };
    let call = async {
        let outcome = client.call(&prepared).await;
        drop(client); // its idle connections too
        (cancelled(&outcome), outcome.status)
    };
    assert_eq!(tokio::join!(call, serve), ((true, Some(302)), 0));
}

/// `POST` of a body that neither the kernel nor a window takes at once.
fn upload(target: &str) -> HttpRequest {
    let mut upload = get(&format!("http://{target}/large"));
    "POST".clone_into(&mut upload.method);
    upload.body = Body::Bytes(Arc::from(vec![b'x'; LARGE]));
    upload
}

#[tokio::test]
async fn an_upload_that_had_to_wait_does_not_go_on_after_the_lease() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let (client, lease) = client(LeaseDeadline::none());
    let prepared = client.prepare(&upload(&listener.local_addr().expect("it is bound").to_string())).await;
    let serve = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        // Polled after the call, which by now has filled the buffers of the kernel.
        tokio::task::yield_now().await;
        lease.set(clock::now());
        let mut came = Vec::new();
        stream.read_to_end(&mut came).await.map_or(came.len(), |_| came.len())
    };
    let (outcome, came) = tokio::join!(client.call(&prepared), serve);
    assert!(cancelled(&outcome), "{:?}", outcome.error);
    assert!(came < LARGE, "all {came} bytes came");
    assert_eq!(client.progress.bytes_sent(), came as u64);
}

#[tokio::test]
async fn a_stream_that_had_to_wait_does_not_go_on_after_the_lease() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let (client, lease) = client(LeaseDeadline::none());
    let mut upload = upload(&listener.local_addr().expect("it is bound").to_string());
    upload.transport.version = HttpVersion::Http2;
    let prepared = client.prepare(&upload).await;
    let serve = async {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut connection = h2::server::handshake(stream).await.expect("it speaks HTTP/2");
        let (request, _respond) = connection.accept().await.expect("a request").expect("a request");
        let mut body = request.into_body();
        let read = async {
            let mut came = 0;
            while let Some(Ok(bytes)) = body.data().await {
                came += bytes.len();
                if came >= WINDOW {
                    // The client waits for this window: whatever it writes from now on comes too late.
                    lease.set(clock::now());
                    body.flow_control().release_capacity(came).expect("it came");
                }
            }
            came
        };
        let drive = async { while connection.accept().await.is_some() {} };
        tokio::join!(read, drive).0
    };
    let run = LocalSet::new();
    let (outcome, came) = run.run_until(async { tokio::join!(client.call(&prepared), serve) }).await;
    assert!(cancelled(&outcome), "{:?}", outcome.error);
    assert_eq!(came, WINDOW);
}

#[tokio::test]
async fn a_call_within_the_lease_is_not_touched() {
    let network = MemoryNetwork::answering(ok("x"));
    let options = ClientOptions { seed: 7, lease: LeaseDeadline::lasting(Duration::from_hours(1)) };
    let outcome = Client::with(network, options).once(&get("http://x/")).await;
    assert_eq!((outcome.error, outcome.answered), (None, true));
}
