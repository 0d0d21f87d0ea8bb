//! Requests that provably were not processed are sent again if the plan says so, and no others are.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use hyperscale_clients::Outcome;
use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::Unprocessed::{GoAway, RefusedStream, Stale};
use hyperscale_plan::model::http::{Auth, Body, HttpVersion, Retry, Unprocessed};
use hyperscale_types::ErrorKind;
use rustls::{ServerConnection, StreamOwned};
use tokio::task::LocalSet;

use super::support::{Act, Client, Server, answer, body, get, moved, ok, template, tls_server};

const EVERY: [Unprocessed; 3] = [GoAway, RefusedStream, Stale];

fn retrying(url: &str, on: &[Unprocessed], max: u32) -> HttpRequest {
    HttpRequest { retry: Some(Retry { on: on.to_vec(), max }), ..get(url) }
}

fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.error.as_ref().map(|error| error.kind)
}

/// What a server reads and writes, encrypted or not.
trait Pipe: Read + Write {}

impl<T: Read + Write> Pipe for T {}

/// How a connection of a server is made from its socket.
type Accept = Box<dyn Fn(TcpStream) -> Box<dyn Pipe> + Send>;

/// A server on a thread of its own: the client's runtime does not see it close a connection until it waits.
struct Closing {
    scheme: &'static str,
    address: SocketAddr,
    /// Lets it close the connection whose responses are over.
    close: Sender<()>,
    closed: Receiver<()>,
    seen: JoinHandle<Vec<Vec<String>>>,
}

impl Closing {
    /// Responses per connection, in the order in which connections come; after its last one a connection is closed when
    /// the test says so.
    fn start(connections: Vec<Vec<String>>) -> Self {
        Self::start_with("http", Box::new(|stream| Box::new(stream)), connections)
    }

    /// The same over TLS. Connections are closed without an alert, as by a server that is killed.
    fn start_tls(connections: Vec<Vec<String>>) -> Self {
        let config = tls_server();
        let accept = move |stream| -> Box<dyn Pipe> {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a valid configuration");
            Box::new(StreamOwned::new(session, stream))
        };
        Self::start_with("https", Box::new(accept), connections)
    }

    fn start_with(scheme: &'static str, accept: Accept, connections: Vec<Vec<String>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let ((close, may_close), (tell, closed)) = (mpsc::channel(), mpsc::channel());
        let seen = thread::spawn(move || {
            let serve = |responses: Vec<String>| {
                let mut stream = accept(listener.accept().expect("a connection").0);
                let mut seen = Vec::new();
                for response in responses {
                    seen.push(read_request(&mut *stream));
                    stream.write_all(response.as_bytes()).expect("the client reads");
                    stream.flush().expect("the client reads");
                }
                let _test_is_over = may_close.recv();
                drop(stream);
                let _nobody_waits = tell.send(());
                seen
            };
            connections.into_iter().map(serve).collect()
        });
        Closing { scheme, address, close, closed, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// Closes a connection while the runtime is blocked, so that the client finds out only by using it.
    fn close(&self) {
        self.close.send(()).expect("it runs");
        self.closed.recv().expect("it closes a connection");
    }

    fn requests(self) -> Vec<Vec<String>> {
        drop(self.close);
        self.seen.join().expect("the server ran")
    }
}

fn read_request(stream: &mut dyn Pipe) -> String {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if bytes.len() >= end + 4 + length.map_or(0, |text| text.parse().expect("a length")) {
                return String::from_utf8(bytes).expect("a text");
            }
        }
        let mut part = [0; 4096];
        let read = stream.read(&mut part).expect("the client writes");
        assert!(read > 0, "the client closed within a request");
        bytes.extend(&part[..read]);
    }
}

#[tokio::test]
async fn a_request_on_a_stale_connection_is_sent_again_whatever_it_is() {
    let constant = |url: &str| retrying(url, &[Stale], 1);
    let filled = |url: &str| HttpRequest {
        method: "POST".to_owned(),
        body: Body::Text(template("id={{ id }}")),
        ..constant(url)
    };
    let unique =
        |url: &str| HttpRequest { headers: vec![("x".to_owned(), template("{{ id }}"))], ..filled(url) };
    let cases: [&dyn Fn(&str) -> HttpRequest; 3] = [&constant, &filled, &unique];
    for request in cases {
        let server = Closing::start(vec![vec![ok("first")], vec![ok("second")]]);
        let client = Client::new();
        let prepared = client.prepare(&request(&server.url("/"))).await;
        assert_eq!(kind(&client.call(&prepared).await), None);
        assert_eq!((client.progress.requests(), client.progress.retries()), (1, 0));
        server.close();
        let outcome = client.call(&prepared).await;
        assert_eq!((kind(&outcome), body(&outcome)), (None, "second".to_owned()));
        assert_eq!(client.progress.retries(), 1);
        assert_eq!(client.progress.requests(), 3, "the kernel took it though nobody was there");
        let seen = server.requests();
        assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1], "no request was seen twice");
        assert_eq!(seen[0], seen[1]);
    }
}

