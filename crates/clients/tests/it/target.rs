//! Against the built-in target: redirects, cookies, authentication, codings, streams, sockets and encryption, with the
//! target's own count as the witness.

use std::io::Write;
use std::path::PathBuf;

use hyperscale_clients::Outcome;
use hyperscale_clients::Protocol as _;
use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Auth, Body, HttpVersion, Part, PartContent, Stream, StreamEvents, Tls};
use hyperscale_target::{Options, Running, Target, TlsOptions};
use hyperscale_types::{ByteSize, ErrorKind, Span};
use tempfile::{NamedTempFile, TempDir};
use tokio::task::LocalSet;

use super::support::{Act, Client, Server, answer, body, get, happened, ok, template};

pub(crate) fn start(change: impl FnOnce(&mut Options)) -> Running {
    let mut options = Options::new(([127, 0, 0, 1], 0).into());
    change(&mut options);
    Target::bind(options).expect("a free port").spawn().expect("a thread")
}

pub(crate) fn url(target: &Running, path: &str) -> String {
    format!("http://{}{path}", target.handle().listen())
}

pub(crate) fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.error.as_ref().map(|error| error.kind)
}

#[tokio::test]
async fn forked_calls_of_one_session_have_connections_of_their_own_and_leave_them_for_later() {
    let target = start(|_| {});
    let client = Client::new();
    let prepared = client.prepare(&get(&url(&target, "/delay/20"))).await;
    for _ in 0..2 {
        let (one, two) = tokio::join!(client.call(&prepared), client.call(&prepared));
        assert_eq!((one.status.unwrap_or_default(), two.status.unwrap_or_default()), (200, 200));
        assert_eq!(target.handle().stats().connections.opened, 2);
    }
}

#[tokio::test]
async fn redirects_are_followed_and_every_hop_is_counted() {
    let target = start(|_| {});
    let client = Client::new();
    let outcome = client.once(&get(&url(&target, "/redirect/3"))).await;
    assert_eq!(
        (outcome.status.unwrap_or_default(), &outcome.error, body(&outcome).as_str()),
        (200, &None, "Hello, World!")
    );
    assert_eq!(client.progress.requests(), 4);
    assert_eq!(target.handle().settled_stats().await.requests, 4);
    assert_eq!(target.handle().stats().connections.opened, 1, "all hops on one connection");
}

#[tokio::test]
async fn the_limit_of_redirects_is_an_error_and_none_means_the_redirect_is_the_answer() {
    let target = start(|_| {});
    let client = Client::new();
    let mut request = get(&url(&target, "/redirect/3"));
    request.limits.redirects = 2;
    let outcome = client.once(&request).await;
    assert_eq!((kind(&outcome), outcome.status.unwrap_or_default()), (Some(ErrorKind::Protocol), 302));
    assert_eq!(client.progress.requests(), 3);
    request.limits.redirects = 0;
    let outcome = client.once(&request).await;
    assert_eq!((kind(&outcome), outcome.status.unwrap_or_default()), (None, 302));
}

#[tokio::test]
async fn methods_and_bodies_change_with_the_kind_of_redirect() {
    let target = start(|_| {});
    for (status, method, expected, with_body) in [
        (301, "POST", "GET", false),
        (302, "POST", "GET", false),
        (303, "PUT", "GET", false),
        (307, "POST", "POST", true),
        (308, "PUT", "PUT", true),
        (302, "DELETE", "DELETE", true),
    ] {
        let mut request = get(&url(&target, &format!("/redirect-to?url=/echo&status={status}")));
        request.method = method.to_owned();
        request.body = Body::Text(template("body {{ id }}"));
        let outcome = Client::new().once(&request).await;
        let echo: serde_json::Value = serde_json::from_str(&body(&outcome)).expect("JSON");
        assert_eq!(echo["method"], expected, "{status} {method}: {echo}");
        assert_eq!(
            echo["body"].as_str().is_some_and(|body| body == "body 42"),
            with_body,
            "{status}: {echo}"
        );
    }
}

#[tokio::test]
async fn another_origin_gets_no_credentials() {
    let (first, second) = (start(|_| {}), start(|_| {}));
    for (to, expected) in [(url(&first, "/echo"), true), (url(&second, "/echo"), false)] {
        let mut request = get(&url(&first, &format!("/redirect-to?url={to}")));
        request.auth = Some(Auth::Bearer(template("secret")));
        request.cookies = vec![("own".parse().expect("a name"), template("1"))];
        let outcome = Client::new().once(&request).await;
        let text = body(&outcome);
        assert_eq!((text.contains("Bearer secret"), text.contains("own=1")), (expected, expected), "{text}");
    }
}

