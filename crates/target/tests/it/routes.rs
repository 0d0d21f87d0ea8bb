//! What each route answers.

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::wire::site;

#[test]
fn unknown_paths_answer_like_the_root() {
    let site = site(|_| {});
    let response = site.get("/some/where?x=1");
    assert_eq!((response.status, response.text()), (200, "Hello, World!"));
}

#[test]
fn body_size_is_exact_for_small_and_large() {
    for size in [0, 1, 8_193, 1_000_000] {
        let site = site(|options| options.body_size = Some(size));
        let mut wire = site.connect();
        for path in ["/", "/other"] {
            assert_eq!(wire.get(path).body.len() as u64, size, "{path}");
        }
    }
}

#[test]
fn status_answers_with_any_final_code() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for status in [200, 204, 304, 404, 418, 503, 599] {
        assert_eq!(wire.get(&format!("/status/{status}")).status, status);
    }
    for wrong in ["/status/100", "/status/1000", "/status/x"] {
        assert_eq!(wire.get(wrong).status, 400, "{wrong}");
    }
}

#[test]
fn delay_holds_the_answer_at_least_that_long() {
    let site = site(|_| {});
    let begin = Instant::now();
    assert_eq!(site.get("/delay/60").status, 200);
    assert!(begin.elapsed() >= Duration::from_millis(60), "{:?}", begin.elapsed());
    assert_eq!(site.get("/delay/99999999").status, 400);
}

#[test]
fn bytes_answers_with_exactly_that_many() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for count in [0, 1, 8_192, 300_000] {
        let response = wire.get(&format!("/bytes/{count}"));
        assert_eq!(response.header("content-length"), Some(count.to_string().as_str()));
    }
    assert_eq!(wire.get("/bytes/9999999999999").status, 400);
}

#[test]
fn echo_tells_what_was_received() {
    let site = site(|_| {});
    let echo = site.connect().post("/echo?a=1&b=%20", "application/json", r#"{"k":[1]}"#).json();
    assert_eq!(echo["method"], "POST");
    assert_eq!(echo["path"], "/echo");
    assert_eq!(echo["query"], json!({"a": "1", "b": " "}));
    assert_eq!(echo["headers"]["content-type"], "application/json");
    assert_eq!(echo["body"], r#"{"k":[1]}"#);
    assert_eq!(echo["json"], json!({"k": [1]}));
    assert_eq!(echo["version"], "HTTP/1.1");
}

#[test]
fn json_is_the_same_document_every_time() {
    let site = site(|_| {});
    let document = site.get("/json").json();
    assert_eq!(document, site.get("/json").json());
    assert_eq!(document["total"], document["items"].as_array().expect("items are a list").len());
    assert!(document["id"].is_u64());
}

#[test]
fn compressed_documents_decode_to_the_plain_one() {
    let site = site(|_| {});
    let plain = site.get("/json").body;
    for encoding in ["gzip", "br", "zstd"] {
        let response = site.get(&format!("/{encoding}"));
        assert_eq!(response.header("content-encoding"), Some(encoding));
        assert!(response.body.len() < plain.len() / 2, "{encoding} compresses");
        let packed = response.body.as_slice();
        let mut decoded = Vec::new();
        match encoding {
            "gzip" => flate2::read::GzDecoder::new(packed).read_to_end(&mut decoded),
            "br" => brotli_decompressor::Decompressor::new(packed, 4096).read_to_end(&mut decoded),
            _ => ruzstd::decoding::StreamingDecoder::new(packed).expect("a frame").read_to_end(&mut decoded),
        }
        .expect(encoding);
        assert_eq!(decoded, plain, "{encoding}");
    }
    assert!(serde_json::from_slice::<Value>(&plain).is_ok());
}

#[test]
fn tokens_differ_from_each_other() {
    let site = site(|_| {});
    let (one, other) = (site.get("/token").json(), site.get("/token?expires_in=5").json());
    assert_ne!(one["token"], other["token"]);
    assert_eq!((&one["expires_in"], &other["expires_in"]), (&3600.into(), &5.into()));
}

#[test]
fn chunked_sends_one_chunk_per_piece_and_trailers_on_demand() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let response = wire.get("/chunked/3");
    assert_eq!(response.chunks, [8, 8, 8]);
    assert_eq!(response.trailers, []);
    let response = wire.get("/chunked/2?trailers");
    assert_eq!(response.text(), "chunk 1\nchunk 2\n");
    assert_eq!(response.header("trailer"), Some("x-pieces"));
    assert_eq!(response.trailers, [("x-pieces".to_owned(), "2".to_owned())]);
    assert_eq!(wire.get("/chunked/0").body, b"");
}

#[test]
fn events_arrive_in_the_format_of_server_sent_events() {
    let site = site(|_| {});
    let response = site.get("/sse?events=2&interval=1");
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.text(), "id: 1\ndata: {\"n\":1}\n\nid: 2\ndata: {\"n\":2}\n\n");
}

#[test]
fn drip_announces_its_length() {
    let site = site(|_| {});
    let response = site.get("/drip?bytes=10&chunks=4&interval=1");
    assert_eq!(response.header("content-length"), Some("10"));
    assert_eq!(response.body.len(), 10);
}

#[test]
fn redirects_count_down_and_end_at_the_root() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for (path, status, location) in [
        ("/redirect/3", 302, "/redirect/2"),
        ("/redirect/2?status=307", 307, "/redirect/1?status=307"),
        ("/redirect/1", 302, "/"),
        ("/redirect-to?url=http%3A%2F%2Fa%2Fb%3Fc&status=301", 301, "http://a/b?c"),
    ] {
        let response = wire.get(path);
        assert_eq!((response.status, response.header("location")), (status, Some(location)), "{path}");
    }
    for wrong in ["/redirect/x", "/redirect-to", "/redirect-to?url=a%0d%0ab", "/redirect/1?status=304"] {
        assert_eq!(wire.get(wrong).status, 400, "{wrong}");
    }
}

#[test]
fn cookies_are_set_and_told() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let response = wire.get("/cookies/set?a=1&b=two");
    let set: Vec<&str> = response
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(set, ["a=1; Path=/", "b=two; Path=/"]);
    assert_eq!(wire.get_with("/cookies", "Cookie: a=1; b=two\r\n").json(), json!({"a": "1", "b": "two"}));
}
