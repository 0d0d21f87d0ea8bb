//! One request with every phase timed and the connection described: what `hyperscale ping` shows.
//!
//! It is the same call as in a run, over a [`Network`] that takes notes: names resolved, addresses tried, handshakes
//! done. Nothing here is hot.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Dns, HttpVersion};
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::{Root, Scope};
use hyperscale_types::rule::Phase;
use minijinja::Value;

use super::call::call;
use super::certificate::Certificate;
use super::core::{CoreOptions, HttpCore};
use super::network::{Endpoint, Network, Secured, TokioNetwork, TokioStream};
use super::outcome::{CallError, Progress};
use super::prepare::{PrepareError, Prepared};
use super::session::Session;

/// A request that can be sent again and again. Without `reuse: call` the connection is kept in between.
pub struct Ping {
    core: Rc<HttpCore<Noting>>,
    session: Session<Noting>,
    prepared: Prepared,
    version: HttpVersion,
}

/// What one request was like.
#[derive(Debug)]
pub struct Pong {
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// Why it failed, if it did.
    pub error: Option<CallError>,
    /// From the first step to the last byte.
    pub total: Duration,
    /// Where the time went.
    pub times: Times,
    /// Whom the request went to; `None` if nothing was reached, or over a unix socket.
    pub peer: Option<SocketAddr>,
    /// Whether HTTP/2 was spoken.
    pub is_http2: bool,
    /// What the handshake agreed on, if there was TLS.
    pub tls: Option<Handshake>,
    /// Requests sent: redirects and authentication round trips are requests too.
    pub requests: u32,
    /// Bytes of the requests, before encryption.
    pub bytes_sent: u64,
    /// Bytes of the answers, after decryption.
    pub bytes_received: u64,
}

/// Where the time of a request went; a phase that did not happen is `None`. Hops of one call are summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Resolving names; not for addresses and kept connections.
    pub dns: Option<Duration>,
    /// Opening the connection, without resolving.
    pub connect: Option<Duration>,
    /// The TLS handshake.
    pub tls: Option<Duration>,
    /// Filling the request and handing it to the kernel.
    pub write: Option<Duration>,
    /// From there to the first byte of the answer.
    pub wait: Option<Duration>,
    /// From there to its last byte.
    pub read: Option<Duration>,
}

/// What a TLS handshake agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// `TLSv1_3`.
    pub version: String,
    /// `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// The peer's own certificate.
    pub certificate: Option<Certificate>,
}

impl Ping {
    /// Prepares the request. Its URL must be constant.
    pub async fn new(request: &HttpRequest, seed: u64) -> Result<Self, PrepareError> {
        let mut request = request.clone();
        request.transport.dns = Dns::PerConnection;
        let core = HttpCore::new(Noting::default(), CoreOptions { seed });
        let prepared = Prepared::new(&core, &request, Needs::default(), &Nothing, |_| true).await?;
        Ok(Self { core, session: Session::new(), prepared, version: request.transport.version })
    }

    /// Sends it once.
    pub async fn send(&self) -> Pong {
        self.core.network.notes.borrow_mut().begin();
        let progress = Progress::default();
        let outcome = call(&self.core, &self.session, &self.prepared, &Nothing, &progress).await;
        let notes = self.core.network.notes.borrow();
        let time = |phase| outcome.phases.ns(phase).map(Duration::from_nanos);
        let dns = notes.dns.unwrap_or_default();
        let times = Times {
            dns: notes.dns,
            connect: time(Phase::Connect).map(|connect| connect.saturating_sub(dns)),
            tls: time(Phase::Tls),
            write: time(Phase::Write),
            wait: time(Phase::Wait),
            read: time(Phase::Read),
        };
        Pong {
            status: outcome.status,
            error: outcome.error,
            total: Duration::from_nanos(outcome.ended.nanos_since(outcome.started)),
            times,
            peer: notes.peer,
            is_http2: notes.is_http2 || self.version == HttpVersion::Http2,
            tls: notes.tls.clone(),
            requests: progress.requests(),
            bytes_sent: progress.bytes_sent(),
            bytes_received: progress.bytes_received(),
        }
    }
}

/// The system's network, and what happened on it.
#[derive(Default)]
struct Noting {
    notes: RefCell<Notes>,
}

/// Times belong to one call; peer and handshake stay with the connection.
#[derive(Default)]
struct Notes {
    dns: Option<Duration>,
    peer: Option<SocketAddr>,
    is_http2: bool,
    tls: Option<Handshake>,
}

impl Notes {
    fn begin(&mut self) {
        self.dns = None;
    }
}

impl Network for Noting {
    type Stream = TokioStream;

    async fn connect(&self, to: Endpoint<'_>) -> io::Result<TokioStream> {
        let stream = TokioNetwork.connect(to).await?;
        if let Endpoint::Tcp { peer, .. } = to {
            self.notes.borrow_mut().peer = Some(peer);
        }
        Ok(stream)
    }

    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let begin = Instant::now();
        let found = TokioNetwork.resolve(host).await;
        let mut notes = self.notes.borrow_mut();
        notes.dns = Some(notes.dns.unwrap_or_default() + begin.elapsed());
        drop(notes);
        found
    }

    fn is_quiet(stream: &TokioStream) -> bool {
        TokioNetwork::is_quiet(stream)
    }

    fn secured(&self, secured: Secured<'_>) {
        let mut notes = self.notes.borrow_mut();
        notes.is_http2 = secured.is_http2;
        notes.tls = Some(Handshake {
            version: secured.version.unwrap_or_default().to_owned(),
            cipher: secured.cipher.unwrap_or_default().to_owned(),
            certificate: secured.certificate.and_then(Certificate::read),
        });
    }
}

/// A request without holes refers to nothing.
struct Nothing;

impl Scope for Nothing {
    fn root(&self, _: Root) -> Value {
        Value::UNDEFINED
    }
}
