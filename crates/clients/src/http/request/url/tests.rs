use proptest::prelude::*;

use super::*;

fn parts(text: &str) -> (Scheme, Option<&str>, &str, u16, String) {
    let url = Url::parse(text).expect("a valid URL");
    let mut target = Vec::new();
    url.write_target(&mut target);
    (url.scheme, url.userinfo, url.host, url.port, String::from_utf8(target).expect("ASCII"))
}

#[test]
fn splits_urls_into_their_parts() {
    let table = [
        ("http://a", Scheme::Http, None, "a", 80, "/"),
        ("https://a/", Scheme::Https, None, "a", 443, "/"),
        ("HTTP://Example.COM:8080/x?y=1#z", Scheme::Http, None, "Example.COM", 8080, "/x?y=1"),
        ("http://a?q", Scheme::Http, None, "a", 80, "/?q"),
        ("http://a#f", Scheme::Http, None, "a", 80, "/"),
        ("http://a/?", Scheme::Http, None, "a", 80, "/?"),
        ("http://a:/x", Scheme::Http, None, "a", 80, "/x"),
        ("http://u:p@a:81/x", Scheme::Http, Some("u:p"), "a", 81, "/x"),
        ("http://u@p@a/x", Scheme::Http, Some("u@p"), "a", 80, "/x"),
        ("http://[::1]:9/x", Scheme::Http, None, "::1", 9, "/x"),
        ("https://[2001:db8::7]", Scheme::Https, None, "2001:db8::7", 443, "/"),
        ("http://a_b.c-d.e/@:/?/?", Scheme::Http, None, "a_b.c-d.e", 80, "/@:/?/?"),
        ("http://xn--bcher-kva.example/", Scheme::Http, None, "xn--bcher-kva.example", 80, "/"),
    ];
    for (text, scheme, userinfo, host, port, target) in table {
        assert_eq!(parts(text), (scheme, userinfo, host, port, target.to_owned()), "{text}");
    }
}

