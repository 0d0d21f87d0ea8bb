//! Segments whose workers are lost and that run again from the beginning.

use std::time::Duration;

use hyperscale_job::{
    AttemptId, Input, JobFacts, LossPolicy, LostWindows, OnLoss, Report, SegmentResult, StopPhase,
};
use hyperscale_stats::event::{Event, WorkflowState};
use hyperscale_stats::{CallSample, Window};
use hyperscale_types::{Command, Rate, Span};

use crate::model::{Model, workflows};

const SECOND: Duration = Duration::from_secs(1);

fn facts(on_loss: OnLoss) -> JobFacts {
    let losses = LossPolicy { on_loss, ..LossPolicy::default() };
    let queue_timeout = Some(Span::from_secs(300));
    JobFacts { id: "j".into(), is_distributed: true, queue_timeout, losses, ..JobFacts::default() }
}

/// Two workers with a segment each, whose load has run for this long.
fn running(text: &str, on_loss: OnLoss, time: Duration) -> (Model, AttemptId, AttemptId) {
    let mut model = Model::with(text, &[2, 2], facts(on_loss));
    let (first, second) = (model.open(0)[0], model.open(0)[1]);
    model.prepare(0);
    model.pass(time);
    (model, first, second)
}

/// The worker of an attempt is gone, and its cores with it.
fn lose(model: &mut Model, attempt: AttemptId) {
    let worker = model.orders[&attempt].assignment.worker.clone();
    model.workers.retain(|(id, ..)| *id != worker);
    model.report(attempt, Report::Lost);
    model.input(Input::Pool(model.pool()));
}

fn add_worker(model: &mut Model, id: &str) {
    model.workers.push((id.into(), 2, 0));
    model.input(Input::Pool(model.pool()));
}

/// A window of an attempt with this number of calls.
fn window(model: &mut Model, attempt: AttemptId, (core, seq): (u32, u64), calls: u64) {
    let mut window = Window::new(model.core.layout(attempt.segment.workflow));
    (window.core, window.seq) = (core, seq);
    (window.from_ns, window.to_ns) = (seq * 100_000_000, (seq + 1) * 100_000_000);
    for _ in 0..calls {
        window.started();
        window.call(0, &CallSample { status: 200, answered: true, requests: 1, ..CallSample::default() });
        window.completed();
    }
    model.input(Input::Window { attempt, window: &window });
}

/// An attempt says its end with what it measured in all.
fn end_with(model: &mut Model, attempt: AttemptId, calls: u64) {
    let mut totals = hyperscale_stats::Totals::new(model.core.layout(attempt.segment.workflow));
    let mut window = Window::new(totals.layout());
    for _ in 0..calls {
        window.started();
        window.call(0, &CallSample { status: 200, answered: true, requests: 1, ..CallSample::default() });
        window.completed();
    }
    totals.add(&window);
    model.input(Input::Left { attempt, totals: &totals });
    model.report(attempt, Report::Ended(Box::<SegmentResult>::default()));
}

fn again(attempt: AttemptId) -> AttemptId {
    AttemptId { number: attempt.number + 1, ..attempt }
}

#[test]
fn segment_that_is_restarted_runs_its_load_from_the_beginning_by_a_clock_of_its_own() {
    let (mut model, first, second) = running(&workflows(&[("A", "")]), OnLoss::Restart, 4 * SECOND);
    lose(&mut model, first);
    add_worker(&mut model, "w2");
    let third = again(first);
    assert_eq!(model.open(0), [third, second]);
    assert_eq!(model.orders[&third].offset, Duration::ZERO);
    model.pass(SECOND);
    assert_eq!(model.told.get(&third).and_then(|told| told.go), None, "it is not prepared");
    model.report(third, Report::Prepared);
    let go = model.told[&third].go.unwrap();
    assert!(go >= model.now && go < model.now + SECOND, "{go:?} at {:?}", model.now);
    assert!(model.words().contains(&"restart 0 attempt 2".to_owned()));
    assert!(model.told[&second].go.unwrap() < SECOND, "the others run on");
}