#[tokio::test]
async fn cookies_are_kept_by_the_session_and_sent_with_the_plans_own() {
    let target = start(|_| {});
    let client = Client::new();
    assert_eq!(client.once(&get(&url(&target, "/cookies/set?a=1&b=2"))).await.error, None);
    let mut request = get(&url(&target, "/cookies"));
    assert_eq!(body(&client.once(&request).await), r#"{"a":"1","b":"2"}"#);
    request.cookies = vec![("own".parse().expect("a name"), template("{{ id }}"))];
    assert_eq!(body(&client.once(&request).await), r#"{"own":"42","a":"1","b":"2"}"#);
    request.cookie_jar = false;
    assert_eq!(body(&client.once(&request).await), r#"{"own":"42"}"#);
    request.cookie_jar = true;
    assert_eq!(body(&Client::new().once(&request).await), r#"{"own":"42"}"#, "another session has none");
    let set = client.once(&get(&url(&target, "/cookies/set?c=3"))).await;
    assert_eq!(
        set.response.and_then(|response| response.cookie("c").map(<[u8]>::to_vec)),
        Some(b"3".to_vec())
    );
}

#[tokio::test]
async fn cookies_set_on_the_way_are_sent_to_the_next_hop() {
    let sets = "HTTP/1.1 302 Found\r\nlocation: /next\r\nset-cookie: session=x\r\ncontent-length: 0\r\n\r\n";
    let server = Server::one([answer(sets), answer(&ok("there"))].concat()).await;
    assert_eq!(Client::new().once(&get(&server.url("/"))).await.error, None);
    let seen = server.requests().await.concat();
    assert!(!seen[0].contains("cookie:"), "{}", seen[0]);
    assert!(seen[1].contains("\r\ncookie: session=x\r\n"), "{}", seen[1]);
}

#[tokio::test]
async fn nothing_of_a_redirect_is_left_in_the_answer_of_the_next_hop() {
    let redirect = "HTTP/1.1 302 Found\r\nlocation: /next\r\nx-old: 1\r\ncontent-length: 3\r\n\r\nold";
    let server = Server::one([answer(redirect), [Act::Read, Act::Reset]].concat()).await;
    let outcome = Client::new().once(&get(&server.url("/"))).await;
    assert_eq!(outcome.error.map(|error| error.kind), Some(ErrorKind::Reset));
    assert!(outcome.status.is_none() && outcome.response.is_none(), "{:?}", outcome.response);
    let server = Server::one([answer(redirect), answer(&ok("new"))].concat()).await;
    let outcome = Client::new().once(&get(&server.url("/"))).await;
    let response = outcome.response.expect("it was kept");
    assert_eq!((response.body.as_slice(), response.header("x-old")), (&b"new"[..], None));
}

#[tokio::test]
async fn a_compressed_redirect_does_not_spoil_the_stream_it_leads_to() {
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: /events\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nzz";
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 22\r\n\r\ndata: one\n\ndata: two\n\n";
    let server = Server::one([answer(redirect), answer(events)].concat()).await;
    let mut request = get(&server.url("/"));
    let events = StreamEvents::Sse;
    request.stream = Some(Stream { events, max_events: None, until: None, max_time: None });
    let outcome = Client::new().once(&request).await;
    assert_eq!(kind(&outcome), None);
    let stream = outcome.stream.expect("a stream");
    assert_eq!((stream.first_event_ns.is_some(), stream.gaps_ns.len()), (true, 1), "two events");
}

#[tokio::test]
async fn a_virtual_user_keeps_a_connection_to_each_of_many_hosts() {
    let options = Options::new(([0, 0, 0, 0], 0).into());
    let target = Target::bind(options).expect("a free port").spawn().expect("a thread");
    let client = Client::new();
    let port = target.handle().listen().port();
    let mut prepared = Vec::new();
    for host in 1..=100 {
        prepared.push(client.prepare(&get(&format!("http://127.0.0.{host}:{port}/"))).await);
    }
    for _ in 0..3 {
        for prepared in &prepared {
            assert_eq!(kind(&client.call(prepared).await), None);
        }
    }
    assert_eq!(target.handle().stats().connections.opened, 100);
}

#[tokio::test]
async fn coded_bodies_are_decoded_when_somebody_needs_them() {
    let target = start(|_| {});
    let plain = body(&Client::new().once(&get(&url(&target, "/json"))).await);
    for coding in ["gzip", "br", "zstd"] {
        let mut request = get(&url(&target, &format!("/{coding}")));
        request.compression = true;
        let outcome = Client::new().once(&request).await;
        assert_eq!(kind(&outcome), None);
        assert_eq!(body(&outcome), plain, "{coding}");
        request.limits.max_body = Some(ByteSize(plain.len() as u64 - 1));
        let outcome = Client::new().once(&request).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::TooLarge), "{coding}");
    }
}

#[tokio::test]
async fn multipart_bodies_carry_fields_and_files() {
    let target = start(|_| {});
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(b"file bytes").expect("a file");
    let mut request = get(&url(&target, "/echo"));
    request.method = "POST".to_owned();
    request.body = Body::Multipart(vec![
        Part {
            name: "a\"b".to_owned(),
            content: PartContent::Text(template("x{{ id }}")),
            content_type: None,
        },
        Part {
            name: "f".to_owned(),
            content: PartContent::File { path: file.path().to_owned(), filename: "f.bin".to_owned() },
            content_type: Some("image/png".to_owned()),
        },
    ]);
    let outcome = Client::new().once(&request).await;
    let echo: serde_json::Value = serde_json::from_str(&body(&outcome)).expect("JSON");
    let sent = echo["body"].as_str().expect("text");
    let boundary = sent.lines().next().expect("a line").trim_start_matches("--");
    assert_eq!(
        sent,
        format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"a%22b\"\r\n\r\nx42\r\n--{boundary}\r\n\
             content-disposition: form-data; name=\"f\"; filename=\"f.bin\"\r\ncontent-type: image/png\r\n\r\n\
             file bytes\r\n--{boundary}--\r\n"
        )
    );
    assert!(echo.to_string().contains(&format!("multipart/form-data; boundary={boundary}")));
}

#[tokio::test]
async fn streams_are_counted_and_left_when_the_plan_says_so() {
    let target = start(|_| {});
    let stream = |max_events, until: Option<&str>, max_time| {
        Some(Stream { events: StreamEvents::Sse, max_events, until: until.map(str::to_owned), max_time })
    };
    for (path, settings, events) in [
        ("/sse?events=5", stream(None, None, None), 5),
        ("/sse?events=1000000&interval=1", stream(Some(3), None, None), 3),
        ("/sse?events=1000000&interval=50", stream(None, None, Some(Span::from_millis(20))), 1),
    ] {
        let client = Client::new();
        let mut request = get(&url(&target, path));
        request.stream = settings;
        let outcome = client.once(&request).await;
        assert_eq!((outcome.status.unwrap_or_default(), kind(&outcome)), (200, None), "{path}");
        let stats = outcome.stream.expect("a stream");
        assert_eq!(stats.events, events, "{path}");
        assert!(stats.first_event_ns.is_some());
        assert_eq!(client.once(&get(&url(&target, "/"))).await.error, None, "the session is still usable");
    }
}

#[tokio::test]
async fn a_unix_socket_replaces_host_and_port() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("socket");
    let _target = start(|options| options.unix = Some(path.clone()));
    let client = Client::new();
    let mut request = get("http://anywhere/echo");
    request.transport.unix = Some(path);
    let outcome = client.once(&request).await;
    assert_eq!(kind(&outcome), None);
    assert!(body(&outcome).contains("anywhere"));
    request.transport.unix = Some(PathBuf::from("/nowhere/at/all"));
    assert_eq!(kind(&client.once(&request).await), Some(ErrorKind::ConnectRefused));
}

