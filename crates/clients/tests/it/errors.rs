//! Every way a call can fail has its kind, and nothing is repeated silently.

use std::time::Duration;

use hyperscale_clients::Outcome;
use hyperscale_clients::network::MemoryNetwork;
use hyperscale_types::{ByteSize, ErrorKind, Span};
use tokio::net::TcpListener;

use super::support::{Act, Client, Server, answer, get, ok, send};

fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.error.as_ref().map(|error| error.kind)
}

#[tokio::test]
async fn nobody_listens() {
    let free = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = free.local_addr().expect("it is bound");
    drop(free);
    let client = Client::new();
    let outcome = client.once(&get(&format!("http://{address}/"))).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::ConnectRefused));
    assert!(outcome.error.expect("it fails").message.contains(&address.to_string()));
    assert_eq!(
        (outcome.status.unwrap_or_default(), client.progress.requests(), client.progress.bytes_sent()),
        (0, 0, 0)
    );
}

#[tokio::test]
async fn a_name_that_does_not_exist() {
    let client = Client::new();
    let outcome = client.once(&get("http://nothing.invalid/")).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Dns));
    assert!(outcome.error.expect("it fails").message.contains("nothing.invalid"));
}

#[tokio::test]
async fn connections_closed_or_reset_at_every_point() {
    let cases: [(&[Act], ErrorKind, u32); 6] = [
        (&[Act::Read], ErrorKind::Closed, 1),
        (&[Act::Read, send("HTTP/1.1 200")], ErrorKind::Closed, 1),
        (&[Act::Read, send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell")], ErrorKind::Closed, 1),
        (
            &[Act::Read, send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")],
            ErrorKind::Closed,
            1,
        ),
        (&[Act::Read, Act::Reset], ErrorKind::Reset, 1),
        (&[Act::Read, send("HTTP/1.1 200 OK\r\n"), Act::Reset], ErrorKind::Reset, 1),
    ];
    for (acts, expected, requests) in cases {
        let server = Server::one(acts.to_vec()).await;
        let client = Client::new();
        let outcome = client.once(&get(&server.url("/"))).await;
        assert_eq!(kind(&outcome), Some(expected), "{acts:?}");
        assert_eq!(client.progress.requests(), requests, "{acts:?}");
        assert_eq!(server.requests().await[0].len(), 1, "never repeated");
    }
}

#[tokio::test]
async fn a_kept_connection_closed_before_the_answer_is_closed_and_not_repeated() {
    let server = Server::start(vec![[&answer(&ok("x"))[..], &[Act::Read]].concat()]).await;
    let client = Client::new();
    let prepared = client.prepare(&get(&server.url("/"))).await;
    assert_eq!(kind(&client.call(&prepared).await), None);
    let outcome = client.call(&prepared).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Closed));
    assert_eq!(client.progress.requests(), 2);
    assert_eq!(server.requests().await[0].len(), 2);
}

#[tokio::test]
async fn what_is_not_http_is_a_protocol_error() {
    for text in [
        "SSH-2.0-OpenSSH_9\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    ] {
        let server = Server::one([Act::Read, send(text), Act::AwaitClose]).await;
        let outcome = Client::new().once(&get(&server.url("/"))).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::Protocol), "{text}");
        server.requests().await;
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_times_out_wherever_it_is() {
    for acts in [
        vec![Act::Read, Act::AwaitClose],
        vec![Act::Read, send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe"), Act::AwaitClose],
    ] {
        let server = Server::one(acts).await;
        let client = Client::new();
        let mut request = get(&server.url("/"));
        request.limits.timeout = Span::from_millis(50);
        let outcome = client.once(&request).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
        assert!(outcome.ended.since(outcome.started) >= Duration::from_millis(50));
        assert_eq!(client.progress.requests(), 1);
        server.requests().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_timer_of_an_earlier_call_does_not_end_a_later_one() {
    let client = Client::on(MemoryNetwork::answering(ok("a")));
    let mut request = get("http://memory.example/");
    request.limits.timeout = Span::from_secs(60);
    let prepared = client.prepare(&request).await;
    assert_eq!(kind(&client.call(&prepared).await), None);
    // The timer armed by the first call fires while nothing is called, on the runtime's model clock.
    tokio::time::sleep(Duration::from_secs(80)).await;
    assert_eq!(kind(&client.call(&prepared).await), None);
}

#[tokio::test]
async fn a_peer_that_never_accepts_is_a_connect_timeout() {
    // A listener whose queue is full: further connections hang.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let socket = socket2::SockRef::from(&listener);
    socket.listen(0).expect("a shorter queue");
    let _queued: Vec<_> = (0..2)
        .map(|_| {
            let queued =
                socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
            queued.set_nonblocking(true).expect("a socket");
            let _in_progress = queued.connect(&address.into());
            queued
        })
        .collect();
    let client = Client::new();
    let mut request = get(&format!("http://{address}/"));
    request.limits.connect_timeout = Span::from_millis(100);
    let outcome = client.once(&request).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::ConnectTimeout));
    assert_eq!(client.progress.requests(), 0);
    request.limits.connect_timeout = Span::from_secs(5);
    request.limits.timeout = Span::from_millis(100);
    assert_eq!(kind(&Client::new().once(&request).await), Some(ErrorKind::Timeout));
}

#[tokio::test]
async fn a_body_over_max_body_is_too_large_even_if_nobody_needs_it() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n";
    for text in
        ["HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef", chunked, "HTTP/1.1 200 OK\r\n\r\nabcdef"]
    {
        let server = Server::one(answer(text)).await;
        let mut request = get(&server.url("/"));
        request.limits.max_body = Some(ByteSize(5));
        let outcome = Client::new().once(&request).await;
        assert_eq!(
            (kind(&outcome), outcome.status.unwrap_or_default()),
            (Some(ErrorKind::TooLarge), 200),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_unexpected_status_fails_and_keeps_the_answer() {
    let server = Server::one(answer("HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy")).await;
    let outcome = Client::new().once(&get(&server.url("/"))).await;
    assert_eq!((kind(&outcome), outcome.status.unwrap_or_default()), (Some(ErrorKind::Status), 503));
    assert_eq!(super::support::body(&outcome), "busy");
}

#[tokio::test]
async fn a_template_that_cannot_be_filled_sends_nothing() {
    let server = Server::one([Act::AwaitClose]).await;
    for path in ["/{{ missing }}", "/{{ missing.x }}"] {
        let client = Client::new();
        let outcome = client.once(&get(&server.url(path))).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::Template), "{path}");
        assert_eq!(client.progress.bytes_sent(), 0);
    }
    let client = Client::new();
    let outcome = client.once(&get("{{ origin }}/x")).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Template), "an empty origin is no URL");
}