#[tokio::test]
async fn a_request_on_a_stale_connection_is_sent_again_over_tls() {
    let server = Closing::start_tls(vec![vec![ok("first")], vec![ok("second")]]);
    let mut request = retrying(&server.url("/"), &[Stale], 1);
    request.transport.tls.insecure = true;
    let client = Client::new();
    let prepared = client.prepare(&request).await;
    assert_eq!(kind(&client.call(&prepared).await), None);
    server.close();
    let outcome = client.call(&prepared).await;
    assert_eq!((kind(&outcome), body(&outcome)), (None, "second".to_owned()));
    assert_eq!((client.progress.requests(), client.progress.retries()), (3, 1));
    let seen = server.requests();
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1], "no request was seen twice");
}

#[tokio::test]
async fn a_stale_connection_fails_the_call_unless_the_plan_says_otherwise() {
    for retry in [None, Some(Retry { on: vec![GoAway, RefusedStream], max: 3 })] {
        let server = Closing::start(vec![vec![ok("first")]]);
        let client = Client::new();
        let prepared = client.prepare(&HttpRequest { retry, ..get(&server.url("/")) }).await;
        assert_eq!(kind(&client.call(&prepared).await), None);
        server.close();
        assert_eq!(kind(&client.call(&prepared).await), Some(ErrorKind::Closed));
        assert_eq!((client.progress.requests(), client.progress.retries()), (2, 0));
        assert_eq!(server.requests()[0].len(), 1);
    }
}

#[tokio::test]
async fn a_request_that_the_server_may_have_read_is_never_sent_again() {
    for (end, expected) in [(vec![], ErrorKind::Closed), (vec![Act::Reset], ErrorKind::Reset)] {
        let acts = [&answer(&ok("x"))[..], &[Act::Read], &end].concat();
        let server = Server::start(vec![acts]).await;
        let client = Client::new();
        let prepared = client.prepare(&retrying(&server.url("/"), &EVERY, 10)).await;
        assert_eq!(kind(&client.call(&prepared).await), None);
        assert_eq!(kind(&client.call(&prepared).await), Some(expected));
        assert_eq!((client.progress.requests(), client.progress.retries()), (2, 0));
        assert_eq!(server.requests().await[0].len(), 2);
    }
}

#[tokio::test]
async fn a_new_connection_is_never_stale() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let client = Client::new();
    let mut request = retrying("http://h/", &EVERY, 10);
    request.transport.unix = Some(path);
    let prepared = client.prepare(&request).await;
    // The runtime learns in its next round only that the connection is open; by then the server has closed it and has gone.
    let (outcome, ()) = tokio::join!(client.call(&prepared), async {
        drop(listener.accept().expect("a connection"));
        drop(listener);
    });
    assert_eq!(kind(&outcome), Some(ErrorKind::Closed), "{outcome:?}");
    assert_eq!((client.progress.requests(), client.progress.retries()), (0, 0));
}

#[tokio::test]
async fn a_hop_on_a_stale_connection_is_sent_again() {
    let kept = Closing::start(vec![vec![ok("kept")], vec![ok("there")]]);
    let moves = Closing::start(vec![vec![moved(&kept.url("/there"))]]);
    let client = Client::new();
    assert_eq!(kind(&client.once(&get(&kept.url("/"))).await), None);
    kept.close();
    // The connection that redirects is new: only the second hop meets a stale one.
    let prepared = client.prepare(&retrying(&moves.url("/"), &[Stale], 1)).await;
    let outcome = client.call(&prepared).await;
    assert_eq!((kind(&outcome), body(&outcome)), (None, "there".to_owned()));
    let seen = [moves.requests(), kept.requests()].concat();
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
}

