//! What requests look like on the wire.

use hyperscale_clients::network::MemoryNetwork;
use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Auth, Body, HttpVersion};
use hyperscale_plan::template::JsonTemplate;
use hyperscale_types::ErrorKind;

use super::support::{Client, Names, Server, Values, answer, get, moved, ok, template};

/// The bytes of one request.
async fn written(request: &HttpRequest) -> String {
    let network = MemoryNetwork::in_pieces(vec![ok("").into_bytes()], false);
    let mut client = Client::on(network.clone());
    client.scope = Values { base: "http://h:8080/v1".to_owned(), origin: "http://[::1]:9/x?y=z".to_owned() };
    let outcome = client.once(request).await;
    assert_eq!(outcome.error, None);
    String::from_utf8(network.written()).expect("text")
}

const DEFAULTS: &str = "user-agent: hyperscale/0.1\r\naccept: */*\r\n";

#[tokio::test]
async fn a_constant_request_has_the_default_fields() {
    assert_eq!(
        written(&get("http://Host.example/path?q=1#fragment")).await,
        format!("GET /path?q=1 HTTP/1.1\r\nhost: Host.example\r\n{DEFAULTS}\r\n")
    );
    assert_eq!(written(&get("http://h:81")).await, format!("GET / HTTP/1.1\r\nhost: h:81\r\n{DEFAULTS}\r\n"));
    assert_eq!(written(&get("http://h?a")).await, format!("GET /?a HTTP/1.1\r\nhost: h\r\n{DEFAULTS}\r\n"));
}

#[tokio::test]
async fn the_plans_fields_replace_the_defaults() {
    let mut request = get("http://h/");
    for (name, value) in [("host", "other"), ("user-agent", "me"), ("accept", "x/y"), ("x-id", "{{ id }}")] {
        request.headers.push((name.to_owned(), template(value)));
    }
    assert_eq!(
        written(&request).await,
        "GET / HTTP/1.1\r\nhost: other\r\nuser-agent: me\r\naccept: x/y\r\nx-id: 42\r\n\r\n"
    );
}

#[tokio::test]
async fn urls_are_filled_and_encoded_where_they_must_be() {
    for (url, target, host) in [
        ("http://h/{{ word }}?q={{ word }}", "/a%20b/c?q=a%20b%2Fc", "h"),
        ("http://h/{{ word | urlencode }}?q={{ word | urlencode }}", "/a%20b%2Fc?q=a%20b%2Fc", "h"),
        ("http://h/x{{ '/y?z=%20' | safe }}", "/x/y?z=%20", "h"),
        ("http://h/x?s={{ 'a%20b&c' | safe }}", "/x?s=a%20b&c", "h"),
        ("http://h/x?j={{ [word] | tojson }}", "/x?j=%5B%22a%20b%2Fc%22%5D", "h"),
        ("http://{{ 'h:8080' }}/{{ '?#%' }}", "/%3F%23%25", "h:8080"),
        ("{{ base }}{{ '/a/b?c=d' }}", "/v1/a/b?c=d", "h:8080"),
        ("{{ base }}/users", "/v1/users", "h:8080"),
        ("{{ base }}/users/{{ id }}", "/v1/users/42", "h:8080"),
        ("{{ origin }}&id={{ id }}", "/x?y=z&id=42", "[::1]:9"),
        ("http://h{{ id }}/x", "/x", "h42"),
    ] {
        let text = written(&get(url)).await;
        let expected = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n");
        assert!(text.starts_with(&expected), "{url}: {text}");
    }
}

#[tokio::test]
async fn query_pairs_are_appended_encoded() {
    let mut request = get("http://h/p");
    request.query = vec![(template("a b"), template("1&2")), (template("{{ id }}"), template("{{ word }}"))];
    assert!(written(&request).await.starts_with("GET /p?a%20b=1%262&42=a%20b%2Fc HTTP/1.1\r\n"));
    request.url = template("http://h/p?x=y");
    assert!(written(&request).await.starts_with("GET /p?x=y&a%20b=1%262&42="));
}

