//! Attempts whose workers are lost or do not take them.

use std::time::Duration;

use hyperscale_job::{AttemptId, Input, JobFacts, LoadClock, LossPolicy, OnLoss, Report, SegmentResult};
use hyperscale_types::Span;
use serde_json::json;

use crate::model::{Model, workflows};

fn facts() -> JobFacts {
    let queue_timeout = Some(Span::from_secs(300));
    JobFacts { id: "j".into(), is_distributed: true, queue_timeout, ..JobFacts::default() }
}

fn refuse(model: &mut Model, attempt: AttemptId) {
    model.report(attempt, Report::Refused { why: "worker w0 refused it: draining".into() });
}

/// The worker of an attempt is gone, and its cores with it.
fn lose(model: &mut Model, attempt: AttemptId) {
    let worker = model.orders[&attempt].assignment.worker.clone();
    model.workers.retain(|(id, ..)| *id != worker);
    model.report(attempt, Report::Lost);
    model.input(Input::Pool(model.pool()));
}

#[test]
fn refused_attempt_is_tried_on_another_worker_at_once() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[2, 2], facts());
    let (first, second) = (model.open(0)[0], model.open(0)[1]);
    model.workers.push(("w2".into(), 2, 0));
    model.input(Input::Pool(model.pool()));
    refuse(&mut model, first);
    let words = model.words();
    assert_eq!(words[2..], ["attempt end Load 0 Refused", "assign Load 0 on w2 x2"]);
    assert_eq!(model.open(0), [AttemptId { number: 2, ..first }, second]);
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
    assert_eq!(model.result.unwrap().validity.loss.workers_lost, 0, "nobody was lost");
}

#[test]
fn attempt_that_is_lost_before_the_load_begins_leaves_no_gap() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[2, 2], facts());
    let first = model.open(0)[0];
    model.workers.push(("w2".into(), 2, 0));
    model.input(Input::Pool(model.pool()));
    model.seconds(2);
    lose(&mut model, first);
    model.seconds(2);
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
    let result = model.result.unwrap();
    let loss = &result.validity.loss;
    assert_eq!(
        (loss.workers_lost, loss.unreported.as_slice()),
        (1, &[][..]),
        "it was never told to send load"
    );
    let attempts = result.provenance.segments.iter();
    let attempts: Vec<_> = attempts.map(|it| (it.worker.as_str(), it.attempt, it.state.as_str())).collect();
    assert_eq!(attempts, [("w0", 1, "lost"), ("w2", 2, "completed"), ("w1", 1, "completed")]);
}

#[test]
fn worker_that_refused_a_segment_gets_it_again_after_a_while_if_there_is_no_other() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[2], facts());
    let first = model.open(0)[0];
    refuse(&mut model, first);
    // Its cores are free again.
    model.workers[0].2 = 0;
    model.input(Input::Pool(model.pool()));
    model.pass(Duration::from_millis(4_900));
    assert_eq!(model.open(0), [], "it may refuse it again");
    model.pass(Duration::from_millis(200));
    assert_eq!(model.open(0), [AttemptId { number: 2, ..first }]);
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn refusals_count_against_the_budget_of_the_job_and_not_against_the_retries_of_a_segment() {
    let losses = LossPolicy { max_retries: 0, retry_budget: 2, ..LossPolicy::default() };
    let mut model = Model::with(&workflows(&[("A", "")]), &[1], JobFacts { losses, ..facts() });
    for number in 1..=3 {
        model.workers.push((format!("w{number}").into(), 1, 0));
        model.input(Input::Pool(model.pool()));
        let open = model.open(0);
        assert_eq!(open[0].number, number);
        refuse(&mut model, open[0]);
    }
    assert_eq!(model.ended(0), ("failed", Some("refused".to_owned())));
    let errors = &model.result.as_ref().unwrap().errors;
    let message = "no worker took a segment of it: worker w0 refused it: draining";
    assert_eq!((errors[0].kind.as_str(), errors[0].message.as_str()), ("refused", message));
}

#[test]
fn refused_attempt_of_a_job_that_fails_with_its_workers_is_tried_again() {
    let losses = LossPolicy { on_loss: OnLoss::Fail, ..LossPolicy::default() };
    let mut model = Model::with(&workflows(&[("A", "")]), &[1], JobFacts { losses, ..facts() });
    let first = model.open(0)[0];
    refuse(&mut model, first);
    model.workers.push(("w1".into(), 1, 0));
    model.input(Input::Pool(model.pool()));
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn refusal_of_what_is_to_stop_ends_it() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[1, 1], facts());
    let cancel = hyperscale_types::Command::Cancel { reason: "enough".into() };
    model.request(cancel).expect("it is taken");
    for attempt in model.open(0) {
        refuse(&mut model, attempt);
    }
    assert_eq!(model.ended(0), ("cancelled", Some("enough".to_owned())));
}

