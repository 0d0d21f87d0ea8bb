//! From the acceptance of a job to its end.

use std::time::Duration;

use hyperscale_job::entry::{ContextValues, Entry};
use hyperscale_job::segment::{Provided, VuCounts};
use hyperscale_job::{FailureKind, Report, SETTLE, SegmentKind, SegmentResult};
use hyperscale_types::ErrorKind;
use serde_json::json;

use crate::model::{Model, failed, workflows};

#[test]
fn a_workflow_is_decided_step_by_step() {
    let mut model = Model::new(&workflows(&[("A", "")]), 2);
    assert_eq!(model.words(), ["ready [0]", "assign Load 0 on w0 x2"]);
    model.run(0);
    assert_eq!(
        model.words()[2..],
        ["start 0", "attempt end Load 0 Completed", "workflow end 0 Completed", "job end Completed"]
    );
    assert_eq!(model.job(), ("completed", None));
    assert_eq!(model.core.illegal_transitions(), 0);
}

#[test]
fn the_load_begins_on_all_segments_at_one_moment_once_every_one_is_prepared() {
    let mut model = Model::on(&workflows(&[("A", "")]), &[2, 2]);
    let [one, two] = model.open(0)[..] else { panic!("two segments: {:?}", model.words()) };
    model.report(one, Report::Prepared);
    assert!(model.told.is_empty(), "the other one is not prepared");
    model.report(two, Report::Prepared);
    let go = [one, two].map(|attempt| model.told[&attempt].go.expect("it begins"));
    assert_eq!(go[0], go[1]);
    assert!(go[0] > model.now);
}

#[test]
fn set_up_and_tear_down_are_segments_of_one_core_around_the_load() {
    let graphs = ", setup: { s: { http: 'http://x/' } }, teardown: { t: { http: 'http://x/' } }";
    let mut model = Model::new(&workflows(&[("A", graphs)]), 4);
    assert_eq!(model.words(), ["ready [0]", "assign Setup 0 on w0 x1"]);
    let values = vec![json!({ "status": 200 })];
    model.end(0, &SegmentResult { values: values.clone(), ..SegmentResult::default() });
    assert_eq!(
        model.words()[2..],
        ["attempt end Setup 0 Completed", "context 0", "assign Load 0 on w0 x4"],
        "values are fixed before the load is assigned"
    );
    let load = model.open(0)[0];
    assert_eq!(model.orders[&load].setup[..], values[..]);
    model.run(0);
    assert_eq!(model.words().last().map(String::as_str), Some("assign Teardown 0 on w0 x1"));
    model.end(0, &SegmentResult::default());
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn a_failed_set_up_fails_the_workflow_and_still_tears_down() {
    let graphs = ", setup: { s: { http: 'http://x/' } }, teardown: { t: { http: 'http://x/' } }";
    let mut model = Model::new(&workflows(&[("A", graphs), ("B", ", depends: [A]")]), 4);
    model.end(0, &failed(FailureKind::Setup));
    assert_eq!(model.open(0)[0].segment.kind, SegmentKind::Teardown);
    model.end(0, &SegmentResult::default());
    assert_eq!(model.ended(0), ("failed", Some("setup".into())));
    assert_eq!(model.ended(1), ("skipped", Some("A failed".into())));
    assert_eq!(model.job(), ("failed", Some("setup")));
}

#[test]
fn a_failed_tear_down_is_shown_and_changes_nothing() {
    let mut model = Model::new(&workflows(&[("A", ", teardown: { t: { http: 'http://x/' } }")]), 1);
    model.run(0);
    model.end(0, &failed(FailureKind::Teardown));
    assert_eq!(model.ended(0), ("completed", None));
    let result = model.result.as_ref().expect("the job has ended");
    assert!(result.errors.iter().any(|error| error.kind == "teardown"), "{:?}", result.errors);
}

#[test]
fn a_dependent_becomes_ready_a_moment_after_its_last_dependency() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ", depends: [A]")]), 2);
    model.run(0);
    let before = model.log.len();
    model.pass(SETTLE / 2);
    assert_eq!(model.log.len(), before, "not yet");
    model.pass(SETTLE / 2);
    assert_eq!(model.words()[before..], ["ready [1]", "assign Load 1 on w0 x2"]);
}

#[test]
fn start_after_delays_a_workflow() {
    let mut model = Model::new(&workflows(&[("A", ", start_after: 3s")]), 2);
    assert!(model.log.is_empty());
    assert_eq!(model.core.next_timer(), Some(Duration::from_secs(3)));
    model.pass(Duration::from_secs(3));
    assert_eq!(model.words().len(), 2);
}

#[test]
fn statistics_decide_nothing_and_hide_nothing_that_fell_due() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ", start_after: 3s")]), 2);
    model.prepare(0);
    let (attempt, before) = (model.open(0)[0], model.log.len());
    model.now = Duration::from_secs(4);
    model.call(0, None);
    model.report(attempt, Report::Alive);
    assert_eq!(model.log.len(), before, "looking for decisions costs what the job has attempts");
    assert_eq!(model.core.next_timer(), Some(Duration::from_secs(3)), "it is overdue");
    model.pass(Duration::ZERO);
    assert_eq!(model.words()[before..], ["ready [1]"]);
}

const PROVIDES: &str = ", provide: { key: { to: [B], value: '{{ a.status }}', pick: PICK } }";
const USES: &str = ", depends: [A], use: { A: [key] }";

