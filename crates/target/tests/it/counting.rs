//! The books balance: every request is counted once, whatever happens to its connection.

use std::net::Shutdown;
use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::json;

use crate::wire::site;

#[test]
fn stats_have_the_documented_shape() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.get("/a?x=1");
    wire.get("/a?x=2");
    wire.get("/status/404");
    assert_eq!(
        site.stats(),
        json!({
            "requests": 3,
            "by_path": {"/a": 2, "/status/404": 1},
            "by_status": {"200": 2, "404": 1},
            "malformed": 0,
            "connections": {"opened": 1, "open": 1, "refused": 0, "tls_failed": 0},
        })
    );
}

#[test]
fn control_routes_are_not_counted() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for _ in 0..3 {
        assert_eq!(wire.get("/__stats").json()["requests"], 0);
    }
    assert_eq!(wire.get("/__reset").status, 405);
    assert_eq!(wire.request("POST", "/__stats", "").response().status, 405);
    assert_eq!(wire.get("/__nothing").status, 404);
    let stats = wire.get("/__stats").json();
    assert_eq!((&stats["by_status"], &stats["connections"]["opened"]), (&json!({}), &json!(0)));
}

#[test]
fn reset_starts_the_books_anew() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.get("/");
    assert_eq!(wire.request("POST", "/__reset", "").response().status, 200);
    wire.get("/b");
    let stats = site.stats();
    assert_eq!((&stats["requests"], &stats["by_path"]), (&json!(1), &json!({"/b": 1})));
}

#[test]
fn requests_whose_client_left_are_counted_when_the_books_are_asked_for() {
    for threads in [1, 3] {
        let site = site(|options| options.threads = NonZeroUsize::new(threads).expect("not zero"));
        for _ in 0..50 {
            let mut wire = site.connect();
            wire.request("GET", "/delay/5000", "");
            wire.stream.shutdown(Shutdown::Both).expect("open until now");
        }
        assert_eq!(site.stats()["requests"], 50, "{threads} threads");
    }
}

#[test]
fn requests_whose_client_reset_the_connection_are_counted() {
    let site = site(|_| {});
    for _ in 0..50 {
        let mut wire = site.connect();
        wire.request("GET", "/", "");
        socket2::SockRef::from(&wire.stream).set_linger(Some(Duration::ZERO)).expect("a socket lingers");
    }
    assert_eq!(site.stats()["requests"], 50);
}

#[test]
fn half_a_request_is_no_request() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.send("GET / HTTP/1.1\r\nHost: te");
    assert_eq!(site.stats()["requests"], 0);
    wire.send("st\r\n\r\n").response();
    assert_eq!(site.stats()["requests"], 1);
}

#[test]
fn request_without_its_whole_body_is_counted_but_not_answered() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.request("POST", "/", "Content-Length: 10\r\n").send("half");
    let stats = site.stats();
    assert_eq!((&stats["requests"], &stats["by_status"]), (&json!(1), &json!({})));
}

#[test]
fn threads_share_the_load_and_the_books() {
    const CONNECTIONS: usize = 8;
    const REQUESTS: usize = 200;
    let site = site(|options| options.threads = NonZeroUsize::new(4).expect("not zero"));
    std::thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            let mut wire = site.connect();
            scope.spawn(move || {
                for _ in 0..REQUESTS {
                    assert_eq!(wire.get(&format!("/{number}")).status, 200);
                }
            });
        }
    });
    let stats = site.running.handle().stats();
    assert_eq!(stats.requests, (CONNECTIONS * REQUESTS) as u64);
    assert!(
        (0..CONNECTIONS).all(|number| stats.by_path[&format!("/{number}")] == REQUESTS as u64),
        "{stats:?}"
    );
    assert_eq!(stats.by_status[&200], stats.requests);
}

#[test]
fn closed_connections_leave_the_gauge() {
    let site = site(|_| {});
    let mut wire = site.connect();
    wire.get("/");
    assert_eq!(site.stats()["connections"]["open"], 1);
    drop(wire);
    let stats = site.stats();
    assert_eq!((&stats["connections"]["open"], &stats["connections"]["opened"]), (&json!(0), &json!(1)));
}

#[test]
fn handle_resets_and_reads_without_a_connection() {
    let site = site(|_| {});
    let handle = site.running.handle();
    site.get("/");
    assert_eq!(handle.stats().requests, 1);
    handle.reset();
    assert_eq!(handle.stats().requests, 0);
}
