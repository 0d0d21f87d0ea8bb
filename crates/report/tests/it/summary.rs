//! The summary at the end of a run.

use hyperscale_report::{ReportFormat, Style, TextOptions, summary};
use hyperscale_stats::result::{ExportResult, LoadResult, RunResult, SaturationResult, Status};
use hyperscale_stats::saturation::Measure;

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
    let interval = |measure, from_s, to_s| SaturationResult {
        from_s,
        to_s,
        workflow: result.workflows[0].name.clone(),
        core: 0,
        measure,
    };
    let (lag, queue) = (interval(Measure::Lag, 2, 3), interval(Measure::RunQueue, 4, 8));
    let overlapping = SaturationResult { core: 1, ..interval(Measure::RunQueue, 6, 9) };
    result.workflows[0].generator.busiest_core = Some(0.03);
    result.validity.saturation = vec![lag.clone()];
    assert!(
        warning(&result).ends_with(
            "(start lag p99 above 10.0ms, 1 s of 10.0s from 2 s on): latencies are partly its own; \
             something else uses this machine"
        ),
        "{}",
        warning(&result)
    );
    result.validity.saturation = vec![lag, queue, overlapping];
    assert!(
        warning(&result)
            .contains("(a core waited for its CPU over 5 % of the time, 5 s of 10.0s from 4 s on)"),
        "the one that explains the others, seconds counted once: {}",
        warning(&result)
    );
    result.validity.saturation = Vec::new();
    assert!(
        warning(&result).contains("was the bottleneck: latencies"),
        "an older result: {}",
        warning(&result)
    );
}

#[test]
fn dropped_starts_are_told_from_one_in_a_hundred_on() {
    let mut result = eventful();
    let iterations = &mut result.workflows[0].iterations;
    (iterations.scheduled, iterations.dropped) = (Some(10_000), 100);
    assert!(!text(&result, 400).contains("were dropped"));
    result.workflows[0].iterations.dropped = 101;
    let text = text(&result, 400);
    assert!(
        text.contains("Browse: 101 of 10,000 starts (1.01 %) were dropped: the target got less load"),
        "{text}"
    );
}

#[test]
fn starts_that_were_missed_are_told() {
    let mut result = eventful();
    assert!(!text(&result, 400).contains("missed"));
    result.workflows[0].iterations.missed = Some(4_321);
    assert!(text(&result, 400).contains("4,321 missed"), "{}", text(&result, 400));
    assert!(ReportFormat::Html.render(&result).contains(">4,321<"));
}

#[test]
fn texts_from_outside_cannot_turn_the_direction_of_writing() {
    let mut result = eventful();
    result.errors[0].message = "a\u{202e}b\u{2066}c\u{1b}[2J".into();
    let text = text(&result, 400);
    assert!(text.contains("a b c [2J") && !text.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{text}");
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
