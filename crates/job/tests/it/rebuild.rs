//! A core that is built again from the record and the reports of workers decides the same.

use std::sync::Arc;

use hyperscale_job::{FailureKind, Input, JobCore, Report, SETTLE, SegmentKind, SegmentResult};
use hyperscale_types::Command;
use serde_json::json;

use crate::model::{Model, failed, workflows};

impl Model {
    /// Another leader takes over: it has the record, and workers that say how far they are.
    pub(crate) fn take_over(&mut self) {
        let record = self.core.record().clone();
        self.core = JobCore::rebuild(Arc::clone(self.core.plan()), self.facts.clone(), record);
        self.told.clear();
        self.input(Input::Pool(self.pool()));
    }
}

/// One thing that happens in the life of the job.
type Step = fn(&mut Model);

const SCRIPT: &[Step] = &[
    |model| model.end(0, &SegmentResult { values: vec![json!(1)], ..SegmentResult::default() }),
    |model| model.prepare(0),
    |model| model.prepare(1),
    |model| drop(model.request(Command::Pause)),
    |model| model.seconds(2),
    |model| drop(model.request(Command::Resume)),
    |model| model.end(1, &failed(FailureKind::Engine)),
    |model| model.end(0, &SegmentResult::default()),
    |model| model.end(0, &SegmentResult::default()),
    |model| model.pass(SETTLE),
    |model| model.prepare(3),
    |model| drop(model.request(Command::Cancel { reason: "enough".into() })),
    |model| model.end(3, &SegmentResult::default()),
];

fn model() -> Model {
    let graphs = ", setup: { s: { http: 'http://x/' } }, teardown: { t: { http: 'http://x/' } }";
    let all = [("A", graphs), ("B", ""), ("C", ", depends: [B]"), ("D", ", depends: [A]")];
    Model::on(&workflows(&all), &[2, 2])
}

#[test]
fn a_take_over_at_any_point_decides_what_would_have_been_decided() {
    let mut untouched = model();
    for step in SCRIPT {
        step(&mut untouched);
    }
    assert!(untouched.result.is_some(), "{:?}", untouched.words());
    for point in 0..=SCRIPT.len() {
        let mut model = model();
        for step in &SCRIPT[..point] {
            step(&mut model);
        }
        model.take_over();
        // Attempts that are prepared say so again.
        let started = |model: &Model, at: usize| model.core.record().workflows()[at].load_clock().is_some();
        for at in 0..4 {
            for attempt in model.open(at) {
                if attempt.segment.kind == SegmentKind::Load && started(&model, at) {
                    model.report(attempt, Report::Prepared);
                }
            }
        }
        for step in &SCRIPT[point..] {
            step(&mut model);
        }
        assert_eq!(model.words(), untouched.words(), "taken over after step {point}");
        assert_eq!(model.core.illegal_transitions(), 0);
    }
}

#[test]
fn a_new_leader_tells_attempts_again_what_holds() {
    let mut model = model();
    model.prepare(1);
    model.request(Command::Cancel { reason: "enough".into() }).expect("it is taken");
    let attempt = model.open(1)[0];
    let before = model.told[&attempt];
    model.take_over();
    assert_eq!(model.told[&attempt], before);
}