#[test]
fn set_up_that_was_lost_or_refused_is_run_by_another_worker() {
    let setup = ", setup: { s: { http: 'http://x/' } }";
    let mut model = Model::with(&workflows(&[("A", setup)]), &[2, 2, 2], facts());
    let first = model.open(0)[0];
    lose(&mut model, first);
    let second = model.open(0)[0];
    assert_eq!(second.number, 2);
    refuse(&mut model, second);
    let third = model.open(0)[0];
    let worker = |model: &Model, id: AttemptId| model.orders[&id].assignment.worker.to_string();
    assert_eq!([first, second, third].map(|id| worker(&model, id)), ["w0", "w1", "w2"]);
    model.end(0, &SegmentResult { values: vec![json!(7)], ..SegmentResult::default() });
    let orders = model.open(0).into_iter().map(|id| model.orders[&id].setup.to_vec());
    assert!(orders.clone().count() > 0 && orders.clone().all(|it| it == [json!(7)]));
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn load_gets_other_cores_if_a_worker_is_gone_after_the_set_up() {
    let setup = ", setup: { s: { http: 'http://x/' } }";
    let mut model = Model::with(&workflows(&[("A", setup)]), &[2, 2], facts());
    model.workers.retain(|(id, ..)| &**id != "w1");
    model.input(Input::Pool(model.pool()));
    model.end(0, &SegmentResult { values: vec![json!(7)], ..SegmentResult::default() });
    assert_eq!(model.words().last().unwrap(), "assign Load 0 on w0 x2");
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn load_that_has_not_begun_waits_for_a_lost_segment_and_then_begins_without_it() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[2, 2], facts());
    let (first, second) = (model.open(0)[0], model.open(0)[1]);
    model.report(second, Report::Prepared);
    lose(&mut model, first);
    model.pass(Duration::from_secs(29));
    assert!(model.core.record().workflows()[0].load_clock().is_none());
    model.pass(Duration::from_secs(1));
    assert!(model.core.record().workflows()[0].load_clock().is_some());
    model.workers.push(("w2".into(), 2, 0));
    model.input(Input::Pool(model.pool()));
    let third = AttemptId { number: 2, ..first };
    assert_eq!(model.open(0), [third, second], "it joins when there are cores");
}

#[test]
fn attempt_that_joins_a_load_has_the_load_clock_of_its_workflow() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[2, 2], facts());
    let (first, second) = (model.open(0)[0], model.open(0)[1]);
    model.report(first, Report::Prepared);
    model.report(second, Report::Prepared);
    model.pass(Duration::from_secs(3));
    lose(&mut model, first);
    model.pass(Duration::from_secs(1));
    model.workers.push(("w2".into(), 2, 0));
    model.input(Input::Pool(model.pool()));
    model.pass(Duration::from_secs(1));
    let joined = AttemptId { number: 2, ..first };
    let (go, offset) = (model.told[&joined].go.unwrap(), model.orders[&joined].offset);
    let workflow = model.core.record().workflows()[0].load_clock().unwrap();
    let shown = LoadClock::new(go, offset).load_time(model.now);
    assert_eq!(shown, workflow.load_time(model.now), "it begins at {go:?} with {offset:?}");
    assert_eq!(model.told[&second].go, Some(workflow.began()));
}

#[test]
fn segment_without_any_worker_is_given_up_after_the_queue_timeout() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[2], facts());
    let first = model.open(0)[0];
    lose(&mut model, first);
    model.pass(Duration::from_secs(299));
    assert!(model.result.is_none());
    model.pass(Duration::from_secs(1));
    assert_eq!(model.ended(0), ("failed", Some("worker_lost".to_owned())));
}

#[test]
fn segment_waits_for_a_busy_worker_as_long_as_it_takes() {
    let mut model = Model::with(&workflows(&[("A", "")]), &[2], facts());
    model.workers.push(("w1".into(), 2, 2));
    let first = model.open(0)[0];
    lose(&mut model, first);
    model.pass(Duration::from_hours(1));
    assert!(model.result.is_none());
    model.workers[0].2 = 0;
    model.input(Input::Pool(model.pool()));
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn tear_down_that_was_lost_is_run_by_another_worker() {
    let teardown = ", teardown: { t: { http: 'http://x/' } }";
    let mut model = Model::with(&workflows(&[("A", teardown)]), &[2], facts());
    model.run(0);
    let first = model.open(0)[0];
    model.workers.push(("w1".into(), 2, 0));
    lose(&mut model, first);
    let second = model.open(0)[0];
    assert_eq!((second.number, &*model.orders[&second].assignment.worker), (2, "w1"));
    model.end(0, &SegmentResult::default());
    assert_eq!(model.job(), ("completed", None));
}
