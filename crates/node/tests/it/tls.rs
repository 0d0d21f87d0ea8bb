//! Connections over mutual TLS.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use hyperscale_node::transport::{Certificates, Event};
use hyperscale_types::{NodeId, Role};
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::identity::CertificateIdentity;
use hyperscale_wire::messages::{Control, RaftBatch, control};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::support::{Peer, id, until};

/// An authority of a test.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), root }
    }

    /// Both sides of a node with a certificate for this name, which trusts the authority.
    fn certify(&self, name: &str) -> Certificates {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let uri = SanType::URI(name.try_into().unwrap());
        params.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)), uri];
        let key = KeyPair::generate().unwrap();
        let chain = vec![params.signed_by(&key, &self.issuer).unwrap().der().clone()];
        let key = || PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots.clone())).build().unwrap();
        let server = ServerConfig::builder().with_client_cert_verifier(verifier);
        let server = server.with_single_cert(chain.clone(), key()).unwrap();
        let client = ClientConfig::builder().with_root_certificates(roots);
        let client = client.with_client_auth_cert(chain, key()).unwrap();
        Certificates::new(&client, server)
    }

    fn node(&self, node: NodeId, role: Role) -> Certificates {
        self.certify(&CertificateIdentity { cluster: "test".to_owned(), role, node }.to_string())
    }
}

fn message() -> Outgoing {
    let body = Some(control::Body::Raft(RaftBatch { group: "dc".to_owned(), messages: Vec::new() }));
    Outgoing::Control(Control { call_id: 1, body, ..Control::default() })
}

#[tokio::test]
async fn certificates_prove_nodes_and_both_ends_export_the_same_keys() {
    let authority = Authority::new();
    let mut a = Peer::secured(1, authority.node(id(1), Role::Manager));
    let mut b = Peer::secured(2, authority.node(id(2), Role::Manager));
    a.handle.know(b.node, b.address);
    a.handle.send(b.node, message()).unwrap();
    let up = |event| match event {
        Event::PeerUp { peer, exported, .. } => Some((peer.node, exported)),
        _ => None,
    };
    let ((at_a, exported_a), (at_b, exported_b)) = (a.wait(up).await, b.wait(up).await);
    assert_eq!((at_a, at_b), (id(2), id(1)));
    assert!(exported_a.is_some() && exported_a == exported_b);
    let heard = b.wait(|event| match event {
        Event::Incoming { from, message: Incoming::Control(_), .. } => Some(from),
        _ => None,
    });
    assert_eq!(heard.await, id(1));
}

#[tokio::test]
async fn certificate_of_another_role_authority_or_without_a_name_is_refused_and_counted() {
    let authority = Authority::new();
    let b = Peer::secured(2, authority.node(id(2), Role::Manager));
    let strangers = [
        (authority.node(id(1), Role::Worker), Refusal::HelloInvalid),
        (Authority::new().node(id(1), Role::Manager), Refusal::HandshakeForged),
        (authority.certify("https://example.org/"), Refusal::CertificateInvalid),
    ];
    for (certificates, refusal) in strangers {
        let mut a = Peer::secured(1, certificates);
        a.handle.know(b.node, b.address);
        a.handle.send(b.node, message()).unwrap();
        a.wait(|event| matches!(event, Event::Undelivered { .. }).then_some(())).await;
        until(|| b.handle.counters().wire.refused(refusal) == 1).await;
        a.stop().await;
    }
}
