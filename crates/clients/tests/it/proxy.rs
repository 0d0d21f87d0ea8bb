//! Proxies: forwarding and tunnels, with and without credentials.

use hyperscale_plan::model::http::{HttpVersion, Tls};
use hyperscale_target::{Options, Target, TlsOptions};
use hyperscale_types::ErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::support::{Act, Client, Server, answer, body, get, ok, send};

#[tokio::test]
async fn http_goes_through_the_proxy_with_the_whole_url() {
    for (url, prefix) in [("http://far.example:81/x?y=1", "constant"), ("{{ origin }}/x?y=1", "filled")] {
        let server = Server::one([answer(&ok("one")), answer(&ok("two"))].concat()).await;
        let mut client = Client::new();
        client.scope.origin = "http://far.example:81".to_owned();
        let mut request = get(url);
        request.transport.proxy = Some(format!("http://me:secret@{}", server.address));
        let prepared = client.prepare(&request).await;
        assert_eq!(body(&client.call(&prepared).await), "one");
        assert_eq!(body(&client.call(&prepared).await), "two", "the connection is kept");
        let requests = server.requests().await;
        let text = &requests[0][0];
        assert!(
            text.starts_with("GET http://far.example:81/x?y=1 HTTP/1.1\r\nhost: far.example:81\r\n"),
            "{prefix}: {text}"
        );
        assert!(text.contains("\r\nproxy-authorization: Basic bWU6c2VjcmV0\r\n"), "{prefix}: {text}");
    }
}

#[tokio::test]
async fn a_redirect_through_a_proxy_stays_in_the_proxy() {
    let moved = "HTTP/1.1 302 Found\r\nlocation: http://other.example/y\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(vec![answer(moved).to_vec(), answer(&ok("there")).to_vec()]).await;
    let client = Client::new();
    let mut request = get("http://far.example/x");
    request.transport.proxy = Some(format!("http://u:p@{}", server.address));
    assert_eq!(body(&client.once(&request).await), "there");
    let requests = server.requests().await;
    assert!(requests[1][0].starts_with("GET http://other.example/y HTTP/1.1\r\n"), "{}", requests[1][0]);
    assert!(requests[1][0].contains("proxy-authorization: Basic dTpw"), "{}", requests[1][0]);
}

#[tokio::test]
async fn https_goes_through_a_tunnel_that_is_not_counted() {
    let mut options = Options::new(([127, 0, 0, 1], 0).into());
    options.tls = Some(TlsOptions::default());
    let target = Target::bind(options).expect("a free port").spawn().expect("a thread");
    let there = target.handle().listen();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut client, _) = listener.accept().await.expect("a connection");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.expect("a request"));
        }
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.expect("it reads");
        let mut server = TcpStream::connect(there).await.expect("the target listens");
        // Ends when either side closes, however it does.
        let _ = copy_bidirectional(&mut client, &mut server).await;
        String::from_utf8(head).expect("text")
    });
    let client = Client::new();
    let mut request = get(&format!("https://localhost:{}/echo", there.port()));
    request.transport.version = HttpVersion::Http1;
    request.transport.tls = Tls { insecure: true, ..Tls::default() };
    request.transport.proxy = Some(format!("http://me:secret@{address}"));
    let outcome = client.once(&request).await;
    assert_eq!((outcome.status.unwrap_or_default(), &outcome.error), (200, &None));
    assert!(
        !body(&outcome).contains("proxy-authorization"),
        "the origin does not get the proxy's credentials"
    );
    assert_eq!(client.progress.requests(), 1);
    drop(client);
    target.stop();
    let head = tasks.join_next().await.expect("one task").expect("it ran");
    let expected = format!("CONNECT localhost:{} HTTP/1.1\r\n", there.port());
    assert!(
        head.starts_with(&expected) && head.contains("proxy-authorization: Basic bWU6c2VjcmV0"),
        "{head}"
    );
}

#[tokio::test]
async fn a_proxy_that_refuses_the_tunnel_refuses_the_connection() {
    for (text, kind) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
            ErrorKind::ConnectRefused,
        ),
        ("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", ErrorKind::ConnectRefused),
        ("HTTP/1.1 200 OK\r\n\r\nsurplus", ErrorKind::Protocol),
        ("what?\r\n\r\n", ErrorKind::Protocol),
        ("", ErrorKind::Closed),
    ] {
        let server = Server::one([Act::Read, send(text)]).await;
        let client = Client::new();
        let mut request = get("https://far.example/");
        request.transport.proxy = Some(format!("http://{}", server.address));
        request.transport.tls.insecure = true;
        let outcome = client.once(&request).await;
        assert_eq!(outcome.error.expect("it fails").kind, kind, "{text}");
        assert_eq!(client.progress.requests(), 0);
    }
}
