//! TLS: certificates made and given, client certificates, ALPN.

use std::sync::Arc;

use hyperscale_target::{Identity, TlsOptions};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::wire::{Site, Wire, site};

type TlsWire = Wire<StreamOwned<ClientConnection, std::net::TcpStream>>;

struct ClientIdentity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    pem: String,
}

fn client_identity() -> ClientIdentity {
    let key = KeyPair::generate().expect("a key");
    let certificate =
        CertificateParams::new(vec!["client".to_owned()]).and_then(|params| params.self_signed(&key));
    let certificate = certificate.expect("a certificate");
    ClientIdentity {
        certificate: certificate.der().clone(),
        key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        pem: certificate.pem(),
    }
}

fn connect(site: &Site, alpn: &[&str], identity: Option<ClientIdentity>) -> TlsWire {
    let mut roots = RootCertStore::empty();
    let pem = site.running.handle().ca_pem().expect("speaks TLS").to_owned();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")).expect("an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("default versions")
        .with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder
            .with_client_auth_cert(vec![identity.certificate], identity.key)
            .expect("a usable identity"),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a usable configuration");
    Wire::new(StreamOwned::new(connection, site.connect().stream))
}

#[test]
fn generated_certificate_is_trusted_through_its_authority() {
    let site = site(|options| options.tls = Some(TlsOptions::default()));
    let mut wire = connect(&site, &["http/1.1"], None);
    assert_eq!(wire.get("/").text(), "Hello, World!");
    assert_eq!(wire.stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(wire.get("/__stats").json()["requests"], 1);
}

#[test]
fn clients_that_offer_http2_get_it() {
    let site = site(|options| options.tls = Some(TlsOptions::default()));
    let mut wire = connect(&site, &["h2", "http/1.1"], None);
    while wire.stream.conn.is_handshaking() {
        wire.stream.conn.complete_io(&mut wire.stream.sock).expect("a handshake");
    }
    assert_eq!(wire.stream.conn.alpn_protocol(), Some(&b"h2"[..]));
}

#[test]
fn given_certificate_is_shown() {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .and_then(|params| params.self_signed(&key))
        .expect("ok");
    let identity = Identity::Pem { chain: certificate.pem(), key: key.serialize_pem() };
    let site = site(|options| options.tls = Some(TlsOptions { identity, client_ca_pem: None }));
    assert_eq!(site.running.handle().ca_pem(), Some(certificate.pem().as_str()));
    assert_eq!(connect(&site, &[], None).get("/").status, 200);
}

#[test]
fn client_certificate_is_demanded_when_an_authority_is_given() {
    let client = client_identity();
    let tls = TlsOptions { client_ca_pem: Some(client.pem.clone()), ..TlsOptions::default() };
    let site = site(|options| options.tls = Some(tls));
    assert_eq!(connect(&site, &[], Some(client)).get("/").status, 200);
    for identity in [None, Some(client_identity())] {
        let mut wire = connect(&site, &[], identity);
        // The refusal arrives with the first read (TLS 1.3).
        let refused = std::io::Write::write_all(&mut wire.stream, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .and_then(|()| std::io::Read::read(&mut wire.stream, &mut [0; 64]));
        assert!(refused.is_err(), "{refused:?}");
    }
    let stats = site.settled_stats();
    assert_eq!((stats.requests, stats.connections.tls_failed), (1, 2));
}

#[test]
fn clear_text_to_a_tls_target_is_no_request() {
    let site = site(|options| options.tls = Some(TlsOptions::default()));
    let mut wire = site.connect();
    wire.request("GET", "/", "");
    assert!(!wire.rest().starts_with(b"HTTP"));
    let stats = site.settled_stats();
    assert_eq!((stats.requests, stats.connections.tls_failed), (0, 1));
}

#[test]
fn broken_pem_is_refused_at_the_start() {
    let mut options = hyperscale_target::Options::new(([127, 0, 0, 1], 0).into());
    let identity = Identity::Pem { chain: "nonsense".to_owned(), key: "nonsense".to_owned() };
    options.tls = Some(TlsOptions { identity, client_ca_pem: None });
    let error = hyperscale_target::Target::bind(options).err().expect("refused").to_string();
    assert!(error.starts_with("cannot read the certificate"), "{error}");
}
