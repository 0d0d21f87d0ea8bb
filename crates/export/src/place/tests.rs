use super::*;

fn destination(text: &str) -> (String, Vec<(String, String)>, String) {
    let place = Place::parse(text).unwrap();
    match place.destination.clone() {
        Destination::Post { url, fields, .. } => (url, fields, place.shown().to_owned()),
        Destination::Datagrams { to, .. } => (to, vec![], place.shown().to_owned()),
        Destination::Scrape { listen, .. } => (listen, vec![], place.shown().to_owned()),
        Destination::Csv(path) => (path.display().to_string(), vec![], place.shown().to_owned()),
    }
}

#[test]
fn every_scheme_leads_to_its_place() {
    for (text, kind, to, shown) in [
        ("prometheus://127.0.0.1:0", "prometheus", "127.0.0.1:0", "prometheus://127.0.0.1:0"),
        ("prometheus://[::1]:9464/metrics", "prometheus", "[::1]:9464", "prometheus://[::1]:9464"),
        (
            "prometheus+http://h:9090",
            "prometheus_remote_write",
            "http://h:9090/api/v1/write",
            "http://h:9090/api/v1/write",
        ),
        ("prometheus+https://h/push", "prometheus_remote_write", "https://h/push", "https://h/push"),
        ("otlp+http://h:4318", "otlp", "http://h:4318/v1/metrics", "http://h:4318/v1/metrics"),
        ("otlp+https://h/x", "otlp", "https://h/x", "https://h/x"),
        ("influx+http://h:8086/write?db=x", "influx", "http://h:8086/write?db=x", "http://h:8086/write"),
        ("influx+udp://h:8089", "influx", "h:8089", "influx+udp://h:8089"),
        ("STATSD://h:8125?tags=datadog", "statsd", "h:8125", "statsd://h:8125"),
        ("csv:a b.csv", "csv", "a b.csv", "a b.csv"),
    ] {
        assert_eq!(Place::parse(text).unwrap().kind(), kind, "{text}");
        assert_eq!(destination(text), (to.to_owned(), vec![], shown.to_owned()), "{text}");
    }
}

#[test]
fn credentials_become_fields_and_are_never_shown() {
    let (url, fields, shown) = destination("otlp+https://se%2Bcret@h/#X-Scope-OrgID=team%201");
    assert_eq!(url, "https://h/v1/metrics");
    let field = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(fields, [field("X-Scope-OrgID", "team 1"), field("authorization", "Bearer se+cret")]);
    assert_eq!(shown, "https://h/v1/metrics");
    let (url, fields, shown) = destination("influx+http://secret@h:8086/api/v2/write?org=o&bucket=b");
    assert_eq!(fields, [field("authorization", "Token secret")]);
    assert_eq!(
        (url.as_str(), shown.as_str()),
        ("http://h:8086/api/v2/write?org=o&bucket=b", "http://h:8086/api/v2/write")
    );
    let (url, fields, shown) = destination("prometheus+http://user:secret@h:9090?token=secret");
    assert_eq!((url.as_str(), fields.len()), ("http://user:secret@h:9090/api/v1/write?token=secret", 0));
    assert_eq!(shown, "http://h:9090/api/v1/write");
    assert!(!format!("{:?}", Place::parse("otlp+http://secret@h").unwrap()).contains("secret"));
}

#[test]
fn unknown_schemes_name_the_nearest_known_one() {
    let nearest = |text: &str| match Place::parse(text).unwrap_err() {
        PlaceError::Scheme { nearest, .. } => nearest,
        other => panic!("{other}"),
    };
    assert_eq!(nearest("prometeus://127.0.0.1:1"), Some("prometheus"));
    assert_eq!(nearest("otlp://h:4318"), Some("otlp+http"));
    assert_eq!(nearest("statd://h:1"), Some("statsd"));
    assert_eq!(nearest("h:4318"), None);
    assert_eq!(nearest(""), None);
}

#[test]
fn what_is_no_place_is_refused_without_telling_secrets() {
    for text in [
        "prometheus://secret",
        "prometheus://h:1?linger=2m",
        "prometheus://h:1?linger=secret",
        "prometheus:h:1",
        "statsd://h:0",
        "statsd://user:secret@h:1",
        "statsd://h:1?tags=secret",
        "influx+udp://h:1?tags=datadog",
        "influx+http://secret@h:8086",
        "influx+http://secret@h:8086/write",
        "otlp+http://",
        "otlp+http://u:secret@h:99999",
        "otlp+http://secret@",
        "otlp+http://h#name=secret%0a",
        "otlp+http://h#na me=secret",
        "otlp+http://sec%0aret@h",
        "csv:",
    ] {
        let error = Place::parse(text).expect_err(text);
        assert!(!format!("{error} {error:?}").contains("secret"), "{text}: {error}");
    }
}