#[test]
fn counted_iterations_of_a_restarted_segment_are_its_whole_share() {
    let text = "name: t\nworkflows:\n  A: { vus: 4, iterations: 100, steps: { a: { http: 'http://x/' } } }\n";
    for (on_loss, done) in [(OnLoss::Resume, 7), (OnLoss::Restart, 0)] {
        let (mut model, first, _) = running(text, on_loss, SECOND);
        window(&mut model, first, (0, 0), 7);
        lose(&mut model, first);
        add_worker(&mut model, "w2");
        assert_eq!(model.orders[&again(first)].iterations_done, done, "{on_loss:?}");
    }
}

#[test]
fn windows_of_a_restarted_segment_are_discarded_and_the_result_says_so() {
    let (mut model, first, second) = running(&workflows(&[("A", "")]), OnLoss::Restart, 4 * SECOND);
    window(&mut model, first, (0, 12), 50);
    window(&mut model, second, (2, 12), 20);
    let requests = |model: &Model| model.core.view().result.totals.requests;
    assert_eq!(requests(&model), 70);
    lose(&mut model, first);
    assert_eq!(requests(&model), 20, "thresholds and screens do not see them any more");
    add_worker(&mut model, "w2");
    let third = again(first);
    model.report(third, Report::Prepared);
    window(&mut model, third, (0, 50), 60);
    assert_eq!(requests(&model), 80);
    end_with(&mut model, second, 30);
    end_with(&mut model, third, 70);
    assert_eq!(model.job(), ("completed", None));
    let result = model.result.as_ref().unwrap();
    assert_eq!(result.totals.requests, 100);
    let in_series: f64 = result.series.iter().map(|point| point.rate).sum();
    assert!((in_series - 80.0).abs() < 1.0, "windows over time: {:?}", result.series);
    let loss = &result.validity.loss;
    let discarded: Vec<_> =
        loss.discarded.iter().map(|it| (&*it.segment, it.attempt, it.requests, it.windows)).collect();
    assert_eq!(discarded, [("A/0", 1, 50, 1)]);
    let gap = &loss.unreported[0];
    assert!(loss.unreported.len() == 1 && gap.from_s < 0.5 && gap.to_s >= 4.0, "all of it: {gap:?}");
    assert!(result.validity.warnings.iter().any(|it| it.starts_with("50 requests of segment A/0")));
}

#[test]
fn workflow_ends_with_the_segment_that_ran_again_and_not_before() {
    let (mut model, first, second) = running(&workflows(&[("A", "")]), OnLoss::Restart, 9 * SECOND);
    lose(&mut model, first);
    model.report(second, Report::Finishing);
    end_with(&mut model, second, 1);
    // Longer than the workflow may last with its graceful stop: it waits for cores.
    model.pass(Duration::from_secs(200));
    assert!(model.result.is_none());
    add_worker(&mut model, "w2");
    let third = again(first);
    model.report(third, Report::Prepared);
    let states = |model: &Model| {
        model
            .events
            .iter()
            .filter(|event| matches!(event, Event::Workflow { state: WorkflowState::Finishing, .. }))
            .count()
    };
    assert_eq!(states(&model), 1);
    assert!(model.request(Command::SetVus { workflow: None, vus: 6 }).is_ok(), "it has load again");
    assert_eq!(model.told[&third].vus, Some(6));
    model.report(third, Report::Finishing);
    end_with(&mut model, third, 1);
    assert_eq!(model.job(), ("completed", None));
}

#[test]
fn time_of_a_restarted_segment_is_counted_from_its_own_beginning() {
    let (mut model, first, second) = running(&workflows(&[("A", "")]), OnLoss::Restart, 9 * SECOND);
    lose(&mut model, first);
    end_with(&mut model, second, 1);
    model.pass(Duration::from_mins(1));
    add_worker(&mut model, "w2");
    let third = again(first);
    model.report(third, Report::Prepared);
    // 10 s of load, 30 s of graceful stop and a minute beyond.
    model.pass(Duration::from_secs(98));
    assert_eq!(model.phase(third), StopPhase::Running);
    model.pass(Duration::from_secs(3));
    assert_eq!(model.phase(third), StopPhase::Cancelling);
}