fn provided(pick: &str, values: &[(u64, i64)]) -> Model {
    let mut model = Model::new(&workflows(&[("A", &PROVIDES.replace("PICK", pick)), ("B", USES)]), 2);
    model.prepare(0);
    let value = |(ms, value): &(u64, i64)| Provided {
        provide: 0,
        produced: Duration::from_millis(*ms),
        value: json!(value),
    };
    let provided = values.iter().map(value).collect();
    model.call(0, None);
    model.end(0, &SegmentResult { provided, ..SegmentResult::default() });
    model.pass(SETTLE);
    model
}

#[test]
fn provided_values_are_fixed_before_the_end_and_reach_the_dependent() {
    for (pick, wanted) in [("first", json!(2)), ("last", json!(1)), ("all", json!([1, 2, 3]))] {
        let model = provided(pick, &[(30, 1), (10, 2), (20, 3)]);
        let words = model.words();
        let context = words.iter().position(|word| word == "context 0").expect("the values are fixed");
        assert_eq!(words[context + 1], "workflow end 0 Completed");
        let order = &model.orders[&model.open(1)[0]];
        assert_eq!(order.context[..], [wanted], "pick {pick}");
        assert_eq!(model.core.illegal_transitions(), 0);
    }
}

#[test]
fn a_value_that_was_never_provided_fails_the_dependent() {
    let model = provided("last", &[]);
    assert_eq!(model.ended(1), ("failed", Some("context_missing".into())));
    assert_eq!(model.job(), ("partial", Some("context_missing")));
}

#[test]
fn values_beyond_the_limit_fail_the_provider() {
    let mut model = Model::new(&workflows(&[("A", &PROVIDES.replace("PICK", "last")), ("B", USES)]), 2);
    model.prepare(0);
    model.call(0, None);
    let value = json!("x".repeat(1 << 20));
    let provided = vec![Provided { provide: 0, produced: Duration::ZERO, value }];
    model.end(0, &SegmentResult { provided, ..SegmentResult::default() });
    assert_eq!(model.ended(0), ("failed", Some("context_too_large".into())));
    let entries = model.log.iter();
    assert!(
        !entries
            .clone()
            .any(|entry| matches!(entry, Entry::Context { values: ContextValues::Provided(_), .. }))
    );
}

#[test]
fn a_segment_that_fails_stops_the_others_of_its_workflow_only() {
    let mut model = Model::on(&workflows(&[("A", ", priority: high"), ("B", "")]), &[2, 2]);
    model.prepare(0);
    model.prepare(1);
    let ([one, two], [other]) = (&model.open(0)[..], &model.open(1)[..]) else {
        panic!("{:?}", model.words())
    };
    let (one, two, other) = (*one, *two, *other);
    model.report(one, Report::Ended(Box::new(failed(FailureKind::Engine))));
    assert_eq!(model.phase(two), hyperscale_job::StopPhase::Cancelling);
    assert_eq!(model.phase(other), hyperscale_job::StopPhase::Running);
    model.end(0, &SegmentResult::default());
    model.run(1);
    assert_eq!(model.ended(0), ("failed", Some("engine".into())));
    assert_eq!(model.job(), ("partial", Some("engine")));
}

#[test]
fn a_workflow_whose_every_vu_setup_failed_has_failed() {
    let mut model = Model::new(&workflows(&[("A", "")]), 2);
    model.prepare(0);
    let vus = VuCounts { started: 4, failed: 4, ..VuCounts::default() };
    model.end(0, &SegmentResult { vus, ..SegmentResult::default() });
    assert_eq!(model.ended(0), ("failed", Some("vu_setup".into())));
}

#[test]
fn only_what_the_network_did_makes_a_target_unreachable() {
    for (error, reason) in [
        (Some(ErrorKind::Template), None),
        (Some(ErrorKind::Expr), None),
        (Some(ErrorKind::ConnectRefused), Some("unreachable")),
        (Some(ErrorKind::Timeout), Some("unreachable")),
        (Some(ErrorKind::Cancelled), Some("unreachable")),
        (None, None),
    ] {
        let mut model = Model::new(&workflows(&[("A", "")]), 1);
        model.prepare(0);
        let attempt = model.open(0)[0];
        let mut window = hyperscale_stats::Window::new(model.core.layout(0));
        window.started();
        window.failed();
        let status = if error.is_none() { 500 } else { 0 };
        let answered = status != 0;
        window.call(0, &hyperscale_stats::CallSample { status, error, answered, ..Default::default() });
        model.input(hyperscale_job::Input::Window { attempt, window: &window });
        model.end(0, &SegmentResult::default());
        assert_eq!(model.job().1, reason, "{error:?}");
    }
}

#[test]
fn a_job_whose_counts_do_not_reconcile_fails_loudly() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.prepare(0);
    let attempt = model.open(0)[0];
    let mut window = hyperscale_stats::Window::new(model.core.layout(0));
    window.started();
    model.input(hyperscale_job::Input::Window { attempt, window: &window });
    model.end(0, &SegmentResult::default());
    assert_eq!(model.job(), ("failed", Some("books")));
    let [error] = &model.result.as_ref().expect("the job has ended").errors[..] else { panic!("one error") };
    assert_eq!((error.kind.as_str(), error.workflow.as_str()), ("books", "A"));
    assert!(error.message.contains("started = completed + failed + interrupted"), "{}", error.message);
}
