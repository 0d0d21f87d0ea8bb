//! What happened on a network, for those who describe connections. Nothing here is hot.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Endpoint;
use crate::tls::Certificate;

/// Takes notes; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Observer(Rc<RefCell<Observation>>);

/// Notes of an [`Observer`]. Times add up until [`Observer::begin`]; peer and handshake stay with the connection.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Time spent on resolving names; `None` if none was resolved.
    pub resolving: Option<Duration>,
    /// The last peer that a connection was opened to.
    pub peer: Option<SocketAddr>,
    /// The last TLS handshake.
    pub tls: Option<Handshake>,
}

/// What a TLS handshake agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// `TLSv1_3`.
    pub version: String,
    /// `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// The protocol that ALPN chose, as text: `h2`.
    pub alpn: Option<String>,
    /// The peer's own certificate.
    pub certificate: Option<Certificate>,
}

impl Observer {
    /// Forgets the times of earlier calls.
    pub fn begin(&self) {
        self.0.borrow_mut().resolving = None;
    }

    /// What is known now.
    pub fn observation(&self) -> Observation {
        self.0.borrow().clone()
    }

    pub(super) fn connected(&self, to: Endpoint<'_>) {
        if let Endpoint::Tcp { peer, .. } = to {
            self.0.borrow_mut().peer = Some(peer);
        }
    }

    pub(super) async fn time_resolving<T>(&self, work: impl Future<Output = T>) -> T {
        let begin = Instant::now();
        let found = work.await;
        *self.0.borrow_mut().resolving.get_or_insert_default() += begin.elapsed();
        found
    }

    pub(super) fn secured(&self, session: &rustls::ClientConnection) {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let own = session.peer_certificates().and_then(|chain| chain.first());
        self.0.borrow_mut().tls = Some(Handshake {
            version: text(session.protocol_version().and_then(|version| version.as_str())),
            cipher: text(session.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str())),
            alpn: session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
            certificate: own.and_then(|certificate| Certificate::read(certificate)),
        });
    }
}