#[tokio::test]
async fn what_can_never_work_is_refused_in_preparation() {
    let client = Client::new();
    let prepare = async |request| {
        let error = client.try_prepare(&request).await.err().expect("it is refused");
        assert!(!error.is_unreachable);
        error.to_string()
    };
    assert_eq!(prepare(get("ftp://h/")).await, "`ftp://h`: unsupported scheme (http and https are)");
    assert_eq!(
        prepare(get("http://h/a b")).await,
        "`http://h/a b`: character that must be percent-encoded at byte 10"
    );
    let mut request = get("http://h/");
    request.transport.proxy = Some("https://proxy".to_owned());
    assert_eq!(prepare(request).await, "proxy `https://proxy`: only http:// proxies are supported");
    let mut request = get("http://h/");
    request.body = hyperscale_plan::model::http::Body::File("/nowhere/at/all".into());
    assert!(prepare(request).await.starts_with("/nowhere/at/all: "));
    let mut request = get("https://h/");
    request.transport.tls.ca = Some("/nowhere/at/all".into());
    assert!(prepare(request).await.starts_with("TLS: /nowhere/at/all: "));
    let mut request = get("http://h/");
    request.headers.push(("x-a".to_owned(), super::support::template("a\nb")));
    assert!(prepare(request).await.contains("a\nb"));
}