#[test]
fn changed_rate_holds_from_the_beginning_of_a_restarted_segment() {
    let text =
        "name: t\nworkflows:\n  A: { rate: 100/s, duration: 60s, steps: { a: { http: 'http://x/' } } }\n";
    let (mut model, first, second) = running(text, OnLoss::Restart, 10 * SECOND);
    let set = |model: &mut Model, rate: f64| {
        let rate = Rate::per_second(rate);
        model.request(Command::SetRate { workflow: None, rate }).unwrap();
    };
    set(&mut model, 20.0);
    lose(&mut model, first);
    add_worker(&mut model, "w2");
    let third = again(first);
    model.pass(5 * SECOND);
    model.report(third, Report::Prepared);
    let told = |model: &Model, id: AttemptId| {
        let rate = model.told[&id].rate.unwrap();
        (rate.rate.as_per_second(), rate.from.as_secs_f64().round(), rate.before.round())
    };
    assert_eq!(told(&model, third), (20.0, 0.0, 0.0));
    model.pass(10 * SECOND);
    set(&mut model, 50.0);
    assert_eq!(told(&model, third), (50.0, 10.0, 200.0), "ten seconds with 20/s");
    assert_eq!(told(&model, second), (50.0, 25.0, 1300.0), "ten with 100/s, fifteen with 20/s");
}

#[test]
fn rate_that_is_changed_after_a_restart_follows_on_the_plan() {
    let text =
        "name: t\nworkflows:\n  A: { rate: 100/s, duration: 60s, steps: { a: { http: 'http://x/' } } }\n";
    let (mut model, first, _) = running(text, OnLoss::Restart, 10 * SECOND);
    lose(&mut model, first);
    add_worker(&mut model, "w2");
    let third = again(first);
    model.report(third, Report::Prepared);
    model.pass(4 * SECOND);
    model.request(Command::SetRate { workflow: None, rate: Rate::per_second(10.0) }).unwrap();
    let rate = model.told[&third].rate.unwrap();
    assert_eq!((rate.from.as_secs_f64().round(), rate.before.round()), (4.0, 400.0));
}

#[test]
fn pause_stops_the_clock_of_a_restarted_segment_too() {
    let (mut model, first, _) = running(&workflows(&[("A", "")]), OnLoss::Restart, 4 * SECOND);
    lose(&mut model, first);
    add_worker(&mut model, "w2");
    let third = again(first);
    model.report(third, Report::Prepared);
    model.pass(3 * SECOND);
    model.request(Command::Pause).unwrap();
    assert!(model.told[&third].paused);
    model.pass(Duration::from_mins(5));
    model.request(Command::Resume).unwrap();
    model.pass(SECOND);
    let own = model.core.record().workflows()[0].attempt(third).unwrap().own_load.unwrap();
    assert_eq!(own.clock.load_time(model.now).as_secs_f64().round() as u64, 4);
    assert_eq!(model.phase(third), StopPhase::Running, "paused time extends its time");
}

#[test]
fn stop_that_comes_before_a_restarted_segment_has_begun_cancels_it() {
    for prepares in [false, true] {
        let (mut model, first, second) = running(&workflows(&[("A", "")]), OnLoss::Restart, 4 * SECOND);
        lose(&mut model, first);
        add_worker(&mut model, "w2");
        let third = again(first);
        model.request(Command::Finish).unwrap();
        if prepares {
            model.report(third, Report::Prepared);
        }
        assert_eq!(model.phase(second), StopPhase::Finishing);
        assert_eq!(model.phase(third), StopPhase::Cancelling, "there is nothing to finish");
        assert_eq!(model.told[&third].go, None);
        end_with(&mut model, second, 1);
        end_with(&mut model, third, 0);
        assert_eq!(model.ended(0).0, "cancelled");
    }
}

