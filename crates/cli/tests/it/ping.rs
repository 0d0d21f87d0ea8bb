//! `ping`: every phase of real requests, and what is said when nothing answers.

use std::net::TcpListener;

use serde_json::Value;

use crate::commands::{masked, shown, snapshot};
use crate::support::{Outcome, Target, run, start};

/// Masks times and the bars that they draw.
fn timed(name: &str, outcome: &Outcome) {
    let mut settings = masked();
    for (pattern, mask) in [
        (r"│[ █░]+│", "│BAR│"),
        (r" +\d+\.\d{3} ms", " TIME"),
        (r" +\d+ ms", " TIME"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE"),
    ] {
        settings.add_filter(pattern, mask);
    }
    settings.bind(|| insta::assert_snapshot!(name, shown(outcome)));
}

fn document(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

/// The phases that a ping had, in order.
fn phases(ping: &Value) -> Vec<&str> {
    ping["phases_us"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn help_of_ping_is_complete() {
    snapshot!("help_ping", run(&["ping", "--help"]));
    snapshot!("help_ping_http", run(&["ping", "http", "--help"]));
}

#[test]
fn one_request_is_shown_as_a_waterfall() {
    let target = Target::start(&[]);
    timed("ping_http", &run(&["ping", "http", &format!("{}/bytes/5", target.base)]));
    assert_eq!(target.seen().at("/bytes/5"), 1);
    let by_name = run(&["ping", "http", &target.base.replace("127.0.0.1", "localhost"), "--json"]);
    let document = document(&by_name);
    assert_eq!(phases(&document["pings"][0]), ["dns", "connect", "write", "wait", "read"], "{by_name}");
    assert_eq!(document["pings"][0]["peer"], target.listen.as_str());
}

#[test]
fn certificates_are_described() {
    let target = Target::start(&["--tls"]);
    timed("ping_https", &run(&["ping", "http", "-k", &target.base]));
    let outcome = run(&["ping", "http", "-k", "--json", &target.base]);
    let document = document(&outcome);
    assert_eq!(document["pings"][0]["protocol"], "HTTP/2");
    assert_eq!(phases(&document["pings"][0]), ["connect", "tls", "write", "wait", "read"]);
    let names = document["tls"]["certificate"]["names"].as_array().unwrap();
    assert!(names.contains(&"localhost".into()), "{outcome}");
    timed("ping_untrusted", &run(&["ping", "http", &target.base]));
}

#[test]
fn several_requests_share_a_connection_unless_told_otherwise() {
    let target = Target::start(&[]);
    timed("ping_several", &run(&["ping", "http", &target.base, "-n", "3", "-i", "1ms"]));
    assert_eq!((target.seen().requests, target.seen().connections.opened), (3, 1));
    target.reset();
    let anew = run(&["ping", "http", &target.base, "-n", "3", "-i", "1ms", "--no-keepalive", "--json"]);
    assert_eq!(target.seen().requests, 3);
    for ping in document(&anew)["pings"].as_array().unwrap() {
        assert_eq!(phases(ping), ["connect", "write", "wait", "read"]);
    }
}

#[test]
fn requests_are_those_of_run() {
    let target = Target::start(&[]);
    let url = format!("{}/echo?raw", target.base);
    let outcome =
        run(&["ping", "http", &url, "-X", "PUT", "-H", "X-A: b", "-b", "hello", "--http2", "--json"]);
    let document = document(&outcome);
    assert_eq!((&document["method"], &document["pings"][0]["protocol"]), (&"PUT".into(), &"HTTP/2".into()));
    assert_eq!(document["pings"][0]["status"], 200, "{outcome}");
}

#[test]
fn any_status_is_an_answer() {
    let target = Target::start(&[]);
    timed("ping_status", &run(&["ping", "http", &format!("{}/status/503", target.base)]));
}

#[test]
fn what_does_not_answer_is_exit_code_4() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/", listener.local_addr().unwrap());
    timed("ping_timeout", &run(&["ping", "http", &silent, "-t", "200ms"]));
    drop(listener);
    timed("ping_refused", &run(&["ping", "http", "http://127.0.0.1:1/"]));
    let refused = run(&["ping", "http", "http://127.0.0.1:1/", "--json"]);
    assert_eq!(refused.code, 4);
    assert_eq!(document(&refused)["pings"][0]["error"]["kind"], "connect_refused");
    let unknown = run(&["ping", "http", "http://name.invalid/", "--json"]);
    assert_eq!(
        (unknown.code, &document(&unknown)["pings"][0]["error"]["kind"]),
        (4, &"dns".into()),
        "{unknown}"
    );
}

#[test]
fn wrong_requests_are_usage_errors() {
    snapshot!("ping_scheme", run(&["ping", "http", "ftp://h/"]));
    snapshot!("ping_no_protocol", run(&["ping"]));
    snapshot!("ping_body_missing", run(&["ping", "http", "http://h/", "-b", "@missing"]));
}

#[test]
fn ctrl_c_ends_with_what_there_is() {
    let target = Target::start(&[]);
    let process = start(&["ping", "http", &target.base, "-n", "1000", "-i", "1h"]);
    target.wait_for_requests(1);
    process.signal("INT");
    let outcome = process.wait();
    assert_eq!(outcome.code, 97, "{outcome}");
    assert!(outcome.stdout.contains(" sent, "), "{outcome}");
}
