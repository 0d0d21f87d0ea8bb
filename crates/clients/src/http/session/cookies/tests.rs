use proptest::prelude::*;

use super::*;

const NOW_S: u64 = 1_000_000;

fn url(text: &str) -> Url<'_> {
    Url::parse(text).expect("a valid URL")
}

fn jar(from: &str, fields: &[&str]) -> CookieJar {
    let mut jar = CookieJar::new();
    for field in fields {
        jar.store(&url(from), field.as_bytes(), NOW_S).expect("stored");
    }
    jar
}

fn sent(jar: &CookieJar, to: &str, now_s: u64) -> String {
    let mut out = Vec::new();
    let any = jar.write_header(&url(to), now_s, &mut out);
    assert_eq!(any, !out.is_empty());
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn a_cookie_goes_back_to_its_host_and_folder_only() {
    let jar = jar("http://a.example/x/y", &["s = 1=2 ; Foo; HttpOnly"]);
    let table = [
        ("http://a.example/x/y", "s=1=2"),
        ("http://A.EXAMPLE:8080/x/z?q", "s=1=2"),
        ("https://a.example/x", "s=1=2"),
        ("http://a.example/xy", ""),
        ("http://a.example/", ""),
        ("http://b.a.example/x/y", ""),
        ("http://example/x/y", ""),
    ];
    for (to, expected) in table {
        assert_eq!(sent(&jar, to, NOW_S), expected, "{to}");
    }
}

#[test]
fn a_domain_reaches_the_hosts_below_it() {
    let jar = jar("http://a.b.example", &["s=1; Domain=.B.example", "own=1; domain=A.B.Example"]);
    assert_eq!(sent(&jar, "http://b.example", NOW_S), "s=1");
    assert_eq!(sent(&jar, "http://c.b.example", NOW_S), "s=1");
    assert_eq!(sent(&jar, "http://x.a.b.example", NOW_S), "s=1; own=1");
    assert_eq!(sent(&jar, "http://cb.example", NOW_S), "");
}

#[test]
fn foreign_and_single_label_domains_are_refused() {
    let table = [
        ("http://a.example", "s=1; domain=b.example"),
        ("http://b.example", "s=1; domain=a.b.example"),
        ("http://ab.example", "s=1; domain=b.example"),
        ("http://a.example", "s=1; domain=example"),
        ("http://127.0.0.1", "s=1; domain=0.0.1"),
    ];
    for (from, field) in table {
        let mut jar = CookieJar::new();
        assert_eq!(jar.store(&url(from), field.as_bytes(), NOW_S), Err(CookieError::Domain), "{field}");
        assert!(jar.is_empty());
    }
}

#[test]
fn the_host_itself_may_be_named_even_as_single_label_or_address() {
    for host in ["localhost", "127.0.0.1"] {
        let from = format!("http://{host}/");
        let jar = jar(&from, &[&format!("s=1; domain={host}")]);
        assert_eq!(sent(&jar, &from, NOW_S), "s=1");
        assert_eq!(sent(&jar, &format!("http://x.{host}/"), NOW_S), "");
    }
}

#[test]
fn secure_cookies_stay_on_tls() {
    let jar_tls = jar("https://a.example", &["s=1; secure"]);
    assert_eq!(sent(&jar_tls, "https://a.example", NOW_S), "s=1");
    assert_eq!(sent(&jar_tls, "http://a.example", NOW_S), "");
    let refused = CookieJar::new().store(&url("http://a.example"), b"s=1; Secure", NOW_S);
    assert_eq!(refused, Err(CookieError::Insecure));
}

#[test]
fn longer_paths_come_first_then_older_cookies() {
    let from = "http://a.example/";
    let jar = jar(from, &["a=1", "b=2; path=/x/y", "c=3", "d=4; path=/x", "e=5; path=nonsense", "a=6"]);
    assert_eq!(sent(&jar, "http://a.example/x/y", NOW_S), "b=2; d=4; a=6; c=3; e=5");
}

#[test]
fn max_age_wins_over_expires_and_both_end() {
    let jar = jar(
        "http://a.example",
        &[
            "a=1; max-age=10; expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "b=2; expires=Mon, 12-Jan-1970 13:46:41 GMT",
            "c=3",
        ],
    );
    assert_eq!(sent(&jar, "http://a.example", NOW_S), "a=1; b=2; c=3");
    assert_eq!(sent(&jar, "http://a.example", NOW_S + 1), "a=1; c=3");
    assert_eq!(sent(&jar, "http://a.example", NOW_S + 9), "a=1; c=3");
    assert_eq!(sent(&jar, "http://a.example", NOW_S + 10), "c=3");
}

#[test]
fn an_expired_cookie_removes_its_predecessor() {
    for end in
        ["max-age=0", "max-age=-1", "max-age=-99999999999999999999", "expires=Sun, 06 Nov 1994 08:49:37 GMT"]
    {
        let now_s = 800_000_000;
        let mut jar = jar("http://a.example", &["a=1", "b=2"]);
        jar.store(&url("http://a.example"), format!("a=x; {end}").as_bytes(), now_s).expect("stored");
        assert_eq!(sent(&jar, "http://a.example", now_s), "b=2", "{end}");
        assert_eq!(jar.len(), 1);
    }
}

#[test]
fn endless_and_unreadable_ages_do_not_expire() {
    let jar = jar(
        "http://a.example",
        &["a=1; max-age=99999999999999999999", "b=2; max-age=1h", "c=3; expires=soon"],
    );
    assert_eq!(sent(&jar, "http://a.example", i64::MAX as u64), "a=1; b=2; c=3");
}

#[test]
fn malformed_cookies_are_refused() {
    let long = format!("a={}", "x".repeat(COOKIE_BYTES_MAX));
    let table: [(&[u8], CookieError); 6] = [
        (b"", CookieError::NoName),
        (b"abc; path=/", CookieError::NoName),
        (b"=x", CookieError::NoName),
        (b"a=\x01", CookieError::Control),
        (b"a=1\r\nx: y", CookieError::Control),
        (long.as_bytes(), CookieError::TooLong),
    ];
    for (field, error) in table {
        assert_eq!(CookieJar::new().store(&url("http://a"), field, NOW_S), Err(error));
    }
}

#[test]
fn the_oldest_makes_room_in_a_domain_and_in_the_jar() {
    let mut jar = CookieJar::new();
    for domain in 0..10 {
        for cookie in 0..=COOKIES_PER_DOMAIN_MAX {
            let from = format!("http://h{domain}.example");
            jar.store(&url(&from), format!("c{cookie}=1").as_bytes(), NOW_S).expect("stored");
        }
    }
    assert_eq!(jar.len(), COOKIES_MAX);
    assert_eq!(sent(&jar, "http://h0.example", NOW_S), "");
    let newest = sent(&jar, "http://h9.example", NOW_S);
    assert!(newest.starts_with("c1=1; ") && newest.ends_with(&format!("c{COOKIES_PER_DOMAIN_MAX}=1")));
    jar.clear();
    assert!(jar.is_empty());
}

#[test]
fn expired_cookies_make_room_first() {
    let mut jar = CookieJar::new();
    jar.store(&url("http://keep.example"), b"k=1", NOW_S).expect("stored");
    for at in 1..COOKIES_MAX {
        jar.store(&url(&format!("http://h{at}.example")), b"a=1; max-age=5", NOW_S).expect("stored");
    }
    jar.store(&url("http://new.example"), b"n=1", NOW_S + 5).expect("stored");
    assert_eq!(jar.len(), 2);
    assert_eq!(sent(&jar, "http://keep.example", NOW_S + 5), "k=1");
}

proptest! {
    /// Whatever is set: what is sent back is one of the pairs that were set, and the limits hold.
    #[test]
    fn only_what_was_set_is_sent(fields in proptest::collection::vec(
        ("[a-c]", "[0-9]{0,3}", "(; (path=/[xy]?|max-age=[0-9-]{1,3}|domain=(b\\.)?example|secure))?"), 0..40)
    ) {
        let from = url("http://a.b.example/x/y");
        let mut jar = CookieJar::new();
        for (name, value, attribute) in &fields {
            let _ = jar.store(&from, format!("{name}={value}{attribute}").as_bytes(), NOW_S);
        }
        let pairs: Vec<&[u8]> = jar.pairs(&from, NOW_S).collect();
        for pair in &pairs {
            let was_set = fields.iter().any(|(name, value, _)| format!("{name}={value}").as_bytes() == *pair);
            prop_assert!(was_set);
        }
        let mut lengths = jar.cookies.iter().map(|cookie| cookie.path.len());
        prop_assert!(lengths.try_fold(usize::MAX, |before, len| (len <= before).then_some(len)).is_some());
    }
}
