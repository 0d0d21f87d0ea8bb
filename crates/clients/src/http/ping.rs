//! One request with every phase timed and the connection described: what `hyperscale ping` shows.
//!
//! It is the same call as in a run, over a network that takes notes: names resolved, addresses tried, handshakes
//! done. Nothing here is hot.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Dns, HttpVersion};
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::{Root, Scope};
use hyperscale_types::rule::Phase;
use minijinja::Value;

use crate::http::call::call;
use crate::http::request::prepare::{PrepareError, Prepared};
use crate::http::session::Session;
use crate::http::shared::{CoreOptions, HttpCore};
use crate::network::{Handshake, Network, Observer};
use crate::outcome::{CallError, Progress};

/// A request that can be sent again and again. Without `reuse: call` the connection is kept in between.
pub struct Ping {
    core: Rc<HttpCore>,
    observer: Observer,
    session: Session,
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

impl Ping {
    /// Prepares the request. Its URL must be constant.
    pub async fn new(request: &HttpRequest, seed: u64) -> Result<Self, PrepareError> {
        let mut request = request.clone();
        request.transport.dns = Dns::PerConnection;
        let observer = Observer::default();
        let core = HttpCore::new(Network::Observed(observer.clone()), CoreOptions { seed });
        let prepared = Prepared::new(&core, &request, Needs::default(), &Nothing, |_| true).await?;
        Ok(Self { core, observer, session: Session::new(), prepared, version: request.transport.version })
    }

    /// Sends it once.
    pub async fn send(&self) -> Pong {
        self.observer.begin();
        let progress = Progress::default();
        let outcome = call(&self.core, &self.session, &self.prepared, &Nothing, &progress).await;
        let seen = self.observer.observation();
        let time = |phase| outcome.phases.ns(phase).map(Duration::from_nanos);
        let dns = seen.resolving.unwrap_or_default();
        let agreed = seen.tls.as_ref().is_some_and(|tls| tls.alpn.as_deref() == Some("h2"));
        let times = Times {
            dns: seen.resolving,
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
            peer: seen.peer,
            is_http2: agreed || self.version == HttpVersion::Http2,
            tls: seen.tls,
            requests: progress.requests(),
            bytes_sent: progress.bytes_sent(),
            bytes_received: progress.bytes_received(),
        }
    }
}

/// A request without holes refers to nothing.
struct Nothing;

impl Scope for Nothing {
    fn root(&self, _: Root) -> Value {
        Value::UNDEFINED
    }
}
