//! The summary at the end of a run.

use hyperscale_report::{Style, TextOptions, summary};
use hyperscale_stats::result::{ExportResult, LoadResult, Status};

use crate::runs::{eventful, simple};

fn text(result: &hyperscale_stats::result::RunResult, width: usize) -> String {
    summary(result, TextOptions { style: Style::Plain, width })
}

#[test]
fn a_simple_run_is_a_short_text() {
    insta::assert_snapshot!(text(&simple(), 100));
}

#[test]
fn an_eventful_run_shows_everything() {
    insta::assert_snapshot!(text(&eventful(), 120));
}

#[test]
fn eighty_columns_are_enough() {
    let text = text(&eventful(), 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    insta::assert_snapshot!(text);
}

#[test]
fn exports_say_what_was_sent_and_what_was_lost() {
    let export = |kind: &str, target: &str, lost, error: Option<&str>| ExportResult {
        kind: kind.into(),
        target: target.into(),
        sent: 1_234,
        lost,
        error: error.map(str::to_owned),
    };
    let mut result = simple();
    result.exports = vec![
        export("csv", "run.csv", 0, None),
        export(
            "otlp",
            &format!("https://{}.example.com/v1/metrics", "long.".repeat(12)),
            3,
            Some("no\u{1b} answer"),
        ),
    ];
    let text = text(&result, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn colours_only_decorate() {
    let coloured = summary(&eventful(), TextOptions { style: Style::Ansi, width: 100 });
    let codes = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];
    let stripped = codes.iter().fold(coloured.clone(), |text, code| text.replace(code, ""));
    assert_eq!(stripped, text(&eventful(), 100));
    assert!(coloured.contains("\x1b[31m✗ failed\x1b[0m"));
}

#[test]
fn a_run_that_never_began_has_a_reason_and_no_table() {
    let mut result = simple();
    result.workflows.clear();
    result.totals = LoadResult::default();
    (result.status, result.reason) = (Status::Failed, Some("unreachable".into()));
    insta::assert_snapshot!(text(&result, 100));
}

#[test]
fn messages_from_outside_cannot_control_the_terminal() {
    let mut result = eventful();
    result.errors[0].message = "\x1b[2Jgone\r\n".into();
    assert!(!text(&result, 100).contains('\x1b'));
}
