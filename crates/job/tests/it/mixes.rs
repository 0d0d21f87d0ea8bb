//! Workflows that share one load.

use hyperscale_job::{FailureKind, Refusal, Report};
use hyperscale_stats::result::Changed;
use hyperscale_types::{Command, Rate};

use crate::model::{Model, failed};

const MIX: &str = "name: t\nload: { rate: 100/s, duration: 60s }\nworkflows:\n  \
                   A: { weight: 70, steps: { a: { http: 'http://x/' } } }\n  \
                   B: { weight: 30, steps: { a: { http: 'http://x/' } } }\n";

#[test]
fn the_load_clocks_of_a_mix_begin_at_one_moment() {
    let mut model = Model::new(MIX, 2);
    model.prepare(0);
    assert!(!model.words().iter().any(|word| word.starts_with("start")), "B is not prepared");
    model.prepare(1);
    let began = [0, 1].map(|at| model.core.record().workflows()[at].load_clock().expect("it runs").began());
    assert_eq!(began[0], began[1]);
}

#[test]
fn a_member_that_fails_holds_nobody_up() {
    let mut model = Model::new(MIX, 2);
    model.prepare(0);
    let attempt = model.open(1)[0];
    model.report(attempt, Report::Ended(Box::new(failed(FailureKind::Prepare))));
    assert!(model.words().contains(&"start 0".to_owned()), "{:?}", model.words());
}

#[test]
fn a_change_without_a_workflow_sets_the_total_of_the_mix() {
    let mut model = Model::new(MIX, 2);
    let rate = |rate| Command::SetRate { workflow: None, rate: Rate::per_second(rate) };
    assert_eq!(model.request(rate(200.0)), Err(Refusal::NoLoad));
    model.prepare(0);
    model.prepare(1);
    let changes = model.request(rate(200.0)).expect("it is taken");
    let parts: Vec<_> = changes.iter().map(|change| change.what).collect();
    let part = |from, to| Changed::Rate { from, to };
    assert_eq!(parts, [part(70.0, 140.0), part(30.0, 60.0)], "each has its part of it");
}
