//! HTTP/1 itself: framing, connections, bodies, rejections.

use std::os::unix::net::UnixStream;

use crate::wire::{PATIENCE, Wire, site};

#[test]
fn connection_is_kept_for_the_next_request() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for _ in 0..3 {
        assert_eq!(wire.get("/").text(), "Hello, World!");
    }
    assert_eq!(site.stats()["connections"]["opened"], 1);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
    wire.send(request("/bytes/3") + &request("/status/404") + &request("/"));
    assert_eq!(wire.response().body, b"012");
    assert_eq!(wire.response().status, 404);
    assert_eq!(wire.response().text(), "Hello, World!");
    assert_eq!(site.stats()["requests"], 3);
}

#[test]
fn head_that_comes_byte_by_byte_is_one_request() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for byte in b"GET / HTTP/1.1\r\nHost: test\r\n\r\n" {
        wire.send([*byte]);
    }
    assert_eq!(wire.response().status, 200);
    assert_eq!(site.stats()["requests"], 1);
}

#[test]
fn close_is_said_and_done_when_asked_for() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let response = wire.get_with("/", "Connection: close\r\n");
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(wire.rest(), b"");
}

#[test]
fn http_1_0_closes_unless_asked_to_keep() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(wire.response().header("connection"), Some("keep-alive"));
    wire.send("GET /chunked/2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let response = wire.response();
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.text(), "chunk 1\nchunk 2\n");
    assert_eq!(wire.rest(), b"");
}

#[test]
fn head_requests_get_length_but_no_body() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for (path, length) in [("/", "13"), ("/bytes/100000", "100000"), ("/json", "1163")] {
        let head = wire.request("HEAD", path, "").head();
        assert_eq!(head.header("content-length"), Some(length), "{path}");
    }
    assert_eq!(wire.get("/").text(), "Hello, World!", "nothing was left over");
}

#[test]
fn bodies_are_read_by_length_and_by_chunks() {
    let site = site(|_| {});
    let mut wire = site.connect();
    assert_eq!(wire.post("/echo?raw", "text/plain", "by length").text(), "by length");
    wire.request("POST", "/echo?raw", "Transfer-Encoding: chunked\r\n");
    wire.send("3\r\nby \r\n6;name=value\r\nchunks\r\n0\r\nX-Trailer: 1\r\n\r\n");
    assert_eq!(wire.response().text(), "by chunks");
    assert_eq!(wire.get("/").status, 200, "the next request starts where the body ended");
}

#[test]
fn bodies_nobody_asked_for_are_skipped() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let large = "x".repeat(1 << 20);
    assert_eq!(wire.post("/", "text/plain", &large).text(), "Hello, World!");
    assert_eq!(wire.post("/status/201", "text/plain", &large).status, 201);
}

#[test]
fn expected_continue_is_sent_before_the_body() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.request("POST", "/echo?raw", "Content-Length: 4\r\nExpect: 100-continue\r\n");
    assert_eq!(wire.response().status, 100);
    assert_eq!(wire.send("body").response().text(), "body");
}

#[test]
fn body_larger_than_what_is_kept_is_refused() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.request("POST", "/echo", "Content-Length: 17825792\r\n");
    // The target stops reading once the limit is passed, so the end of the body may not arrive any more.
    let mut sent = 0;
    while sent < 17_825_792 && std::io::Write::write_all(&mut wire.stream, &[b'x'; 8_192]).is_ok() {
        sent += 8_192;
    }
    assert_eq!(wire.response().status, 413);
}

#[test]
fn bytes_that_are_no_http_are_refused_and_not_counted() {
    let site = site(|_| {});
    for (text, status) in [
        ("\x16\x03\x01 hello\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/3.0\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nX: {}", "y".repeat(70_000)), 431),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200)), 431),
    ] {
        let mut wire = site.connect();
        let response = wire.send(&text).response();
        assert_eq!(response.status, status, "{}", &text[..16]);
        assert_eq!(wire.rest(), b"");
    }
    let stats = site.stats();
    assert_eq!((&stats["requests"], &stats["malformed"]), (&0.into(), &4.into()));
}

#[test]
fn contradicting_head_is_counted_and_refused() {
    let site = site(|_| {});
    let response = site.connect().send("GET /x HTTP/1.1\r\n\r\n").response();
    assert_eq!(response.status, 400);
    let stats = site.stats();
    assert_eq!((&stats["by_path"]["/x"], &stats["by_status"]["400"]), (&1.into(), &1.into()));
}

#[test]
fn unix_socket_serves_the_same_and_is_removed_at_the_end() {
    let path = std::env::temp_dir().join(format!("hyperscale-target-{}.sock", std::process::id()));
    let site = site(|options| options.unix = Some(path.clone()));
    let stream = UnixStream::connect(&path).expect("the socket is there");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    assert_eq!(Wire::new(stream).get("/").text(), "Hello, World!");
    assert_eq!(site.stats()["requests"], 1);
    site.running.stop();
    assert!(!path.exists());
}
