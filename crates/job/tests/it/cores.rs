//! Batches, core groups and waiting.

use hyperscale_job::SegmentResult;
use hyperscale_stats::event::{Event, WorkflowState};

use crate::model::{Model, workflows};

fn waiting(model: &Model) -> Vec<String> {
    let waits = |event: &Event| match event {
        Event::Workflow { name, state: WorkflowState::Waiting { .. } } => Some(name.to_string()),
        _ => None,
    };
    model.events.iter().filter_map(waits).collect()
}

#[test]
fn four_workflows_on_two_cores_start_together_and_share_them() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ""), ("C", ""), ("D", "")]), 2);
    let assigned = (0..4).map(|at| format!("Load {at} on w0 x2")).collect::<Vec<_>>().join(", ");
    assert_eq!(model.words(), ["ready [0, 1, 2, 3]".to_owned(), format!("assign {assigned}")]);
    assert_eq!(model.pool().free(), 0);
    for at in 0..4 {
        model.run(at);
        assert_eq!(model.pool().free(), if at < 3 { 0 } else { 2 }, "freed with the last workflow");
    }
    assert_eq!(model.job(), ("completed", None));
    assert!(waiting(&model).is_empty());
}

#[test]
fn a_workflow_that_does_not_fit_waits_and_says_so_once() {
    let mut model = Model::new(&workflows(&[("A", ", priority: high"), ("B", ", priority: high")]), 4);
    assert_eq!(waiting(&model), ["B"]);
    model.seconds(3);
    assert_eq!(waiting(&model), ["B"]);
    let snapshot = model.events.iter().rev().find_map(|event| match event {
        Event::Snapshot(snapshot) => Some(&snapshot.result.workflows[1]),
        _ => None,
    });
    let shown = snapshot.map(|workflow| (workflow.status.as_str(), workflow.reason.as_deref()));
    assert_eq!(shown, Some(("ready", Some("waiting_for_cores"))));
    model.run(0);
    model.run(1);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn an_exclusive_workflow_runs_alone() {
    let mut model = Model::new(&workflows(&[("A", ""), ("X", ", priority: exclusive")]), 4);
    assert_eq!(model.words()[1], "assign Load 1 on w0 x4");
    assert_eq!(model.pool().free(), 0);
    model.run(1);
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn a_load_is_placed_on_several_workers_when_one_is_too_small() {
    let mut model = Model::on(&workflows(&[("A", "")]), &[1, 3]);
    let mut parts: Vec<(String, u32)> = Vec::new();
    for order in model.orders.values() {
        let assignment = &order.assignment;
        parts.push((assignment.worker.to_string(), assignment.share.cores));
        assert_eq!(assignment.share.cores_total, 4);
    }
    parts.sort();
    assert_eq!(parts, [("w0".to_owned(), 1), ("w1".to_owned(), 3)]);
    model.run(0);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn a_job_without_workers_waits_for_them() {
    let mut model = Model::on(&workflows(&[("A", "")]), &[]);
    assert_eq!(model.words(), ["ready [0]"]);
    model.workers.push(("w9".into(), 2, 0));
    model.input(hyperscale_job::Input::Pool(model.pool()));
    assert_eq!(model.words()[1..], ["assign Load 0 on w9 x2"]);
}

#[test]
fn set_up_holds_the_cores_of_the_load() {
    let set_up = ", setup: { s: { http: 'http://x/' } }";
    let mut model = Model::new(&workflows(&[("A", set_up), ("B", "")]), 2);
    assert_eq!(model.words()[1], "assign Setup 0 on w0 x1, Load 1 on w0 x1");
    assert_eq!(model.pool().free(), 0);
    model.end(0, &SegmentResult::default());
    assert_eq!(model.words().last().map(String::as_str), Some("assign Load 0 on w0 x1"));
}
