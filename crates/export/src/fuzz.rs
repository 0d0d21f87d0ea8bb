//! Fuzz harnesses of what reads texts and bytes from outside: URLs of exporters, answers of receivers.

use crate::encode::otlp;
use crate::place::Place;

/// Whatever is written, nothing of a password is shown.
#[test]
fn fuzz_places() {
    bolero::check!(name = "places").for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        match Place::parse(&text) {
            Ok(place) if place.kind() != "csv" => assert!(!place.shown().contains(['@', '#', '?'])),
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

/// Whatever a receiver answers, it is a loss with a number above zero or none.
#[test]
fn fuzz_answers() {
    bolero::check!(name = "answers").for_each(|bytes: &[u8]| {
        assert!(otlp::rejected(bytes).is_none_or(|(points, _)| points > 0));
    });
}