/// A target with TLS, and its authority in a file.
fn start_tls() -> (Running, NamedTempFile) {
    let target = start(|options| options.tls = Some(TlsOptions::default()));
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(target.handle().ca_pem().expect("an authority").as_bytes()).expect("a file");
    (target, file)
}

fn tls_request(target: &Running, version: HttpVersion, tls: Tls) -> HttpRequest {
    let mut request = get(&url(target, "/echo").replace("http:", "https:"));
    request.transport.version = version;
    request.transport.tls = tls;
    request
}

#[tokio::test]
async fn tls_trusts_whom_the_plan_trusts_and_nobody_else() {
    let (target, ca) = start_tls();
    let trusted = Tls { ca: Some(ca.path().to_owned()), ..Tls::default() };
    let client = Client::new();
    let prepared = client.prepare(&tls_request(&target, HttpVersion::Http1, trusted.clone())).await;
    let first = client.call(&prepared).await;
    assert_eq!((first.status.unwrap_or_default(), kind(&first)), (200, None));
    assert_eq!(happened(&first), [true; 5]);
    let second = client.call(&prepared).await;
    assert_eq!(
        (second.status.unwrap_or_default(), happened(&second)[1]),
        (200, false),
        "the connection is kept"
    );
    assert_eq!(target.handle().stats().connections.opened, 1);

    let insecure = Tls { insecure: true, ..Tls::default() };
    assert_eq!(kind(&Client::new().once(&tls_request(&target, HttpVersion::Http1, insecure)).await), None);

    let (other, _) = start_tls();
    let wrong_name = Tls { sni: Some("elsewhere.example".to_owned()), ..trusted.clone() };
    for (request, word) in [
        (tls_request(&other, HttpVersion::Http1, trusted), "insecure: true"),
        (tls_request(&target, HttpVersion::Http1, wrong_name), "another name"),
    ] {
        let client = Client::new();
        let outcome = client.once(&request).await;
        let error = outcome.error.expect("it fails");
        assert_eq!(error.kind, ErrorKind::Tls);
        assert!(error.message.contains(word), "{error}");
        assert_eq!(client.progress.requests(), 0);
    }
}

