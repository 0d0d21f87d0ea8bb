//! Changes of the load while it runs.

use std::time::Duration;

use hyperscale_job::{Quantity, Refusal, SegmentResult};
use hyperscale_stats::event::Event;
use hyperscale_stats::result::Changed;
use hyperscale_types::{Command, ErrorKind, Rate};

use crate::model::{Model, name, workflows};

const OPEN: &str =
    "name: t\nworkflows:\n  O: { rate: 100/s, duration: 60s, steps: { a: { http: 'http://x/' } } }\n";

fn set_vus(vus: u32) -> Command {
    Command::SetVus { workflow: None, vus }
}

#[test]
fn a_change_of_rate_holds_from_one_moment_of_the_load_clock_on_all_segments() {
    let mut model = Model::on(OPEN, &[2, 2]);
    model.prepare(0);
    model.pass(Duration::from_secs(5));
    let rate = Rate::per_second(500.0);
    let changes = model.request(Command::SetRate { workflow: Some(name("O")), rate }).expect("it is taken");
    assert_eq!(changes[0].what, Changed::Rate { from: 100.0, to: 500.0 });
    let told: Vec<_> =
        model.open(0).iter().map(|attempt| model.told[attempt].rate.expect("a rate")).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], told[1]);
    let begins = model.core.record().workflows()[0].load_clock().expect("it runs").began();
    assert_eq!(told[0].from, Duration::from_secs(5).saturating_sub(begins));
}

#[test]
fn a_change_of_rate_says_how_many_starts_were_due_before_it() {
    let mut model = Model::on(OPEN, &[1]);
    model.prepare(0);
    let set = |model: &mut Model, seconds, rate| {
        model.pass(Duration::from_secs(seconds));
        let rate = Rate::per_second(rate);
        model.request(Command::SetRate { workflow: None, rate }).expect("it is taken");
        model.told[&model.open(0)[0]].rate.expect("a rate")
    };
    let first = set(&mut model, 4, 500.0);
    assert!((first.before - 100.0 * first.from.as_secs_f64()).abs() < 1e-6, "by the plan: {first:?}");
    let second = set(&mut model, 2, 10.0);
    assert!((second.before - (first.before + 1_000.0)).abs() < 1e-6, "and by the first change: {second:?}");
}

#[test]
fn a_pause_stops_the_load_clock_and_reaches_what_begins_meanwhile() {
    let mut model = Model::new(&workflows(&[("A", ", priority: low"), ("B", ", start_after: 2s")]), 4);
    model.prepare(0);
    model.pass(Duration::from_secs(1));
    model.request(Command::Pause).expect("it is taken");
    let at_pause = model.core.record().workflows()[0].load_time(model.now);
    model.pass(Duration::from_secs(5));
    model.prepare(1);
    assert!(model.told[&model.open(1)[0]].paused, "it begins paused");
    assert_eq!(model.core.record().workflows()[0].load_time(model.now), at_pause);
    assert_eq!(model.core.record().workflows()[1].load_time(model.now), Duration::ZERO);
    model.request(Command::Resume).expect("it is taken");
    model.pass(Duration::from_secs(1));
    let load = |at: usize| model.core.record().workflows()[at].load_time(model.now);
    assert_eq!(load(0), at_pause + Duration::from_secs(1));
    let begins = model.core.record().workflows()[1].load_clock().expect("it runs").began();
    assert_eq!(load(1), model.now.saturating_sub(begins), "the pause was over before it began");
}

#[test]
fn a_workflow_that_becomes_ready_during_a_pause_stays_paused() {
    let mut model = Model::new(&workflows(&[("A", ", priority: low"), ("B", ", start_after: 2s")]), 4);
    model.prepare(0);
    model.request(Command::Pause).expect("it is taken");
    model.pass(Duration::from_secs(3));
    model.prepare(1);
    model.pass(Duration::from_secs(3));
    let load_time = |model: &Model| model.core.record().workflows()[1].load_time(model.now);
    assert!(model.told[&model.open(1)[0]].paused);
    assert_eq!(load_time(&model), Duration::ZERO, "its time has come, and it waits");
    model.request(Command::Resume).expect("it is taken");
    model.pass(Duration::from_secs(1));
    assert_eq!(load_time(&model), Duration::from_secs(1), "the pause is no part of it");
}

#[test]
fn pausing_twice_changes_nothing() {
    let mut model = Model::new(&workflows(&[("A", "")]), 1);
    model.prepare(0);
    assert_eq!(model.request(Command::Pause).expect("it is taken").len(), 1);
    assert_eq!(model.request(Command::Pause), Ok(Vec::new()));
    assert_eq!(model.words().iter().filter(|word| *word == "control").count(), 1);
}

#[test]
fn a_change_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut model = Model::new(&workflows(&[("A", ""), ("B", ", depends: [A]")]), 1);
    assert_eq!(model.request(set_vus(8)), Err(Refusal::NoLoad));
    model.prepare(0);
    let rate = Command::SetRate { workflow: None, rate: Rate::per_second(1.0) };
    assert!(matches!(model.request(rate), Err(Refusal::WrongModel { has: Quantity::Vus, .. })));
    let other = Command::SetVus { workflow: Some(name("B")), vus: 1 };
    assert!(matches!(model.request(other), Err(Refusal::NotRunning { status: "pending", .. })));
    assert!(matches!(model.request(set_vus(2_000_000)), Err(Refusal::TooManyVus { .. })));
    assert!(!model.words().contains(&"control".to_owned()));
    model.request(set_vus(8)).expect("it fits");
    assert_eq!(model.told[&model.open(0)[0]].vus, Some(8));
    model.request(Command::Finish).expect("it is taken");
    assert_eq!(model.request(set_vus(4)), Err(Refusal::Stopping));
    model.call(0, None);
    model.end(0, &SegmentResult::default());
    assert_eq!(model.result.as_ref().expect("the job has ended").provenance.changes.len(), 1);
}

#[test]
fn a_pause_counts_neither_towards_the_time_of_thresholds_nor_as_progress() {
    for rule in ["A.failed.rate < 1%", "failed.rate < 1%"] {
        let rules = format!("thresholds:\n  - {{ rule: '{rule}', abort: true, after: 3s }}\n");
        let mut model = Model::new(&format!("{}{rules}", workflows(&[("A", "")])), 1);
        model.prepare(0);
        model.call(0, Some(ErrorKind::Status));
        model.seconds(1);
        let progress = |model: &Model| {
            let newest = model.events.iter().rev().find_map(|event| match event {
                Event::Snapshot(snapshot) => Some(snapshot.workflows[0].progress),
                _ => None,
            });
            newest.flatten().expect("it runs")
        };
        model.request(Command::Pause).expect("it is taken");
        let before = progress(&model);
        model.seconds(20);
        assert!(model.core.record().stop().is_none(), "{rule}: the pause counted");
        assert!((progress(&model) - before).abs() < 1e-9, "{rule}: the pause was progress");
        model.request(Command::Resume).expect("it is taken");
        model.seconds(1);
        assert!(model.core.record().stop().is_none(), "{rule}: two seconds of load");
        model.seconds(2);
        assert!(model.core.record().stop().is_some(), "{rule}: its time has come");
    }
}