#[test]
fn segment_that_cannot_be_restarted_any_more_fails_its_workflow() {
    let losses = LossPolicy { on_loss: OnLoss::Restart, max_retries: 0, ..LossPolicy::default() };
    let facts = JobFacts { losses, ..facts(OnLoss::Restart) };
    let mut model = Model::with(&workflows(&[("A", "")]), &[2, 2], facts);
    let (first, second) = (model.open(0)[0], model.open(0)[1]);
    model.prepare(0);
    model.pass(SECOND);
    add_worker(&mut model, "w2");
    lose(&mut model, first);
    end_with(&mut model, second, 5);
    assert_eq!(model.ended(0), ("failed", Some("worker_lost".to_owned())));
}

#[test]
fn windows_that_come_after_a_loss_are_late_and_those_that_never_came_are_counted() {
    let (mut model, first, second) = running(&workflows(&[("A", "")]), OnLoss::Resume, 4 * SECOND);
    // Of core 0 the first three windows are missing, of core 1 one in between.
    for (core, seq) in [(0, 3), (0, 4), (1, 0), (1, 2)] {
        window(&mut model, first, (core, seq), 10);
    }
    lose(&mut model, first);
    window(&mut model, first, (0, 5), 10);
    window(&mut model, first, (1, 3), 10);
    end_with(&mut model, second, 5);
    model.pass(Duration::from_secs(20));
    let result = model.result.as_ref().unwrap();
    let loss = &result.validity.loss;
    assert_eq!((loss.windows_late, loss.windows_lost), (2, 4));
    assert_eq!(result.totals.requests, 45, "what came in time counts, and nothing else");
    assert!(loss.discarded.is_empty());
}

#[test]
fn what_the_windows_of_a_lost_attempt_said_is_the_same_for_the_next_leader() {
    for (on_loss, requests) in [(OnLoss::Resume, 25), (OnLoss::Restart, 5)] {
        let (mut model, first, second) = running(&workflows(&[("A", "")]), on_loss, 9 * SECOND);
        window(&mut model, first, (0, 3), 10);
        window(&mut model, first, (0, 4), 10);
        assert!(model.core.windows_of(first).is_none(), "it may say more");
        lose(&mut model, first);
        let known = model.core.windows_of(first).unwrap();
        let (totals, to, missing) = (known.totals.clone(), known.to, known.missing);
        assert_eq!((to, missing, totals.windows), (Duration::from_millis(500), 3, 2));
        model.take_over();
        model.core.recall_windows(first, LostWindows { totals: &totals, to, missing });
        model.report(second, Report::Prepared);
        end_with(&mut model, second, 5);
        if on_loss == OnLoss::Restart {
            add_worker(&mut model, "w2");
            model.report(again(first), Report::Prepared);
            end_with(&mut model, again(first), 0);
        } else {
            model.pass(Duration::from_secs(20));
        }
        let result = model.result.as_ref().unwrap();
        let loss = &result.validity.loss;
        assert_eq!((result.totals.requests, loss.windows_lost), (requests, 3), "{on_loss:?}");
        let from = if on_loss == OnLoss::Restart { 0.0 } else { 0.5 };
        assert!((loss.unreported[0].from_s - from).abs() < 0.1, "{on_loss:?}: {loss:?}");
        assert_eq!(loss.discarded.len(), usize::from(on_loss == OnLoss::Restart));
    }
}

#[test]
fn attempt_that_joined_by_a_clock_that_was_ahead_is_named() {
    let (mut model, first, second) = running(&workflows(&[("A", "")]), OnLoss::Resume, 4 * SECOND);
    lose(&mut model, first);
    add_worker(&mut model, "w2");
    let third = again(first);
    model.report(third, Report::Prepared);
    // The next leader knows less of the time.
    model.now -= 2 * SECOND;
    model.take_over();
    lose(&mut model, third);
    end_with(&mut model, second, 5);
    model.pass(Duration::from_secs(20));
    let gaps = &model.result.as_ref().unwrap().validity.loss.unreported;
    assert_eq!(gaps.iter().map(|gap| gap.attempt).collect::<Vec<_>>(), [1, 2]);
    assert!(gaps.iter().all(|gap| gap.from_s <= gap.to_s), "{gaps:?}");
}
