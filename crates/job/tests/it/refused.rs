//! Effects follow only on what was applied.

use hyperscale_job::{Input, Refusal, Refused, StopPhase};
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
        hyperscale_job::Entry::Start { workflow: 1, at },
        hyperscale_job::Entry::Start { workflow: 7, at },
        hyperscale_job::Entry::Ready { workflows: vec![1, 0], at },
        hyperscale_job::Entry::JobEnd { end: hyperscale_job::state::JobEnd::Completed, reason: None, at },
        hyperscale_job::Entry::WorkflowEnd {
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
