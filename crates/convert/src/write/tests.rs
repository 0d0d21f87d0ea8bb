use hyperscale_plan::document::Format;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::read;

const FORMATS: [Format; 3] = [Format::Yaml, Format::Toml, Format::Json];

fn back(text: &str, format: Format) -> Value {
    read::document("written", text.as_bytes(), format, 1 << 20).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn plan() -> Value {
    json!({
        "name": "sample",
        "vars": { "base": "http://127.0.0.1:8080", "token": "${env:TOKEN:-none}" },
        "workflows": { "Shop": {
            "vus": 1, "duration": "30s",
            "steps": {
                "zeta": { "http": { "method": "POST", "url": "{{ base }}/a", "json": { "b": { "deep": [1, 2] }, "a": 1 } } },
                "alpha": { "http": "{{ base }}/" },
                "text": { "check": { "status": 200 }, "http": { "url": "{{ base }}/t", "body": "one\n  two\nthree\n", "headers": { "x-a": "yes", "accept": "text/html; q=0.9" } } },
            },
        } },
        "thresholds": ["Shop.failed.rate < 1%", { "rule": "Shop.latency.p99 < 1s", "abort": true }],
    })
}

#[test]
fn texts_are_as_people_would_write_them() {
    let all = FORMATS.map(|format| document(&plan(), format, "A comment.").expect("writable"));
    insta::assert_snapshot!(all.join("\n=====\n"));
}

#[test]
fn order_of_steps_is_kept() {
    for format in FORMATS {
        let read = back(&document(&plan(), format, "").expect("writable"), format);
        let steps = read.pointer("/workflows/Shop/steps").and_then(Value::as_object).expect("there");
        assert_eq!(steps.keys().collect::<Vec<_>>(), ["zeta", "alpha", "text"], "{format:?}");
    }
}

#[test]
fn null_is_refused_in_toml_with_its_place() {
    let plan = json!({ "a": { "json": { "b": [{ "c": null }] } } });
    assert_eq!(document(&plan, Format::Toml, ""), Err(WriteError::Null("a.json.b.c".to_owned())));
    assert_eq!(document(&json!([1]), Format::Yaml, ""), Err(WriteError::NotAMap));
}

fn text() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "true",
        "check",
        "json",
        "null",
        "12",
        "1e5",
        "30s",
        "{{ a }}",
        "- x",
        "a: b",
        "a #b",
        "#",
        "",
        " ",
        "~",
        "|",
        ">",
        "'",
        "\"",
        "on",
        "0x1f",
        "a\nb",
        "a\n",
        "\n",
        "\t",
        "é",
        "http://h/?a=b&c",
        "5%",
        "5/s",
        "<<",
        "a:",
        ".inf",
        "!t",
        "&a",
        "*a",
        "\u{2028}",
        "\u{7f}",
        "\r\n",
        "a\n\n b\nc",
    ];
    prop_oneof![
        proptest::sample::select(WORDS).prop_map(str::to_owned),
        any::<String>().prop_map(|text| text.replace('\0', ""))
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)), // exact in binary, whatever reads it
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_the_same(entries in proptest::collection::vec((text(), value()), 1..5)) {
        let plan = Value::Object(entries.into_iter().collect());
        for format in FORMATS {
            let text = document(&plan, format, "").expect("no null in it");
            prop_assert_eq!(&back(&text, format), &plan, "{:?}\n{}", format, text);
        }
    }
}
