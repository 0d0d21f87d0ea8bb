//! Effects follow only on what was applied.

use hyperscale_job::{Entry, Input, Refusal, Refused, StopPhase};
use hyperscale_types::Command;

use crate::model::{Model, workflows};

#[test]
fn a_refused_assignment_has_no_effect_and_is_proposed_again() {
    let mut model = Model::on(&workflows(&[("A", "")]), &[]);
    model.workers.push(("w0".into(), 2, 0));
    model.refuse = Some(Refused::CoresTaken);
    model.input(Input::Pool(model.pool()));
    assert!(model.orders.is_empty());
    assert_eq!(model.words(), ["ready [0]"]);
    model.input(Input::Pool(model.pool()));
    assert_eq!(model.words()[1..], ["assign Load 0 on w0 x2"]);
}

#[test]
fn a_refused_stop_stops_nothing() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.prepare(0);
    model.refuse = Some(Refused::Unavailable);
    assert_eq!(model.request(Command::Abort), Err(Refusal::Busy));
    assert_eq!(model.phase(model.open(0)[0]), StopPhase::Running);
    model.request(Command::Abort).expect("now it is taken");
    assert_eq!(model.phase(model.open(0)[0]), StopPhase::Aborted);
}

#[test]
fn begin_that_is_decided_twice_does_not_begin_the_load_again() {
    let mut model = Model::new(&workflows(&[("A", "")]), 2);
    model.prepare(0);
    let attempt = model.open(0)[0];
    let (clock, told) = (*model.core.record().workflows()[0].load_clock().unwrap(), model.told[&attempt]);
    model.pass(std::time::Duration::from_secs(3));
    // The first proposal was given up for lost, proposed again, and both came into the log.
    let entry = Box::new(Entry::Start { workflow: 0, at: model.now });
    model.input(Input::Applied { entry, outcome: Ok(()) });
    assert_eq!(model.core.record().workflows()[0].load_clock(), Some(&clock));
    assert_eq!((model.told[&attempt], model.core.illegal_transitions()), (told, 1));
}

#[test]
fn a_refused_end_of_an_attempt_is_proposed_again() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.prepare(0);
    model.call(0, None);
    model.refuse = Some(Refused::Unavailable);
    model.end(0, &hyperscale_job::SegmentResult::default());
    assert!(model.result.is_none());
    model.seconds(1);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn a_leader_that_was_replaced_does_nothing_more() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.refuse = Some(Refused::StaleToken);
    model.prepare(0);
    assert!(model.is_deposed);
    model.call(0, None);
    model.end(0, &hyperscale_job::SegmentResult::default());
    model.seconds(300);
    assert_eq!(model.words().len(), 2, "nothing is proposed any more: {:?}", model.words());
    assert!(model.told.is_empty());
}

#[test]
fn what_the_tables_do_not_allow_changes_nothing_and_is_counted() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ", depends: [A]")]), 1);
    let before = model.core.record().clone();
    let at = model.now;
    for entry in [
        Entry::Start { workflow: 1, at },
        Entry::Start { workflow: 7, at },
        Entry::Ready { workflows: vec![1, 0], at },
        Entry::JobEnd { end: hyperscale_job::state::JobEnd::Completed, reason: None, at },
        Entry::WorkflowEnd {
            workflow: 1,
            end: hyperscale_job::state::WorkflowEnd::Completed,
            reason: None,
            failure: None,
            at,
        },
    ] {
        model.core.handle(at, Input::Applied { entry: Box::new(entry.clone()), outcome: Ok(()) });
        assert_eq!(*model.core.record(), before, "{entry:?}");
    }
    assert_eq!(model.core.illegal_transitions(), 5);
}

#[test]
fn a_decision_that_the_log_will_never_take_fails_its_workflow_and_no_other() {
    let what = "a job has at most 4096 segments";
    let mut model = Model::on(&workflows(&[("A", ""), ("B", "")]), &[]);
    model.workers.push(("w0".into(), 2, 0));
    model.refuse = Some(Refused::TooLarge { what });
    model.input(Input::Pool(model.pool()));
    assert_eq!(model.ended(0), ("failed", Some("limit".to_owned())));
    assert_eq!(model.result.as_ref().unwrap().errors[0].message, what);

    let mut model = Model::new(&workflows(&[("A", ""), ("B", "")]), 2);
    model.refuse = Some(Refused::TooLarge { what });
    model.prepare(0);
    assert_eq!(model.phase(model.open(0)[0]), StopPhase::Cancelling, "what runs of it is stopped");
    model.end(0, &hyperscale_job::SegmentResult::default());
    model.run(1);
    assert_eq!(model.ended(0), ("failed", Some("limit".to_owned())));
    assert_eq!(model.ended(1), ("completed", None));
}

#[test]
fn values_that_do_not_fit_a_dispatch_fail_the_workflow_that_needs_them() {
    let facts = hyperscale_job::JobFacts { is_distributed: true, ..hyperscale_job::JobFacts::default() };
    let graphs = ", setup: { s: { http: 'http://x/' } }, teardown: { t: { http: 'http://x/' } }";
    for (bytes, is_failed) in [(900 << 10, false), (1 << 20, true)] {
        let mut model = Model::with(&workflows(&[("A", graphs)]), &[1], facts.clone());
        let values = vec![serde_json::json!("x".repeat(bytes))];
        model.end(0, &hyperscale_job::SegmentResult { values, ..Default::default() });
        if is_failed {
            assert_eq!(model.words().last().unwrap(), "assign Teardown 0 on w0 x1");
        } else {
            model.run(0);
        }
        model.end(0, &hyperscale_job::SegmentResult::default());
        let reason = is_failed.then(|| "context_too_large".to_owned());
        assert_eq!(model.ended(0).1, reason);
    }
}
