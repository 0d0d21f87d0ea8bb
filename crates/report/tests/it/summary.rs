//! The summary at the end of a run.

use hyperscale_report::{Style, TextOptions, summary};
use hyperscale_stats::result::{ExportResult, LoadResult, RunResult, Status};

use crate::runs::{eventful, simple};

fn text(result: &RunResult, width: usize) -> String {
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
    result.provenance.exports = vec![
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

#[test]
fn generator_that_was_the_bottleneck_says_by_what_measure() {
    let mut result = eventful();
    let warning = |result: &RunResult| {
        let text = text(result, 400);
        text.lines().find(|line| line.contains("bottleneck")).unwrap().to_owned()
    };
    result.workflows[0].generator.busiest_core = Some(0.03);
    result.workflows[0].generator.lag_us.as_mut().unwrap().p99 = 11_900.0;
    assert!(
        warning(&result).ends_with(
            "(start lag p99 11.9ms > 10.0ms, own cores 3 % busy): latencies are partly its own; \
             something else uses this machine"
        ),
        "{}",
        warning(&result)
    );
    result.workflows[0].generator.busiest_core = Some(0.982);
    assert!(
        warning(&result).ends_with(
            "(busiest core 98.2 % > 95 %): latencies are partly its own; use more cores or less load"
        ),
        "{}",
        warning(&result)
    );
}

#[test]
fn virtual_users_that_were_needed_are_told_from_those_there_could_be() {
    let mut result = eventful();
    (result.workflows[0].vus, result.workflows[0].vus_peak) = (120, Some(7));
    assert!(text(&result, 100).contains("Browse  completed  10.0s  peak 7 of 120 VUs on 2 cores\n"));
    result.workflows[0].vus_peak = Some(120);
    assert!(text(&result, 100).contains("  120 VUs on 2 cores\n"));
}

#[test]
fn first_lines_fit_however_long_names_and_numbers_are() {
    let mut result = eventful();
    result.identity.name =
        "a name that says everything about the plan and where it runs, and then some more".into();
    result.reason =
        Some("the target answered nothing for such a long time that nobody could wait any more".into());
    result.workflows[0].reason.clone_from(&result.reason);
    result.totals.requests = 1_234_567_890;
    result.totals.ok = 1_234_567_890;
    for width in [60, 80] {
        let text = text(&result, width);
        let first: Vec<&str> = text.lines().take(8).collect();
        assert!(first.iter().all(|line| line.chars().count() <= width), "{first:#?}");
        assert!(first.iter().any(|line| line.contains("after 10.0s")), "{first:#?}");
    }
}
