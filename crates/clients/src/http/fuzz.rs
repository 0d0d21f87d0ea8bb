//! Fuzz harnesses of everything here that decodes bytes from outside.
//!
//! As tests they replay `__fuzz__/<name>/corpus` and make a short random run; `cargo bolero test <test>` runs the same
//! harness under libFuzzer for as long as one likes.

use super::cookies::CookieJar;
use super::url::{self, Url};

/// Whatever comes in, nothing but visible ASCII comes out, and a resolved redirect can be requested.
#[test]
fn fuzz_url() {
    bolero::check!(name = "url").for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let base = Url::parse("http://a/b/c?d").expect("valid");
        if let Ok(resolved) = url::resolve(&base, &text) {
            let url = Url::parse(&resolved).expect("resolved URLs are valid");
            assert!(resolved.bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(url.path().starts_with('/'));
        }
        if let Ok(url) = Url::parse(&text) {
            let _ = (url.credentials(), url.origin().to_string());
        }
    });
}

/// Whatever a server sets, a request head stays one line and the limits hold.
#[test]
fn fuzz_cookies() {
    bolero::check!(name = "cookies").for_each(|bytes: &[u8]| {
        let url = Url::parse("https://a.b.example/x/y").expect("valid");
        let mut jar = CookieJar::new();
        for field in bytes.split(|byte| *byte == 0) {
            let _ = jar.store(&url, field, 1_000_000);
        }
        let mut header = Vec::new();
        jar.write_header(&url, 1_000_000, &mut header);
        assert!(header.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t'));
    });
}
