//! Answers in every form, connections kept and closed, what is counted.

use hyperscale_clients::Outcome;
use hyperscale_clients::network::MemoryNetwork;
use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Body, HttpVersion, Reuse};
use hyperscale_plan::model::step::Needs;
use hyperscale_types::ErrorKind;
use hyperscale_types::rule::Phase;
use tokio::net::TcpListener;
use tokio::task::LocalSet;

use super::support::{Act, Client, EVERYTHING, Server, answer, body, get, happened, ok, send, template};

#[tokio::test]
async fn a_connection_is_kept_and_its_phases_are_measured_once() {
    let server = Server::one([answer(&ok("one")), answer(&ok("two")), answer(&ok("three"))].concat()).await;
    let client = Client::new();
    let prepared = client.prepare(&get(&server.url("/a?b=c"))).await;
    let first = client.call(&prepared).await;
    assert_eq!((first.status.unwrap_or_default(), &first.error, body(&first).as_str()), (200, &None, "one"));
    assert_eq!(happened(&first), [true, false, true, true, true]);
    for expected in ["two", "three"] {
        let outcome = client.call(&prepared).await;
        assert_eq!(body(&outcome), expected);
        assert_eq!(happened(&outcome), [false, false, true, true, true]);
        let sum: u64 = Phase::ALL.iter().filter_map(|phase| outcome.phases.ns(*phase)).sum();
        assert_eq!(outcome.ended.nanos_since(outcome.started), sum, "phases add up to the call");
    }
    assert_eq!(client.progress.requests(), 3);
    let requests = server.requests().await;
    assert_eq!(requests.len(), 1, "one connection");
    let text = &requests[0][0];
    assert!(text.starts_with("GET /a?b=c HTTP/1.1\r\nhost: 127.0.0.1:"), "{text}");
    assert_eq!(
        client.progress.bytes_sent(),
        requests[0].iter().map(|request| request.len() as u64).sum::<u64>()
    );
    let received: usize = ["one", "two", "three"].iter().map(|text| ok(text).len()).sum();
    assert_eq!(client.progress.bytes_received(), received as u64);
}

#[tokio::test]
async fn an_answer_that_comes_byte_by_byte_is_the_same_answer() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-a: b\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nt: u\r\n\r\n";
    let server = Server::one([Act::Read, Act::SendSlowly(chunked.into()), Act::Read, send(ok("next"))]).await;
    let client = Client::new();
    let prepared = client.prepare(&get(&server.url("/"))).await;
    let outcome = client.call(&prepared).await;
    assert_eq!(
        (outcome.status.unwrap_or_default(), &outcome.error, body(&outcome).as_str()),
        (200, &None, "abcde")
    );
    assert_eq!(outcome.response.as_ref().and_then(|response| response.header("x-a")), Some(&b"b"[..]));
    assert!(outcome.phases.ns(Phase::Read) > Some(0));
    assert_eq!(body(&client.call(&prepared).await), "next");
}

#[tokio::test]
async fn every_split_of_an_answer_in_memory_gives_the_same_outcome() {
    let text = b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    for cut in 1..text.len() {
        let pieces = vec![text[..cut].to_vec(), text[cut..].to_vec()];
        let client = Client::on(MemoryNetwork::in_pieces(pieces, false));
        let prepared = client.prepare(&get("http://h/")).await;
        for _ in 0..2 {
            let outcome = client.call(&prepared).await;
            assert_eq!(
                (outcome.status.unwrap_or_default(), &outcome.error, body(&outcome).as_str()),
                (200, &None, "hello"),
                "{cut}"
            );
        }
        assert_eq!(client.progress.bytes_received(), 2 * text.len() as u64);
    }
}

#[tokio::test]
async fn a_connection_is_closed_when_the_answer_or_its_version_says_so() {
    for text in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\n\r\nok",
    ] {
        let server = Server::start(vec![answer(text).to_vec(), answer(text).to_vec()]).await;
        let client = Client::new();
        let prepared = client.prepare(&get(&server.url("/"))).await;
        for _ in 0..2 {
            let outcome = client.call(&prepared).await;
            assert_eq!(
                (outcome.status.unwrap_or_default(), &outcome.error, body(&outcome).as_str()),
                (200, &None, "ok"),
                "{text}"
            );
            assert!(happened(&outcome)[0]);
        }
        assert_eq!(server.requests().await.len(), 2);
    }
}