#[test]
fn refuses_what_cannot_be_requested() {
    let table = [
        ("", UrlError::NotAbsolute),
        ("/x", UrlError::NotAbsolute),
        ("a.example/x", UrlError::NotAbsolute),
        ("http:/a", UrlError::NotAbsolute),
        ("ftp://a", UrlError::Scheme),
        ("localhost:8080", UrlError::Scheme),
        ("http://", UrlError::Host),
        ("http:///x", UrlError::Host),
        ("http://:80", UrlError::Host),
        ("http://u@", UrlError::Host),
        ("http://a\\b/", UrlError::Host),
        ("http://[::1", UrlError::Ipv6),
        ("http://[::g]", UrlError::Ipv6),
        ("http://[fe80::1%25eth0]/", UrlError::Ipv6),
        ("http://[::1]x", UrlError::Port),
        ("http://a:0", UrlError::Port),
        ("http://a:65536", UrlError::Port),
        ("http://a:+80", UrlError::Port),
        ("http://a:80:81", UrlError::Port),
        ("http://a/ b", UrlError::Byte(9)),
        ("http://a/\r\nx: y", UrlError::Byte(9)),
        ("http://bücher.example", UrlError::Byte(8)),
    ];
    for (text, error) in table {
        assert_eq!(Url::parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn authority_leaves_out_the_default_port() {
    let authority = |text| {
        let mut out = Vec::new();
        Url::parse(text).expect("a valid URL").write_authority(&mut out);
        String::from_utf8(out).expect("ASCII")
    };
    assert_eq!(authority("http://u:p@a:80/"), "a");
    assert_eq!(authority("http://a:443/"), "a:443");
    assert_eq!(authority("https://a:443/"), "a");
    assert_eq!(authority("https://[::1]:444/"), "[::1]:444");
}

#[test]
fn origins_ignore_case_and_everything_behind_the_port() {
    let origin = Url::parse("http://Example.com/x").expect("valid").origin();
    assert_eq!(origin, Url::parse("HTTP://u@eXAMPLE.com:80/y").expect("valid").origin());
    assert!(Url::parse("http://EXAMPLE.com").expect("valid").has_origin(&origin));
    for other in ["https://example.com:80", "http://example.com:81", "http://example.org"] {
        assert!(!Url::parse(other).expect("valid").has_origin(&origin), "{other}");
    }
    assert_eq!(origin.to_string(), "http://example.com:80");
    assert_eq!(Url::parse("https://[::1]").expect("valid").origin().to_string(), "https://[::1]:443");
}

#[test]
fn credentials_are_decoded() {
    let credentials = |text| Url::parse(text).expect("valid").credentials();
    assert_eq!(credentials("http://a"), None);
    assert_eq!(credentials("http://u@a"), Some(("u".into(), String::new())));
    assert_eq!(credentials("http://u%40x:p%3aw:%zz%4@a"), Some(("u@x".into(), "p:w:%zz%4".into())));
    assert_eq!(credentials("http://%ff:@a"), Some(("%ff".into(), String::new())));
}

/// The examples of RFC 3986, sections 5.4.1 and 5.4.2, fragments cut, with `http://a/b/c/d;p?q` as base.
#[test]
fn resolves_the_examples_of_rfc_3986() {
    let table = [
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"),
        ("g?y#s", "http://a/b/c/g?y"),
        (";x", "http://a/b/c/;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ];
    let base = Url::parse("http://a/b/c/d;p?q").expect("valid");
    for (reference, expected) in table {
        assert_eq!(resolve(&base, reference).as_deref(), Ok(expected), "{reference:?}");
    }
}

#[test]
fn resolves_what_servers_send() {
    let base = Url::parse("https://u@h:8443?x").expect("valid");
    let table = [
        ("y", "https://u@h:8443/y"),
        ("HTTP://Other/../z", "http://Other/z"),
        (" /a b/ü?c d ", "https://u@h:8443/a%20b/%C3%BC?c%20d"),
        ("a/b:c", "https://u@h:8443/a/b:c"),
    ];
    for (location, expected) in table {
        assert_eq!(resolve(&base, location).as_deref(), Ok(expected), "{location:?}");
    }
    assert_eq!(resolve(&base, "mailto:a@b"), Err(UrlError::Scheme));
    assert_eq!(resolve(&base, "http:y"), Err(UrlError::NotAbsolute));
    assert_eq!(resolve(&base, "//"), Err(UrlError::Host));
    assert_eq!(resolve(&base, "http://a b/"), Err(UrlError::Byte(8)));
}

proptest! {
    #[test]
    fn written_parts_split_back(
        https: bool,
        host in "[a-z0-9_-]{1,9}(\\.[a-z]{1,5}){0,2}",
        port in proptest::option::of(1u16..),
        target in "(/[!-\"$->@-~]{0,12}(\\?[!-\"$-~]{0,12})?)?",
    ) {
        let scheme = if https { Scheme::Https } else { Scheme::Http };
        let written = port.map(|port| format!(":{port}")).unwrap_or_default();
        let text = format!("{scheme}://{host}{written}{target}");
        let url = Url::parse(&text).expect("valid");
        prop_assert_eq!((url.scheme, url.host, url.port), (scheme, host.as_str(), port.unwrap_or(scheme.default_port())));
        let mut out = Vec::new();
        url.write_target(&mut out);
        let expected = if target.is_empty() { "/" } else { &target };
        prop_assert_eq!(String::from_utf8(out).expect("ASCII"), expected);
    }

    #[test]
    fn dot_segments_never_remain(path in "(/(\\.|\\.\\.|a|b\\.)?){0,8}") {
        let clean = remove_dot_segments(&path);
        prop_assert!(clean.is_empty() || clean.starts_with('/'));
        prop_assert!(clean.split('/').all(|segment| segment != "." && segment != ".."), "{}", clean);
        prop_assert_eq!(remove_dot_segments(&clean), clean.clone());
    }
}
