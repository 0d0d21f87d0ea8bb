//! Stops: graceful, cancelled, aborted; of the job and of single workflows; by a check, a threshold, a person.

use hyperscale_job::{Failure, FailureKind, Refusal, Report, SegmentResult, StopPhase};
use hyperscale_stats::event::Event;
use hyperscale_types::{Command, ErrorKind};

use crate::model::{Model, name, workflows};

fn cancel(workflow: &str, dependents: bool) -> Command {
    Command::CancelWorkflow { workflow: name(workflow), dependents, reason: "not needed".into() }
}

#[test]
fn a_stop_only_gets_more_urgent() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.prepare(0);
    let attempt = model.open(0)[0];
    for (command, phase) in [
        (Command::Finish, StopPhase::Finishing),
        (Command::Abort, StopPhase::Aborted),
        (Command::Finish, StopPhase::Aborted),
    ] {
        assert_eq!(model.request(command), Ok(Vec::new()));
        assert_eq!(model.phase(attempt), phase);
    }
    model.call(0, None);
    model.end(0, &SegmentResult::default());
    assert_eq!(model.ended(0), ("cancelled", Some("interrupted".into())));
    assert_eq!(model.job(), ("cancelled", Some("interrupted")));
}

#[test]
fn what_has_not_begun_is_cancelled_at_once() {
    let mut model = Model::new(
        &workflows(&[("A", ", priority: high"), ("B", ", priority: high"), ("C", ", depends: [A]")]),
        1,
    );
    model.prepare(0);
    model.request(Command::Cancel { reason: "enough".into() }).expect("it is taken");
    for pending in [1, 2] {
        let state = model.core.record().workflows()[pending].ended();
        assert_eq!(state, Some(hyperscale_job::state::WorkflowEnd::Cancelled));
    }
    model.end(0, &SegmentResult::default());
    assert_eq!(model.job(), ("cancelled", Some("enough")));
    assert_eq!(model.orders.len(), 1, "nothing cancelled was ever dispatched");
}

#[test]
fn preparation_has_nothing_to_finish() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.request(Command::Finish).expect("it is taken");
    assert_eq!(model.phase(model.open(0)[0]), StopPhase::Cancelling);
    model.prepare(0);
    assert!(!model.words().contains(&"start 0".to_owned()), "it never begins");
}

#[test]
fn a_tear_down_runs_after_a_cancel_but_not_after_an_abort() {
    let graphs = ", teardown: { t: { http: 'http://x/' } }";
    for (command, torn_down) in [(Command::Cancel { reason: "r".into() }, true), (Command::Abort, false)] {
        let mut model = Model::new(&workflows(&[("A", graphs)]), 1);
        model.prepare(0);
        model.request(command).expect("it is taken");
        model.end(0, &SegmentResult::default());
        assert_eq!(model.result.is_none(), torn_down);
        if torn_down {
            assert_eq!(model.phase(model.open(0)[0]), StopPhase::Running, "the stop does not reach it");
            model.request(Command::Abort).expect("it is taken");
            assert_eq!(model.phase(model.open(0)[0]), StopPhase::Aborted);
            model.end(0, &SegmentResult::default());
        }
        assert_eq!(model.ended(0).0, "cancelled");
    }
}

#[test]
fn one_workflow_is_cancelled_with_its_dependents() {
    let mut model =
        Model::new(&workflows(&[("A", ""), ("B", ", depends: [A]"), ("C", ", depends: [B]"), ("D", "")]), 4);
    model.prepare(0);
    model.prepare(3);
    model.request(cancel("A", true)).expect("it is taken");
    model.end(0, &SegmentResult::default());
    model.run(3);
    for at in [0, 1, 2] {
        assert_eq!(model.ended(at), ("cancelled", Some("not needed".into())), "workflow {at}");
    }
    assert_eq!(model.ended(3).0, "completed");
    assert_eq!(model.job().0, "partial");
}

#[test]
fn without_dependents_those_are_skipped() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ", depends: [A]")]), 4);
    model.prepare(0);
    model.request(cancel("A", false)).expect("it is taken");
    model.end(0, &SegmentResult::default());
    assert_eq!(model.ended(1), ("skipped", Some("A cancelled".into())));
}

#[test]
fn a_workflow_that_is_unknown_or_over_is_not_cancelled() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ", depends: [A]")]), 4);
    assert!(matches!(model.request(cancel("Z", true)), Err(Refusal::UnknownWorkflow { .. })));
    model.run(0);
    assert!(matches!(model.request(cancel("A", true)), Err(Refusal::NotRunning { status: "completed", .. })));
}

#[test]
fn a_check_that_stops_the_test_cancels_everything_and_fails_its_workflow() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", "")]), 2);
    model.prepare(0);
    model.prepare(1);
    model.call(0, None);
    model.call(1, None);
    let failure = Failure::new(FailureKind::Check, "the check `mine` failed");
    model.report(model.open(0)[0], Report::StopTest(failure.clone()));
    assert_eq!(model.phase(model.open(1)[0]), StopPhase::Cancelling);
    model.end(0, &SegmentResult { stopped: Some(failure), ..SegmentResult::default() });
    model.end(1, &SegmentResult::default());
    assert_eq!(model.ended(0), ("failed", Some("check".into())));
    assert_eq!(model.ended(1), ("cancelled", Some("check".into())));
    assert_eq!(model.job(), ("failed", Some("check")));
}

#[test]
fn a_check_that_is_only_told_at_the_end_stops_the_others_too() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", "")]), 2);
    model.prepare(0);
    model.prepare(1);
    model.call(0, None);
    let failure = Failure::new(FailureKind::Check, "the check `mine` failed");
    model.end(0, &SegmentResult { stopped: Some(failure), ..SegmentResult::default() });
    assert_eq!(model.phase(model.open(1)[0]), StopPhase::Cancelling);
}

#[test]
fn a_failed_threshold_with_abort_cancels_the_job_not_before_its_time() {
    let rules = "thresholds:\n  - { rule: 'A.failed.rate < 1%', abort: true, after: 3s }\n";
    let mut model = Model::new(&format!("{}{rules}", workflows(&[("A", "")])), 1);
    model.prepare(0);
    model.call(0, Some(ErrorKind::Status));
    model.seconds(2);
    assert!(model.core.record().stop().is_none(), "not before `after`");
    model.seconds(2);
    assert_eq!(model.phase(model.open(0)[0]), StopPhase::Cancelling);
    assert!(
        model
            .events
            .iter()
            .any(|event| matches!(event, Event::Abort { rule } if rule.contains("failed.rate")))
    );
    model.end(0, &SegmentResult::default());
    assert_eq!(model.job(), ("cancelled", Some("threshold")));
}

#[test]
fn an_ended_job_takes_no_command() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.run(0);
    assert_eq!(model.request(Command::Finish), Err(Refusal::Over));
}
