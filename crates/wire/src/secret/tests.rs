use base64::engine::Engine as _;

use super::text::{BASE64, BASE64_URL, decode_base64, decode_hex};
use super::*;
use crate::entropy::SeededEntropy;

const HEX: &str = "8f1c2d3b4a5968778695a4b3c2d1e0f00112a3344c5566d788f9aabbccddee0e";

fn parse(text: &str) -> Result<Secret, SecretError> {
    Secret::parse(text, "default")
}

#[test]
fn thirty_two_bytes_of_hex_or_base64_are_the_same_secret() {
    let bytes = decode_hex(HEX).unwrap();
    let hex = parse(HEX).unwrap();
    assert_eq!(hex, parse(&HEX.to_uppercase()).unwrap());
    assert_eq!(hex, parse(&format!("hex:{HEX}\n")).unwrap());
    assert_eq!(hex, parse(&BASE64.encode(&*bytes)).unwrap());
    assert_eq!(hex, parse(&BASE64_URL.encode(&*bytes)).unwrap());
    let unpadded = BASE64.encode(&*bytes).trim_end_matches('=').to_owned();
    assert_eq!(hex, parse(&format!("base64:{unpadded}")).unwrap());
    assert_ne!(hex, parse(&HEX.replace('8', "7")).unwrap());
}

#[test]
fn short_ones_are_refused_with_how_to_make_one() {
    assert_eq!(parse(""), Err(SecretError::Empty));
    assert_eq!(parse("\n"), Err(SecretError::Empty));
    assert_eq!(parse(&HEX[..62]), Err(SecretError::TooShort(31)));
    assert_eq!(parse(&BASE64.encode([7, 1, 2, 9, 200, 13, 77, 3, 9, 4])), Err(SecretError::TooShort(10)));
    assert_eq!(parse("tr0ub4dor&3"), Err(SecretError::PassphraseTooShort(11)));
    for error in [
        SecretError::Empty,
        SecretError::TooShort(1),
        SecretError::PassphraseTooShort(1),
        SecretError::WellKnown,
    ] {
        assert!(error.to_string().contains("hyperscale secret"), "{error}");
    }
}

#[test]
fn well_known_and_repetitive_ones_are_refused() {
    for text in [
        "password",
        "PasswordPassword",
        "changeme-changeme-1",
        "correct horse battery staple",
        "hyperscale-secret-123",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
        "passphrase:password password password",
    ] {
        assert_eq!(parse(text), Err(SecretError::WellKnown), "{text}");
    }
    let counting = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    for text in [
        &*"00".repeat(32),
        counting,
        "zzzzzzzzzzzzzzzzzzzz",
        "abcabcabcabcabcabcabc",
        "lalilulelalilulelalilule",
    ] {
        assert_eq!(parse(text), Err(SecretError::Repetitive), "{text}");
    }
    let development = std::str::from_utf8(DEVELOPMENT).unwrap();
    assert_eq!(parse(development), Err(SecretError::WellKnown));
}

#[test]
fn a_prefix_that_promises_too_much_is_refused() {
    assert_eq!(parse("hex:xyz"), Err(SecretError::NotEncoded("hexadecimal digits")));
    assert_eq!(parse("base64:*"), Err(SecretError::NotEncoded("base64")));
    assert_eq!(parse(&"x".repeat(SECRET_TEXT_MAX + 1)), Err(SecretError::TooLong));
}

#[test]
fn a_passphrase_is_stretched_and_salted_with_the_cluster() {
    let phrase = "seven brown otters cross the river";
    let here = parse(phrase).unwrap();
    assert_eq!(here, parse(&format!("passphrase:{phrase}")).unwrap());
    assert_ne!(here, Secret::parse(phrase, "other").unwrap());
    assert_ne!(here, Secret::extract(phrase.as_bytes()), "it is not merely hashed");
}

#[test]
fn words_without_spaces_are_a_passphrase_although_they_could_be_base64() {
    for text in [
        "sevenbrownotterscrosstheriverbeforedawnbreak",
        "SevenBrownOttersCross2RiversBeforeDawnBreaks",
        "Seven_Brown_Otters_Cross_2_Rivers_Before_Six",
        "S3v3nBr0wn0tt3rsCr0ss2R1v3rsB3f0r3D4wnBr34ks",
    ] {
        assert!(decode_base64(text).is_some_and(|bytes| bytes.len() >= SECRET_BYTES_MIN), "{text}");
        assert!(matches!(classify(text), Ok(Written::Passphrase(phrase)) if phrase == text), "{text}");
    }
}

#[test]
fn a_made_secret_is_accepted_and_differs_every_time() {
    let mut entropy = SeededEntropy::new(4);
    let (first, second) = (make_secret(&mut entropy), make_secret(&mut entropy));
    assert_eq!(first.len(), 64);
    assert_ne!(parse(&first).unwrap(), parse(&second).unwrap());
    for _ in 0..1_000 {
        assert!(
            matches!(classify(&make_secret(&mut entropy)), Ok(Written::Key(_))),
            "it needs no stretching"
        );
    }
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let secret = parse(HEX).unwrap();
    let secrets = Secrets { current: secret.clone(), previous: Some(Secret::development()) };
    assert_eq!(format!("{secret:?}"), "Secret(…)");
    assert_eq!(format!("{secrets:?}"), "Secrets { current: Secret(…), previous: Some(Secret(…)) }");
    assert!(!secret.is_development() && Secret::development().is_development());
}

#[test]
fn derived_keys_depend_on_purpose_and_on_every_part() {
    let secret = Secret::development();
    let keys = [
        secret.derive("a", &[b"x", b"y"]),
        secret.derive("b", &[b"x", b"y"]),
        secret.derive("a", &[b"xy", b""]),
        secret.derive("a", &[b"x"]),
        parse(HEX).unwrap().derive("a", &[b"x", b"y"]),
    ];
    for (i, key) in keys.iter().enumerate() {
        assert!(keys[..i].iter().all(|other| other != key));
    }
}
