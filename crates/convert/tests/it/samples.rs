//! Every sample becomes a valid plan, and looks as it is written down.

use std::fmt::Write;

use hyperscale_convert::{ConvertError, Converted, Options, Origin, convert};
use hyperscale_plan::document::Format;

use crate::support::{assert_valid, converted, samples};

fn shown(converted: &Converted) -> String {
    let mut text = converted.text(Format::Yaml);
    for note in &converted.notes {
        let _ = writeln!(text, "# note: {}: {}", note.place, note.message);
    }
    text
}

#[test]
fn samples_become_plans() {
    for (name, bytes) in samples() {
        let converted = converted(&name, &bytes);
        assert_valid(&converted);
        assert!(name.starts_with(&converted.origin.to_string()), "{name} was seen as {}", converted.origin);
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, shown(&converted));
        });
    }
}

fn sample(name: &str) -> Vec<u8> {
    samples().into_iter().find(|(known, _)| known == name).unwrap().1
}

#[test]
fn options_change_what_is_taken_from_a_recording() {
    let options = Options {
        no_static: true,
        only: Vec::new(),
        think: true,
        recorded_cookies: true,
        keep_secrets: true,
    };
    let converted = convert("har", &sample("har-shop.har"), None, options).unwrap();
    assert_valid(&converted);
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("har-shop.har with all options", shown(&converted));
    });
}

#[test]
fn secrets_never_reach_the_plan() {
    for (name, bytes) in samples() {
        let text = converted(&name, &bytes).text(Format::Json);
        for secret in [
            "eyJhbGci",
            "hunter2",
            "analytical",
            "secret-1",
            "t-99",
            "k-123",
            "pw-9",
            "session=5f2c",
            "\"5f2c\"",
            "\"tok\"",
        ] {
            assert!(!text.contains(secret), "{name}: {secret}\n{text}");
        }
    }
}

#[test]
fn what_nobody_knows_is_refused() {
    let refused = |text: &str, origin| convert("x", text.as_bytes(), origin, Options::default()).unwrap_err();
    assert_eq!(refused("{}", None), ConvertError::Unknown);
    assert_eq!(refused("hello: world", None), ConvertError::Unknown);
    let other = ConvertError::Other { wanted: Origin::Har, seen: Origin::OpenApi };
    assert_eq!(refused("openapi: 3.0.0", Some(Origin::Har)), other);
    assert!(matches!(refused("swagger: '2.0'\npaths: {}", None), ConvertError::Version(_)));
    assert!(matches!(refused("{", None), ConvertError::Syntax(_)));
    assert!(matches!(refused("curl 'http://h/", None), ConvertError::Shell(_)));
    assert!(matches!(refused("{\"log\": {\"entries\": []}}", None), ConvertError::Empty(_)));
    assert!(matches!(refused("curl", None), ConvertError::Empty(_)));
    assert!(matches!(convert("x", b"\xff\xfe", None, Options::default()), Err(ConvertError::NotText(0))));
}

#[test]
fn what_is_too_much_is_refused() {
    let many = "curl http://h/\n".repeat(hyperscale_convert::REQUESTS_MAX + 1);
    assert_eq!(convert("x", many.as_bytes(), None, Options::default()).unwrap_err(), ConvertError::TooMany);
    let large = format!("curl http://h/ -d '{}'", "x".repeat(600 << 10));
    assert!(matches!(
        convert("x", large.as_bytes(), None, Options::default()),
        Err(ConvertError::PlanTooLarge(_))
    ));
    let huge = vec![b' '; (hyperscale_convert::INPUT_BYTES_MAX + 1) as usize];
    assert!(matches!(convert("x", &huge, None, Options::default()), Err(ConvertError::TooLarge(_))));
}