#[tokio::test]
async fn answers_without_a_body_leave_the_connection_usable() {
    let acts = [
        answer("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"),
        answer("HTTP/1.1 204 No\r\n\r\n"),
        answer("HTTP/1.1 304 No\r\ncontent-length: 7\r\n\r\n"),
        answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"),
    ];
    let server = Server::one(acts.concat()).await;
    let client = Client::new();
    let mut head = get(&server.url("/"));
    head.method = "HEAD".to_owned();
    assert_eq!(client.once(&head).await.status, Some(200));
    let prepared = client.prepare(&get(&server.url("/"))).await;
    for status in [204, 304, 200] {
        let outcome = client.call(&prepared).await;
        assert_eq!((outcome.status.unwrap_or_default(), outcome.error), (status, None));
    }
    assert_eq!(server.requests().await.len(), 1, "one connection");
}

#[tokio::test]
async fn a_switch_of_protocols_is_an_answer_and_ends_the_connection() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n\x01\x02";
    let server = Server::start(vec![answer(switch).to_vec(), answer(&ok("new")).to_vec()]).await;
    let client = Client::new();
    let mut request = get(&server.url("/"));
    request.expect.0 = vec![(101, 101), (200, 200)];
    let prepared = client.prepare(&request).await;
    let outcome = client.call(&prepared).await;
    assert_eq!((outcome.status.unwrap_or_default(), outcome.error), (101, None));
    assert_eq!(body(&client.call(&prepared).await), "new");
}

#[tokio::test]
async fn reuse_decides_how_long_a_connection_lives() {
    for (reuse, connections) in [(Reuse::Vu, 1), (Reuse::Iteration, 2), (Reuse::Call, 4)] {
        let per_connection = 4 / connections;
        let acts: Vec<Act> = (0..per_connection).flat_map(|_| answer(&ok("x"))).collect();
        let server = Server::start(vec![acts; connections]).await;
        let client = Client::new();
        let mut request = get(&server.url("/"));
        request.transport.reuse = reuse;
        let prepared = client.prepare(&request).await;
        for iteration in 0..2 {
            for call in 0..2 {
                let outcome = client.call(&prepared).await;
                assert_eq!(outcome.error, None, "{reuse:?} {iteration} {call}");
            }
            client.session.end_iteration();
        }
        let requests = server.requests().await;
        assert_eq!(requests.len(), connections, "{reuse:?}");
        assert_eq!(requests[0][0].contains("connection: close\r\n"), reuse == Reuse::Call);
    }
}

