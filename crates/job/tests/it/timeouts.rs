//! What happens when time is over.

use std::time::Duration;

use hyperscale_job::{JobFacts, Report, SegmentResult, StopPhase};
use hyperscale_types::{Command, Span};

use crate::model::{Model, workflows};

/// Planned 10 s, graceful stop 30 s, slack 60 s.
const WORKFLOW: u64 = 100;

#[test]
fn a_workflow_without_an_end_is_cancelled_and_timed_out() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ", depends: [A]")]), 1);
    model.prepare(0);
    let attempt = model.open(0)[0];
    for _ in 0..WORKFLOW - 1 {
        model.report(attempt, Report::Alive);
        model.seconds(1);
    }
    assert_eq!(model.phase(attempt), StopPhase::Running);
    model.seconds(2);
    assert_eq!(model.phase(attempt), StopPhase::Cancelling);
    model.seconds(11);
    assert_eq!(model.ended(0), ("timed_out", Some("timeout".into())));
    assert_eq!(model.ended(1), ("skipped", Some("A timed_out".into())));
    assert_eq!(model.job(), ("failed", Some("timeout")));
}

#[test]
fn paused_time_extends_the_time_of_a_workflow() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.prepare(0);
    let attempt = model.open(0)[0];
    model.request(Command::Pause).expect("it is taken");
    for _ in 0..2 * WORKFLOW {
        model.report(attempt, Report::Alive);
        model.seconds(1);
    }
    model.request(Command::Resume).expect("it is taken");
    model.seconds(WORKFLOW - 5);
    assert_eq!(model.phase(attempt), StopPhase::Running);
}

#[test]
fn an_attempt_that_says_nothing_is_stuck() {
    let text = workflows(&[("A", "")]).replace("duration: 10s", "duration: 1h");
    let mut model = Model::new(&text, 1);
    model.prepare(0);
    let attempt = model.open(0)[0];
    model.seconds(119);
    model.call(0, None);
    model.seconds(119);
    assert_eq!(model.phase(attempt), StopPhase::Running, "a window is a sign of life");
    model.seconds(1);
    assert_eq!(model.phase(attempt), StopPhase::Cancelling);
    model.end(0, &SegmentResult::default());
    assert_eq!(model.ended(0), ("timed_out", Some("stuck".into())), "its result is taken, but late");
}

#[test]
fn a_leader_that_was_stopped_itself_accuses_nobody() {
    let text = workflows(&[("A", "")]).replace("duration: 10s", "duration: 10h");
    let mut model = Model::new(&text, 1);
    model.prepare(0);
    model.pass(Duration::from_hours(1));
    model.input(hyperscale_job::Input::Second { memory_bytes: None });
    assert_eq!(model.phase(model.open(0)[0]), StopPhase::Running);
}

#[test]
fn the_time_of_a_job_counts_from_its_acceptance() {
    let facts = JobFacts { timeout: Some(Span::from_secs(20)), ..JobFacts::default() };
    let text = workflows(&[("A", ""), ("B", ", depends: [A]")]);
    let mut model = Model::with(&text, &[1], facts);
    model.prepare(0);
    model.call(0, None);
    model.seconds(21);
    assert_eq!(model.phase(model.open(0)[0]), StopPhase::Cancelling);
    model.end(0, &SegmentResult::default());
    assert_eq!(model.ended(1).0, "timed_out");
    assert_eq!(model.job(), ("timed_out", Some("timeout")));
}
