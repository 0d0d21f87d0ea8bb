//! Fuzz harnesses: everything that is imported is text from outside. What is accepted is a valid plan.

use hyperscale_convert::{Options, Origin, convert};

use crate::support::assert_valid;

fn check(origin: Origin, bytes: &[u8]) {
    for options in [
        Options::default(),
        Options {
            no_static: true,
            think: true,
            recorded_cookies: true,
            keep_secrets: true,
            ..Options::default()
        },
    ] {
        if let Ok(converted) = convert("input", bytes, Some(origin), options) {
            assert_valid(&converted);
        }
    }
}

#[test]
fn fuzz_curl() {
    bolero::check!(name = "curl").for_each(|bytes: &[u8]| {
        check(Origin::Curl, bytes);
        check(Origin::Curl, &[b"curl http://h/ ", bytes].concat());
    });
}

#[test]
fn fuzz_har() {
    bolero::check!(name = "har").for_each(|bytes: &[u8]| check(Origin::Har, bytes));
}

#[test]
fn fuzz_openapi() {
    bolero::check!(name = "openapi").for_each(|bytes: &[u8]| check(Origin::OpenApi, bytes));
}

#[test]
fn fuzz_postman() {
    bolero::check!(name = "postman").for_each(|bytes: &[u8]| check(Origin::Postman, bytes));
}
