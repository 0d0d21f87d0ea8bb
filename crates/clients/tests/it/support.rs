//! Requests, scopes and servers that do exactly what a test says.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use hyperscale_clients::http::{HttpClient, Prepared, Session};
use hyperscale_clients::network::Network;
use hyperscale_clients::{ClientOptions, Known, PrepareError, Protocol as _, Shared, Terms};
use hyperscale_clients::{Outcome, Progress};
use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Body, Dns, HttpVersion, Limits, Reuse, StatusSet, Tls, Transport};
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::{Resolver, Root, Scope, Template};
use hyperscale_types::Span;
use hyperscale_types::limits::REDIRECTS_MAX;
use hyperscale_types::rule::Phase;
use minijinja::Value;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What everybody needs of an answer.
pub(crate) const EVERYTHING: Needs = Needs { result: true, headers: true, body: true };

/// Which phases of a call happened, in order of time.
pub(crate) fn happened(outcome: &Outcome) -> [bool; 5] {
    [Phase::Connect, Phase::Tls, Phase::Write, Phase::Wait, Phase::Read]
        .map(|phase| outcome.phases.ns(phase).is_some())
}

/// A GET with the defaults of a plan.
pub(crate) fn get(url: &str) -> HttpRequest {
    HttpRequest {
        method: "GET".to_owned(),
        url: template(url),
        query: vec![],
        headers: vec![],
        cookies: vec![],
        body: Body::Empty,
        auth: None,
        transport: Transport {
            version: HttpVersion::Auto,
            reuse: Reuse::Vu,
            connections: None,
            tls: Tls::default(),
            proxy: None,
            unix: None,
            dns: Dns::Once,
            source: vec![],
        },
        expect: StatusSet::success(),
        limits: Limits {
            timeout: Span::from_secs(10),
            connect_timeout: Span::from_secs(5),
            redirects: REDIRECTS_MAX,
            max_body: None,
        },
        retry: None,
        cookie_jar: true,
        compression: false,
        stream: None,
    }
}

/// `base` is a variable known in preparation, `id` and `word` are filled per call, `missing` is never there.
pub(crate) struct Names;

impl Resolver for Names {
    fn resolve(&self, words: &[&str]) -> Result<(Root, usize), String> {
        match words[0] {
            "base" => Ok((Root::Var(0), 1)),
            "id" => Ok((Root::Context(0), 1)),
            "word" => Ok((Root::Context(1), 1)),
            "origin" => Ok((Root::Context(2), 1)),
            "missing" => Ok((Root::Context(9), 1)),
            other => Err(format!("unknown name {other}")),
        }
    }
}

/// The values of [`Names`].
#[derive(Default)]
pub(crate) struct Values {
    /// `base`.
    pub(crate) base: String,
    /// `origin`.
    pub(crate) origin: String,
}

impl Scope for Values {
    fn root(&self, root: Root) -> Value {
        match root {
            Root::Var(0) => self.base.as_str().into(),
            Root::Context(0) => 42.into(),
            Root::Context(1) => "a b/c".into(),
            Root::Context(2) => self.origin.as_str().into(),
            _ => Value::UNDEFINED,
        }
    }
}

/// A template over [`Names`].
pub(crate) fn template(text: &str) -> Template {
    Template::parse(text, &Names).expect("the template is valid")
}

/// A client with one virtual user.
pub(crate) struct Client {
    pub(crate) http: Rc<HttpClient>,
    pub(crate) session: Session,
    pub(crate) scope: Values,
    pub(crate) progress: Progress,
}

impl Client {
    /// On sockets.
    pub(crate) fn new() -> Self {
        Self::on(Network::System)
    }

    /// On a network.
    pub(crate) fn on(network: impl Into<Network>) -> Self {
        Self::with(network, ClientOptions { seed: 7, ..ClientOptions::default() })
    }

    /// On a network, with these options.
    pub(crate) fn with(network: impl Into<Network>, options: ClientOptions) -> Self {
        Client {
            http: HttpClient::new(Shared::new(network, options)),
            session: Session::new(),
            scope: Values::default(),
            progress: Progress::default(),
        }
    }

    /// Prepares a request; variables are known.
    pub(crate) async fn prepare(&self, request: &HttpRequest) -> Prepared {
        self.try_prepare(request).await.expect("it prepares")
    }