#[tokio::test]
async fn a_retried_request_has_an_answer_of_its_own_to_a_challenge() {
    let challenge = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\ncontent-length: 0\r\n\r\n";
    let server = Closing::start(vec![vec![challenge.to_owned(), ok("first")], vec![ok("second")]]);
    let auth = Some(Auth::Digest { user: template("me"), password: template("secret") });
    let client = Client::new();
    let prepared = client.prepare(&HttpRequest { auth, ..retrying(&server.url("/"), &[Stale], 1) }).await;
    assert_eq!(kind(&client.call(&prepared).await), None);
    server.close();
    assert_eq!(kind(&client.call(&prepared).await), None);
    assert_eq!((client.progress.requests(), client.progress.retries()), (4, 1));
    let counts = |request: &String| Some(request.split_once("nc=")?.1[..8].to_owned());
    let seen: Vec<_> = server.requests().iter().flatten().map(counts).collect();
    let [None, Some(first), Some(second)] = &seen[..] else { panic!("{seen:?}") };
    assert!(first < second, "a count is used once: {seen:?}");
}

/// What a server of HTTP/2 does about a stream.
#[derive(Clone)]
enum Reaction {
    /// Responds with this header block once the request has ended.
    Respond(Vec<u8>),
    /// `RST_STREAM` with `REFUSED_STREAM`, as soon as the stream begins.
    Refuse,
    /// `GOAWAY` that names this as the last stream, as soon as the stream begins.
    GoAway(u32),
    /// The same, and the connection is closed.
    Leave(u32),
    /// Begins to respond, then refuses the stream.
    RespondAndRefuse,
}

/// `:status: 200`
fn status_200() -> Reaction {
    Reaction::Respond(vec![0x88])
}

/// `:status: 302` with a location.
fn status_302(location: &str) -> Reaction {
    let mut block = b"\x08\x03302\x0f\x1f".to_vec();
    block.push(location.len() as u8);
    block.extend(location.as_bytes());
    Reaction::Respond(block)
}

/// What came on each connection: streams, and bytes of their bodies.
type Seen = Vec<Vec<(u32, usize)>>;

/// Speaks HTTP/2 frame by frame: one list of reactions per connection.
fn h2_server(connections: Vec<Vec<Reaction>>) -> (SocketAddr, JoinHandle<Seen>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let serve = move |reactions: Vec<Reaction>| {
        let (stream, _) = listener.accept().expect("a connection");
        serve_h2(stream, reactions)
    };
    (address, thread::spawn(move || connections.into_iter().map(serve).collect()))
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn serve_h2(mut stream: TcpStream, reactions: Vec<Reaction>) -> Vec<(u32, usize)> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).expect("a preface");
    // Room for every body: initial windows of 1 MiB, and the same for the connection.
    let settings = [&[0, 4][..], &(1u32 << 20).to_be_bytes()].concat();
    let hello = [frame(SETTINGS, 0, 0, &settings), frame(WINDOW_UPDATE, 0, 0, &(1u32 << 20).to_be_bytes())];
    stream.write_all(&hello.concat()).expect("the client reads");
    let (mut seen, mut reactions) = (Vec::<(u32, usize)>::new(), reactions.into_iter());
    let mut response = Vec::new();
    let mut header = [0; 9];
    while stream.read_exact(&mut header).is_ok() {
        let [a, b, c, kind, flags, s @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).expect("a whole frame");
        let id = u32::from_be_bytes(s);
        let reply = match kind {
            SETTINGS if flags == 0 => frame(SETTINGS, 1, 0, &[]),
            PING if flags == 0 => frame(PING, 1, 0, &payload),
            HEADERS => {
                seen.push((id, 0));
                let go_away = |last: u32| frame(GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat());
                let refuse = frame(RST_STREAM, 0, id, &7u32.to_be_bytes());
                match reactions.next().expect("a stream that is expected") {
                    Reaction::Respond(block) => {
                        response = block;
                        Vec::new()
                    }
                    Reaction::Refuse => refuse,
                    Reaction::RespondAndRefuse => [frame(HEADERS, 4, id, &[0x88]), refuse].concat(),
                    Reaction::GoAway(last) => go_away(last),
                    Reaction::Leave(last) => {
                        stream.write_all(&go_away(last)).expect("the client reads");
                        return seen;
                    }
                }
            }
            DATA => {
                let of = seen.iter_mut().find(|(stream, _)| *stream == id).expect("a stream that began");
                of.1 += payload.len();
                Vec::new()
            }
            _ => Vec::new(),
        };
        stream.write_all(&reply).expect("the client reads");
        if matches!(kind, HEADERS | DATA) && flags & 1 != 0 && !response.is_empty() {
            let end = frame(HEADERS, 5, id, &std::mem::take(&mut response));
            stream.write_all(&end).expect("the client reads");
        }
    }
    seen
}

