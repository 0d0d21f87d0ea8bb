//! TLS: a trusted authority, a wrong one, and sides that do not agree on it.

use hyperscale_api::tls::TlsError;
use hyperscale_api::{Access, CallError, Client, ClientTls, Limits, Method, ServerTls};
use hyperscale_types::ExitCode;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;

use crate::support::{Node, options, token};

/// A certificate for this machine that is its own authority, and its key.
fn certificate() -> (String, String) {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

async fn start(certificate: &(String, String)) -> Node {
    let tls = ServerTls::from_pem(certificate.0.as_bytes(), certificate.1.as_bytes()).unwrap();
    Node::with(Access::Token(token()), Some(tls), Limits::NODE).await
}

fn client(node: &Node, host: &str, authority: &str) -> Client {
    let mut options = options(&[format!("https://{host}:{}", node.address.port())]);
    options.tls = Some(ClientTls::from_pem(authority.as_bytes()).unwrap());
    options.token = Some(token());
    Client::new(options).unwrap()
}

async fn get(client: &Client) -> Result<Value, CallError> {
    client.call(&Method::JobsGet { job: "j".into() }).await
}

#[tokio::test]
async fn server_whose_authority_is_trusted_is_used() {
    let certificate = certificate();
    let node = start(&certificate).await;
    for host in ["localhost", "127.0.0.1"] {
        assert_eq!(get(&client(&node, host, &certificate.0)).await.unwrap()["echo"], "jobs.get");
    }
}

#[tokio::test]
async fn server_of_another_authority_is_not_trusted_and_gets_no_request() {
    let node = start(&certificate()).await;
    let error = get(&client(&node, "localhost", &certificate().0)).await.unwrap_err();
    assert!(matches!(error, CallError::Untrusted { .. }), "{error}");
    assert_eq!(error.exit_code(), ExitCode::Unreachable);
    assert!(error.fix().contains("--ca"), "{}", error.fix());
    assert!(node.backend.methods_called().is_empty());
}

#[tokio::test]
async fn plain_client_of_a_tls_server_and_tls_client_of_a_plain_server_fail() {
    let certificate = certificate();
    let secure = start(&certificate).await;
    let plain = Client::new(options(&[secure.url()])).unwrap();
    let error = get(&plain).await.unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error}");
    let node = Node::start().await;
    let error = get(&client(&node, "127.0.0.1", &certificate.0)).await.unwrap_err();
    assert!(matches!(error, CallError::Untrusted { .. }), "{error}");
}

#[test]
fn texts_that_are_no_certificates_are_refused() {
    let (certificate, key) = certificate();
    let (_, other_key) = self::certificate();
    let server = |chain: &str, key: &str| ServerTls::from_pem(chain.as_bytes(), key.as_bytes());
    assert!(matches!(server("", &key), Err(TlsError::Pem { what: "certificate", .. })));
    assert!(matches!(server(&certificate, "nonsense"), Err(TlsError::Pem { what: "key", .. })));
    assert!(matches!(server(&certificate, &other_key), Err(TlsError::Certificate(_))));
    assert!(matches!(ClientTls::from_pem(b"nonsense"), Err(TlsError::Pem { .. })));
}