    /// Prepares a request that may be wrong.
    pub(crate) async fn try_prepare(&self, request: &HttpRequest) -> Result<Prepared, PrepareError> {
        self.prepare_for(request, EVERYTHING).await
    }

    /// Prepares a request of whose response only this is needed.
    pub(crate) async fn prepare_for(
        &self,
        request: &HttpRequest,
        needs: Needs,
    ) -> Result<Prepared, PrepareError> {
        let terms = Terms { needs, timeout: None };
        self.http.prepare(request, terms, &Known::new(&self.scope, &Root::is_constant)).await
    }

    /// Calls.
    pub(crate) async fn call(&self, prepared: &Prepared) -> Outcome {
        self.http.call(&self.session, prepared, &self.scope, &self.progress).await
    }

    /// Prepares and calls once.
    pub(crate) async fn once(&self, request: &HttpRequest) -> Outcome {
        self.call(&self.prepare(request).await).await
    }
}

/// The body of an outcome as text.
pub(crate) fn body(outcome: &Outcome) -> String {
    let response = outcome.response.as_ref().expect("an answer was kept");
    String::from_utf8_lossy(&response.body).into_owned()
}

/// What a server does on a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Reads one request, with its body.
    Read,
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes one by one.
    SendSlowly(Vec<u8>),
    /// Resets the connection.
    Reset,
    /// Waits until the client closes the connection.
    AwaitClose,
    /// Keeps the connection open and reads nothing, for ever.
    Hold,
}

/// Sends text.
pub(crate) fn send(text: impl Into<Vec<u8>>) -> Act {
    Act::Send(text.into())
}

/// Reads a request and answers with text.
pub(crate) fn answer(text: &str) -> [Act; 2] {
    [Act::Read, send(text)]
}

/// An answer with status 200 and a body.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A redirect.
pub(crate) fn moved(location: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
}

/// A server that follows a script: one list of acts per connection, in the order connections come. It ends after the
/// last connection and gives back the requests it saw, per connection.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    task: JoinSet<Vec<Vec<String>>>,
}

impl Server {
    /// Starts it.
    pub(crate) async fn start(connections: Vec<Vec<Act>>) -> Server {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0)), connections).await
    }

    /// Starts it at an address.
    pub(crate) async fn at(address: SocketAddr, connections: Vec<Vec<Act>>) -> Server {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut seen = Vec::new();
            for acts in connections {
                let (stream, _) = listener.accept().await.expect("a connection");
                seen.push(perform(stream, acts).await);
            }
            seen
        });
        Server { address, task }
    }

    /// Starts one that serves one connection.
    pub(crate) async fn one(acts: impl IntoIterator<Item = Act>) -> Server {
        Self::start(vec![acts.into_iter().collect()]).await
    }

    /// A URL on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until it has done everything: its connections are closed.
    pub(crate) async fn wait_for_end(&mut self) {
        self.task.join_next().await.expect("one task").expect("the server ran");
    }

    /// All requests it saw, once it has done everything.
    pub(crate) async fn requests(mut self) -> Vec<Vec<String>> {
        self.task.join_next().await.expect("one task").expect("the server ran")
    }
}

async fn perform(mut stream: TcpStream, acts: Vec<Act>) -> Vec<String> {
    let mut seen = Vec::new();
    for act in acts {
        match act {
            Act::Read => match read_request(&mut stream).await {
                Some(request) => seen.push(request),
                None => return seen,
            },
            Act::Send(bytes) => stream.write_all(&bytes).await.expect("the client reads"),
            Act::SendSlowly(bytes) => {
                stream.set_nodelay(true).expect("a socket");
                for byte in bytes {
                    stream.write_all(&[byte]).await.expect("the client reads");
                    tokio::task::yield_now().await;
                }
            }
            Act::Reset => {
                stream.set_zero_linger().expect("a socket");
                return seen;
            }
            Act::AwaitClose => {
                let mut rest = Vec::new();
                // A reset is a way to close, too.
                let _ = stream.read_to_end(&mut rest).await;
            }
            Act::Hold => std::future::pending().await,
        }
    }
    seen
}

/// Reads a request with the body its content-length announces; `None` if the client closes.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |text| text.parse().expect("a length"));
            if bytes.len() >= end + 4 + length {
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// TLS of a server that nobody trusts.
pub(crate) fn tls_server() -> Arc<ServerConfig> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions that both sides know")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key.into())
        .expect("key and certificate belong together");
    Arc::new(config)
}