/// Calls one after the other over HTTP/2 and returns how they ended, with requests and retries.
async fn calls(
    address: SocketAddr,
    request: impl FnOnce(HttpRequest) -> HttpRequest,
    times: usize,
) -> (Vec<Option<ErrorKind>>, u32, u32) {
    let mut plain = get(&format!("http://{address}/"));
    plain.transport.version = HttpVersion::Http2;
    let client = Client::new();
    let ends = LocalSet::new()
        .run_until(async {
            let prepared = client.prepare(&request(plain)).await;
            let mut ends = Vec::new();
            for _ in 0..times {
                ends.push(kind(&client.call(&prepared).await));
            }
            ends
        })
        .await;
    (ends, client.progress.requests(), client.progress.retries())
}

fn with(on: &[Unprocessed], max: u32) -> impl FnOnce(HttpRequest) -> HttpRequest {
    let retry = Some(Retry { on: on.to_vec(), max });
    move |request| HttpRequest { retry, ..request }
}

#[tokio::test]
async fn a_refused_stream_is_opened_again_on_the_same_connection() {
    let (address, seen) = h2_server(vec![vec![Reaction::Refuse, status_200()]]);
    assert_eq!(calls(address, with(&[RefusedStream], 1), 1).await, (vec![None], 2, 1));
    assert_eq!(seen.join().expect("it ran"), [[(1, 0), (3, 0)]]);
}

#[tokio::test]
async fn a_stream_after_the_last_one_of_a_goaway_is_opened_on_a_new_connection() {
    let (address, seen) = h2_server(vec![vec![status_200(), Reaction::GoAway(1)], vec![status_200()]]);
    assert_eq!(calls(address, with(&[GoAway], 1), 2).await, (vec![None, None], 3, 1));
    assert_eq!(seen.join().expect("it ran"), [vec![(1, 0), (3, 0)], vec![(1, 0)]]);
}

#[tokio::test]
async fn a_stream_that_a_goaway_still_includes_is_not_opened_again() {
    let (address, seen) = h2_server(vec![vec![status_200(), Reaction::Leave(3)]]);
    let closed = Some(ErrorKind::Closed);
    assert_eq!(calls(address, with(&EVERY, 10), 2).await, (vec![None, closed], 2, 0));
    assert_eq!(seen.join().expect("it ran"), [[(1, 0), (3, 0)]]);
}

#[tokio::test]
async fn a_stream_that_was_answered_is_not_opened_again() {
    let (address, seen) = h2_server(vec![vec![Reaction::RespondAndRefuse]]);
    assert_eq!(calls(address, with(&EVERY, 10), 1).await, (vec![Some(ErrorKind::Reset)], 1, 0));
    assert_eq!(seen.join().expect("it ran"), [[(1, 0)]]);
}

#[tokio::test]
async fn retries_end_at_their_limit_and_only_named_causes_count() {
    for (on, max, times) in [(&EVERY[..], 2, 2), (&[RefusedStream], 1, 1), (&[GoAway, Stale], 10, 0)] {
        let (address, seen) = h2_server(vec![vec![Reaction::Refuse; times as usize + 1]]);
        let end = vec![Some(ErrorKind::Reset)];
        assert_eq!(calls(address, with(on, max), 1).await, (end, times + 1, times), "{on:?}");
        assert_eq!(seen.join().expect("it ran")[0].len(), times as usize + 1);
    }
}

#[tokio::test]
async fn a_refused_upload_is_sent_again_whole() {
    const BYTES: usize = 300_000;
    let (address, seen) = h2_server(vec![vec![Reaction::Refuse, status_200()]]);
    let upload = |request| HttpRequest {
        method: "POST".to_owned(),
        body: Body::Text(template(&"x".repeat(BYTES))),
        ..with(&[RefusedStream], 1)(request)
    };
    let (ends, _, retries) = calls(address, upload, 1).await;
    assert_eq!((ends, retries), (vec![None], 1));
    assert_eq!(seen.join().expect("it ran")[0][1], (3, BYTES));
}

#[tokio::test]
async fn hops_of_one_call_share_its_retries() {
    for (max, expected) in [(1, Some(ErrorKind::Reset)), (2, None)] {
        let reactions = [Reaction::Refuse, status_302("/there"), Reaction::Refuse, status_200()];
        let (address, seen) = h2_server(vec![reactions.to_vec()]);
        let (ends, requests, retries) = calls(address, with(&[RefusedStream], max), 1).await;
        assert_eq!((ends, retries), (vec![expected], max));
        assert_eq!(seen.join().expect("it ran")[0].len(), requests as usize);
    }
}