#[tokio::test]
async fn bodies_have_length_and_type() {
    let json = serde_json::json!({"id": "{{ id }}", "word": "<{{ word }}>"});
    let json = JsonTemplate::parse(&json, &Names).expect("a document");
    let form = vec![(template("a b"), template("{{ word }}")), (template("c"), template("ü"))];
    let file = std::env::temp_dir().join(format!("hyperscale-clients-body-{}", std::process::id()));
    std::fs::write(&file, b"bytes").expect("a file");
    for (body, media_type, text) in [
        (Body::Text(template("x{{ id }}")), "text/plain; charset=utf-8", "x42"),
        (Body::Text(template("constant")), "text/plain; charset=utf-8", "constant"),
        (Body::Json(json), "application/json", r#"{"id":42,"word":"<a b/c>"}"#),
        (Body::Form(form), "application/x-www-form-urlencoded", "a+b=a+b%2Fc&c=%C3%BC"),
        (Body::File(file.clone()), "application/octet-stream", "bytes"),
    ] {
        let mut request = get("http://h/");
        request.method = "POST".to_owned();
        request.body = body;
        let length = text.len();
        assert_eq!(
            written(&request).await,
            format!(
                "POST / HTTP/1.1\r\nhost: h\r\n{DEFAULTS}content-type: {media_type}\r\ncontent-length: {length}\r\n\r\n{text}"
            )
        );
    }
    std::fs::remove_file(file).expect("it is there");
}

#[tokio::test]
async fn methods_that_expect_a_body_say_that_there_is_none() {
    let mut request = get("http://h/");
    request.method = "POST".to_owned();
    assert!(written(&request).await.contains("\r\ncontent-length: 0\r\n"));
    request.method = "DELETE".to_owned();
    assert!(!written(&request).await.contains("content-length"));
}

#[tokio::test]
async fn credentials_are_sent_with_every_request() {
    let mut request = get("http://user:p%40ss@h/");
    assert!(written(&request).await.contains("\r\nauthorization: Basic dXNlcjpwQHNz\r\n"));
    request.auth = Some(Auth::Basic { user: template("u"), password: template("{{ id }}") });
    assert!(written(&request).await.contains("\r\nauthorization: Basic dTo0Mg==\r\n"));
    request.auth = Some(Auth::Bearer(template("t-{{ id }}")));
    assert!(written(&request).await.contains("\r\nauthorization: Bearer t-42\r\n"));
    request.headers.push(("authorization".to_owned(), template("mine")));
    assert!(written(&request).await.contains("\r\nauthorization: mine\r\n"));
    assert!(!written(&request).await.contains("Bearer"));
}

#[tokio::test]
async fn cookies_of_the_plan_stand_in_one_field() {
    let mut request = get("http://h/");
    request.cookies = vec![
        ("a".parse().expect("a name"), template("1")),
        ("b".parse().expect("a name"), template("{{ id }}")),
    ];
    assert!(written(&request).await.ends_with("\r\ncookie: a=1; b=42\r\n\r\n"));
    request.headers.push(("cookie".to_owned(), template("c={{ id }}; d=2")));
    let text = written(&request).await;
    assert!(text.ends_with("\r\ncookie: c=42; d=2; a=1; b=42\r\n\r\n"), "{text}");
    assert_eq!(text.matches("cookie:").count(), 1);
    request.cookies.clear();
    assert!(written(&request).await.ends_with("\r\ncookie: c=42; d=2\r\n\r\n"));
}

#[tokio::test]
async fn credentials_of_a_url_that_is_filled_per_call_are_sent() {
    for version in [HttpVersion::Auto, HttpVersion::Http1] {
        let server = Server::one([answer(&moved("/next")), answer(&ok("there"))].concat()).await;
        let mut client = Client::new();
        client.scope.origin = format!("http://me:p%20w@{}", server.address);
        let mut request = get("{{ origin }}/first");
        request.transport.version = version;
        let outcome = client.once(&request).await;
        assert_eq!((outcome.status, outcome.error), (Some(200), None));
        for request in &server.requests().await[0] {
            assert!(request.contains("\r\nauthorization: Basic bWU6cCB3\r\n"), "{request}");
        }
    }
}

#[tokio::test]
async fn a_call_whose_first_hop_was_answered_reached_something() {
    let gone = Server::start(vec![]).await;
    let away = gone.url("/");
    drop(gone.requests().await);
    let server = Server::one(answer(&moved(&away))).await;
    let outcome = Client::new().once(&get(&server.url("/"))).await;
    assert!(outcome.answered && outcome.status.is_none() && outcome.error.is_some(), "{outcome:?}");
}

#[tokio::test]
async fn folded_fields_are_read_as_one_line() {
    let text = "HTTP/1.1 200 OK\r\nx-long: one\r\n  two\r\n\tthree\r\ncontent-length: 2\r\n\r\nok";
    let server = Server::one(answer(text)).await;
    let outcome = Client::new().once(&get(&server.url("/"))).await;
    assert_eq!(outcome.error, None);
    let response = outcome.response.expect("it was kept");
    assert_eq!(response.header("x-long"), Some(&b"one two three"[..]));
    assert_eq!(response.body, b"ok");
}

#[tokio::test]
async fn heads_have_at_most_256_fields() {
    for (count, error) in [(255, None), (256, Some(ErrorKind::Protocol))] {
        let fields = "x-field: 1\r\n".repeat(count);
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{fields}\r\n");
        let server = Server::one(answer(&text)).await;
        let outcome = Client::new().once(&get(&server.url("/"))).await;
        assert_eq!(outcome.error.map(|error| error.kind), error, "{count}");
    }
}