#[tokio::test]
async fn a_connection_known_to_be_dead_is_replaced_without_counting() {
    // Turns after which a runtime has looked at its sockets (`event_interval`), with room to spare.
    const TURNS: usize = 1_000;
    let mut old = Server::start(vec![answer(&ok("old")).to_vec()]).await;
    let client = Client::new();
    let prepared = client.prepare(&get(&old.url("/"))).await;
    assert_eq!(body(&client.call(&prepared).await), "old");
    old.wait_for_end().await;
    let _new = Server::at(old.address, vec![answer(&ok("new")).to_vec()]).await;
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    assert_eq!(body(&client.call(&prepared).await), "new");
    assert_eq!(client.progress.requests(), 2);
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection_and_leaves_its_progress() {
    let server = Server::start(vec![vec![Act::Read, Act::AwaitClose], answer(&ok("new")).to_vec()]).await;
    let client = Client::new();
    let prepared = client.prepare(&get(&server.url("/"))).await;
    {
        let mut call = std::pin::pin!(client.call(&prepared));
        while client.progress.requests() == 0 {
            tokio::select! {
                biased;
                outcome = &mut call => panic!("nobody answers: {outcome:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    assert!(client.progress.started().is_some() && client.progress.bytes_sent() > 0);
    assert_eq!(body(&client.call(&prepared).await), "new", "on a new connection");
    assert_eq!(server.requests().await.len(), 2);
}

#[tokio::test]
async fn bytes_after_the_answer_are_a_protocol_error() {
    let surplus = format!("{}HTTP/1.1 200 OK\r\n\r\n", ok("x"));
    let server = Server::start(vec![answer(&surplus).to_vec(), answer(&ok("y")).to_vec()]).await;
    let client = Client::new();
    let prepared = client.prepare(&get(&server.url("/"))).await;
    let outcome = client.call(&prepared).await;
    assert_eq!(outcome.error.expect("it fails").kind, ErrorKind::Protocol);
    assert_eq!(body(&client.call(&prepared).await), "y", "on a new connection");
}

#[tokio::test]
async fn a_large_request_and_answer_pass_through_full_buffers() {
    let size = 3 << 20;
    let big = "b".repeat(size);
    let server = Server::one(answer(&ok(&big))).await;
    let client = Client::new();
    let mut request = get(&server.url("/{{ id }}"));
    request.method = "POST".to_owned();
    request.body = Body::Text(template(&"a".repeat(1 << 20)));
    let outcome = client.once(&request).await;
    assert_eq!((outcome.status.unwrap_or_default(), &outcome.error), (200, &None));
    assert_eq!(body(&outcome).len(), size);
    let requests = server.requests().await;
    assert_eq!(requests[0][0].len() as u64, client.progress.bytes_sent());
    assert!(requests[0][0].ends_with(&"a".repeat(1 << 20)));
}

/// Sends a request that does not fit into the buffers of two sockets.
async fn post_much(client: &Client, url: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("body");
    std::fs::write(&file, vec![b'b'; 16 << 20]).expect("a file");
    let request = HttpRequest { method: "POST".to_owned(), body: Body::File(file), ..get(url) };
    client.once(&request).await
}

#[tokio::test]
async fn an_answer_counts_though_the_peer_never_takes_the_whole_request() {
    let refusal = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
    let server = Server::one([send(refusal), Act::Hold]).await;
    let client = Client::new();
    let outcome = post_much(&client, &server.url("/")).await;
    assert_eq!((outcome.status.unwrap_or_default(), body(&outcome).as_str()), (413, "no"));
    assert_eq!(outcome.error.as_ref().map(|error| error.kind), Some(ErrorKind::Status));
    assert_eq!(happened(&outcome), [true, false, true, true, true]);
    assert_eq!(client.progress.requests(), 1);
}

#[tokio::test]
async fn a_peer_that_takes_nothing_until_its_answer_is_read_is_no_deadlock() {
    let whole = ok(&"a".repeat(8 << 20));
    let (begin, end) = whole.split_at(whole.len() - 1);
    let server = Server::one([send(begin), Act::Read, send(end), Act::Read, send(ok("next"))]).await;
    let client = Client::new();
    let outcome = post_much(&client, &server.url("/")).await;
    assert_eq!(
        (outcome.status.unwrap_or_default(), &outcome.error, body(&outcome).len()),
        (200, &None, 8 << 20)
    );
    assert_eq!(body(&client.once(&get(&server.url("/"))).await), "next", "on the same connection");
}

#[tokio::test]
async fn answers_are_told_apart_however_much_their_heads_look_alike() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n";
    let closing = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nend";
    let texts = [&ok("one"), &ok("two"), &ok("three"), chunked, chunked, &ok("two"), closing];
    let acts = texts.map(answer).concat();
    let server = Server::start(vec![acts, answer(&ok("new")).to_vec()]).await;
    let client = Client::new();
    let needs = Needs { headers: false, ..EVERYTHING };
    let request = get(&server.url("/"));
    let prepared = client.prepare_for(&request, needs).await.expect("it prepares");
    for expected in ["one", "two", "three", "four", "four", "two", "end", "new"] {
        assert_eq!(body(&client.call(&prepared).await), expected);
    }
    assert_eq!(server.requests().await.len(), 2, "closed when told to");
}

#[tokio::test]
async fn a_stream_that_is_answered_before_its_upload_has_ended_is_a_request() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let serve = async {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut connection = h2::server::handshake(stream).await.expect("it speaks HTTP/2");
        let (_request, mut respond) = connection.accept().await.expect("a request").expect("a request");
        respond.send_response(http::Response::new(()), true).expect("the client waits");
        while connection.accept().await.is_some() {}
    };
    let mut upload = get(&format!("http://{address}/"));
    "POST".clone_into(&mut upload.method);
    upload.body = Body::Bytes(vec![b'x'; 100_000].into());
    upload.transport.version = HttpVersion::Http2;
    let calls = async {
        let client = Client::new();
        let outcome = client.call(&client.prepare(&upload).await).await;
        (outcome.status, outcome.error, client.progress.requests())
    };
    let run = LocalSet::new();
    let (outcome, ()) = Box::pin(run.run_until(async { tokio::join!(calls, serve) })).await;
    assert_eq!(outcome, (Some(200), None, 1));
}