#[tokio::test]
async fn tls_to_a_port_that_speaks_plain_is_a_tls_error() {
    let target = start(|_| {});
    let insecure = Tls { insecure: true, ..Tls::default() };
    let outcome = Client::new().once(&tls_request(&target, HttpVersion::Http1, insecure)).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Tls));
}

#[tokio::test]
async fn http2_is_spoken_where_it_is_agreed_on() {
    LocalSet::new()
        .run_until(async {
            let (target, ca) = start_tls();
            let trusted = Tls { ca: Some(ca.path().to_owned()), ..Tls::default() };
            for version in [HttpVersion::Auto, HttpVersion::Http2] {
                let client = Client::new();
                let mut request = tls_request(&target, version, trusted.clone());
                request.method = "POST".to_owned();
                request.body = Body::Text(template("body {{ id }}"));
                let prepared = client.prepare(&request).await;
                for _ in 0..2 {
                    let outcome = client.call(&prepared).await;
                    assert_eq!(
                        (outcome.status.unwrap_or_default(), kind(&outcome)),
                        (200, None),
                        "{version:?}"
                    );
                    let echo: serde_json::Value = serde_json::from_str(&body(&outcome)).expect("JSON");
                    assert_eq!(echo["body"], "body 42");
                    assert_eq!(happened(&outcome)[3..], [true; 2]);
                }
                assert_eq!(client.progress.requests(), 2);
            }
            assert_eq!(target.handle().stats().connections.opened, 2, "one per client");
        })
        .await;
}

#[tokio::test]
async fn http2_with_prior_knowledge_follows_redirects_and_keeps_cookies() {
    LocalSet::new()
        .run_until(async {
            let target = start(|_| {});
            let client = Client::new();
            let h2 = |path: &str| {
                let mut request = get(&url(&target, path));
                request.transport.version = HttpVersion::Http2;
                request
            };
            assert_eq!(client.once(&h2("/cookies/set?a=1")).await.error, None);
            let outcome = client.once(&h2("/redirect-to?url=/cookies")).await;
            assert_eq!(body(&outcome), r#"{"a":"1"}"#);
            let mut large = h2("/bytes/100000");
            large.limits.max_body = Some(ByteSize(99_999));
            assert_eq!(kind(&client.once(&large).await), Some(ErrorKind::TooLarge));
            let mut slow = h2("/delay/10000");
            slow.limits.timeout = Span::from_millis(50);
            assert_eq!(kind(&client.once(&slow).await), Some(ErrorKind::Timeout));
            assert_eq!(client.progress.requests(), 5);
            assert_eq!(target.handle().stats().connections.opened, 1);
        })
        .await;
}

#[tokio::test]
async fn http2_connections_are_shared_by_sessions_if_the_plan_says_so() {
    LocalSet::new()
        .run_until(async {
            let target = start(|_| {});
            let client = Client::new();
            let mut request = get(&url(&target, "/delay/5"));
            request.transport.version = HttpVersion::Http2;
            request.transport.connections = Some(2);
            let prepared = client.prepare(&request).await;
            let sessions: Vec<_> = (0..8).map(|_| hyperscale_clients::http::Session::new()).collect();
            let calls = sessions
                .iter()
                .map(|session| client.http.call(session, &prepared, &client.scope, &client.progress));
            for outcome in join_all(calls).await {
                assert_eq!((outcome.status.unwrap_or_default(), kind(&outcome)), (200, None));
            }
            assert_eq!(target.handle().stats().connections.opened, 2);
            assert_eq!(client.progress.requests(), 8);
        })
        .await;
}

/// Runs futures side by side.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        for (future, output) in &mut running {
            if output.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *output = Some(value);
            }
        }
        if running.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}
