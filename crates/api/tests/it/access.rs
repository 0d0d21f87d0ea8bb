//! Who may use a server: tokens, loopback without one, probes.

use hyperscale_api::method::Page;
use hyperscale_api::server::ListenError;
use hyperscale_api::{Access, CallError, Client, ErrorCode, Limits, Listener, Method};
use hyperscale_types::ExitCode;

use crate::support::{Node, body, options, token};

const GET: &str = r#"{"jsonrpc":"2.0","id":1,"method":"jobs.get","params":{"job":"j"}}"#;

#[tokio::test]
async fn token_is_required_for_everything_but_probes() {
    let node = Node::with(Access::Token(token()), None, Limits::NODE).await;
    for (line, headers) in [
        ("POST /rpc", ""),
        ("POST /rpc", "authorization: Bearer wrong-horse-battery-staple\r\n"),
        ("POST /rpc", "authorization: Basic Y29ycmVjdA==\r\n"),
        ("GET /events/j", ""),
        ("PUT /blobs", ""),
    ] {
        let response = node.request(line, headers, GET).await;
        assert!(response.starts_with("HTTP/1.1 401"), "{line}: {response}");
        assert!(response.contains("www-authenticate: Bearer"), "{response}");
        let error = &body(&response)["error"];
        assert_eq!(error["data"]["reason"], "unauthorized");
        assert!(error["data"]["fix"].as_str().is_some_and(|fix| fix.contains("HYPERSCALE_API_TOKEN")));
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert!(node.request(&format!("GET {path}"), "", "").await.starts_with("HTTP/1.1 200"), "{path}");
    }
    assert!(node.backend.methods_called().is_empty());
    let headers = "authorization: Bearer correct-horse-battery-staple\r\n";
    assert!(node.request("POST /rpc", headers, GET).await.starts_with("HTTP/1.1 200"));
    assert!(node.backend.calls.lock().unwrap()[0].0.is_authenticated);
}

#[tokio::test]
async fn client_with_the_token_is_served_and_without_it_is_refused() {
    let node = Node::with(Access::Token(token()), None, Limits::NODE).await;
    let mut with = options(&[node.url()]);
    with.token = Some(token());
    assert!(Client::new(with).unwrap().call::<serde_json::Value>(&list()).await.is_ok());
    let error = Client::new(options(&[node.url()])).unwrap().jobs(Page::default()).await.unwrap_err();
    assert!(matches!(&error, CallError::Refused(error) if error.is(ErrorCode::Unauthorized)), "{error}");
    assert_eq!(error.exit_code(), ExitCode::Refused);
    assert!(error.fix().contains("--token"), "{}", error.fix());
}

fn list() -> Method {
    Method::JobsList(Page::default())
}

#[tokio::test]
async fn server_that_others_could_reach_cannot_be_made_without_a_token() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let error = Listener::tcp(everywhere, Access::Open, None).await.unwrap_err();
    assert!(matches!(error, ListenError::TokenRequired(_)));
    assert!(error.to_string().contains("set HYPERSCALE_API_TOKEN"), "{error}");
    assert!(Listener::tcp("[::]:0".parse().unwrap(), Access::Open, None).await.is_err());
    assert!(Listener::tcp(everywhere, Access::Token(token()), None).await.is_ok());
    assert!(Listener::tcp(everywhere, Access::Probes, None).await.is_ok());
}

#[tokio::test]
async fn address_in_use_is_reported_with_its_name() {
    let node = Node::start().await;
    let error = Listener::tcp(node.address, Access::Open, None).await.unwrap_err();
    assert!(error.to_string().contains(&node.address.to_string()), "{error}");
}

#[tokio::test]
async fn worker_serves_probes_only() {
    let node = Node::with(Access::Probes, None, Limits::NODE).await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert!(node.request(&format!("GET {path}"), "", "").await.starts_with("HTTP/1.1 200"), "{path}");
    }
    for line in ["POST /rpc", "GET /events/j", "PUT /blobs"] {
        assert!(node.request(line, "", GET).await.starts_with("HTTP/1.1 404"), "{line}");
    }
    assert!(node.backend.methods_called().is_empty());
}

#[tokio::test]
async fn web_pages_cannot_use_a_loopback_server_without_a_token() {
    let node = Node::start().await;
    let port = node.address.port();
    let request = |host: &str, origin: &str| {
        let length = GET.len();
        format!(
            "POST /rpc HTTP/1.1\r\nhost: {host}\r\n{origin}connection: close\r\ncontent-length: {length}\r\n\r\n{GET}"
        )
    };
    for (host, origin) in [
        (format!("evil.example:{port}"), String::new()),
        (format!("127.0.0.1:{port}"), "origin: https://evil.example\r\n".to_owned()),
    ] {
        let response = node.raw(request(&host, &origin).as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 401"), "{host} {origin}: {response}");
    }
    let (host, origin) = (format!("localhost:{port}"), format!("origin: http://localhost:{port}\r\n"));
    assert!(node.raw(request(&host, &origin).as_bytes()).await.starts_with("HTTP/1.1 200"));
}
