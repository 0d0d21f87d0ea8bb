//! Misbehaviour on purpose: each fault looks on the wire as it is described.

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use crate::wire::{Site, Wire, site};

/// Sends a request for a fault and returns what can be read until the connection ends, and how it ended.
fn end_of(site: &Site, path: &str) -> (Vec<u8>, Option<ErrorKind>) {
    let mut wire = site.connect();
    wire.request("GET", path, "");
    let mut read = Vec::new();
    let end = wire.stream.read_to_end(&mut read).err().map(|error| error.kind());
    (read, end)
}

fn assert_counted(site: &Site, path: &str, answered: bool) {
    let stats = site.stats();
    assert_eq!(stats["by_path"][path], 1, "{stats}");
    assert_eq!(stats["by_status"]["200"].as_u64().unwrap_or(0), u64::from(answered), "{stats}");
}

#[test]
fn reset_ends_with_a_reset_and_no_byte() {
    let site = site(|_| {});
    assert_eq!(end_of(&site, "/fault/reset"), (vec![], Some(ErrorKind::ConnectionReset)));
    assert_counted(&site, "/fault/reset", false);
}

#[test]
fn close_ends_orderly_and_without_a_byte() {
    let site = site(|_| {});
    assert_eq!(end_of(&site, "/fault/close"), (vec![], None));
    assert_counted(&site, "/fault/close", false);
}

#[test]
fn close_mid_body_sends_less_than_announced() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let head = wire.request("GET", "/fault/close-mid-body", "").head();
    assert_eq!(head.header("content-length"), Some("1000"));
    assert_eq!(wire.rest(), b"0123456789");
    assert_counted(&site, "/fault/close-mid-body", true);
}

#[test]
fn garbage_is_no_http() {
    let site = site(|_| {});
    let (bytes, end) = end_of(&site, "/fault/garbage");
    assert!(!bytes.is_empty() && !bytes.starts_with(b"HTTP"), "{bytes:?}");
    assert_eq!(end, None);
    assert_counted(&site, "/fault/garbage", false);
}

#[test]
fn stall_answers_late() {
    let site = site(|_| {});
    let begin = Instant::now();
    assert_eq!(site.get("/fault/stall?ms=50").status, 200);
    assert!(begin.elapsed() >= Duration::from_millis(50));
    assert_counted(&site, "/fault/stall", true);
}

#[test]
fn slow_head_arrives_whole_in_the_end() {
    let site = site(|_| {});
    let mut wire = site.connect();
    assert_eq!(wire.get("/fault/slow-head?ms=0").text(), "Hello, World!");
    assert_eq!(wire.get("/").status, 200, "the connection goes on");
}

#[test]
fn huge_head_is_as_large_as_asked_for() {
    let site = site(|_| {});
    let response = site.get("/fault/huge-head?bytes=100000");
    let received: usize = response.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    assert!((100_000..110_000).contains(&received), "{received}");
    assert_eq!(response.text(), "Hello, World!");
}

#[test]
fn body_without_length_ends_with_the_connection() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let response = wire.get("/fault/no-length");
    assert_eq!((response.header("content-length"), response.header("connection")), (None, None));
    assert_eq!(response.text(), "this body ends with the connection\n");
}

#[test]
fn close_after_answers_as_if_the_connection_were_kept() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let response = wire.get("/fault/close-after");
    assert_eq!((response.text(), response.header("connection")), ("Hello, World!", None));
    assert_eq!(wire.rest(), b"");
    assert_counted(&site, "/fault/close-after", true);
}

#[test]
fn early_hints_come_before_the_answer() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let hints = wire.get("/early-hints");
    assert_eq!(hints.status, 103);
    assert!(hints.header("link").is_some());
    assert_eq!(wire.response().text(), "Hello, World!");
    assert_counted(&site, "/early-hints", true);
}

#[test]
fn unknown_fault_is_refused_with_the_known_ones() {
    let site = site(|_| {});
    let response = site.get("/fault/explode");
    assert_eq!(response.status, 400);
    assert!(response.text().contains("close-mid-body"), "{}", response.text());
}

#[test]
fn connections_beyond_the_limit_are_reset() {
    let site = site(|options| options.max_connections = Some(1));
    let mut first = site.connect();
    assert_eq!(first.get("/").status, 200);
    let mut second = site.connect().stream;
    // The reset may arrive while we read or even before.
    let end = second.read(&mut [0; 1]).expect_err("nothing is answered");
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
    assert_eq!(first.get("/").status, 200, "the first one is not touched");
    let stats = first.get("/__stats").json();
    assert_eq!((&stats["connections"]["opened"], &stats["connections"]["refused"]), (&1.into(), &1.into()));
}

#[test]
fn stopped_target_refuses_connections() {
    let site = site(|_| {});
    let mut wire = site.connect();
    assert_eq!(wire.get("/").status, 200);
    let (handle, listen) = (site.running.handle(), site.running.handle().listen());
    site.running.stop();
    assert_eq!(wire.rest(), b"", "open connections end");
    let refused = std::net::TcpStream::connect(listen).map(Wire::new).err().map(|error| error.kind());
    assert_eq!(refused, Some(ErrorKind::ConnectionRefused));
    assert_eq!(handle.stats().requests, 1, "the books can still be read");
}
