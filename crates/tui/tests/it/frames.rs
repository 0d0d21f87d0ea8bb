//! Frames: what a person sees, as snapshots at several sizes; and no size is too odd.

use hyperscale_report::human;
use hyperscale_stats::event::{Event, Shape};
use hyperscale_stats::result::{SaturationResult, Status, TimingResult};
use hyperscale_stats::saturation::Measure;
use hyperscale_tui::{Key, Mode, State, Theme, render};
use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::runs::{ALIKE, BROWSE, CHECKOUT, Part, REPORT, events, snapshot, started, threshold};

/// The second is the smallest that is declared to be enough, the last one is too small.
const SIZES: [(u16, u16); 5] = [(80, 24), (60, 18), (120, 40), (200, 60), (40, 10)];

/// Draws the state.
pub(crate) fn frame(state: &State, theme: Theme, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render(frame, state, theme)).unwrap();
    terminal.backend().buffer().clone()
}

/// The cells as lines of text, without spaces at their ends.
pub(crate) fn text(buffer: &Buffer) -> String {
    let lines = buffer.content.chunks(usize::from(buffer.area.width.max(1)));
    lines
        .map(|cells| {
            cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned() + "\n"
        })
        .collect()
}

fn after(events: &[Event]) -> State {
    let mut state = State::new(Mode::Live);
    for event in events {
        state.event(event);
    }
    state
}

fn with(parts: &[&Part], seconds: u64, change: impl FnOnce(&mut hyperscale_stats::event::Snapshot)) -> State {
    let mut state = after(&events(parts, seconds - 1));
    let mut last = snapshot(parts, seconds);
    change(&mut last);
    state.event(&Event::Snapshot(Box::new(last)));
    state
}

fn check(name: &str, state: &State) {
    for (width, height) in SIZES {
        let shown = text(&frame(state, Theme::new(false), width, height));
        assert_snapshot!(format!("{name}_{width}x{height}"), shown);
    }
}

#[test]
fn starting() {
    check("starting", &after(&[started(&[&BROWSE])]));
}

#[test]
fn before_anything_is_known() {
    let shown = text(&frame(&State::new(Mode::Live), Theme::new(true), 80, 24));
    assert!(shown.contains("starting") && shown.contains("no data yet"), "{shown}");
}

#[test]
fn running() {
    check("running", &after(&events(&[&BROWSE], 30)));
}

#[test]
fn failing_thresholds() {
    let state = with(&[&BROWSE], 20, |snapshot| {
        snapshot.result.thresholds = vec![
            threshold("Browse.latency.p99 < 50ms", Some(0.0719), false),
            threshold("Browse.failed.rate < 1%", Some(0.0), true),
            threshold("Browse.check.has_items.rate > 99%", None, true),
        ];
        snapshot.result.thresholds_passed = false;
    });
    let shown = text(&frame(&state, Theme::new(false), 200, 60));
    assert!(shown.contains("p99 < 50ms (71.9ms)") && shown.contains("rate < 1% (0 %)"), "{shown}");
    check("thresholds", &state);
}

#[test]
fn errors_and_a_saturated_generator() {
    let state = with(&[&CHECKOUT], 25, |snapshot| {
        snapshot.generator.saturated = true;
        snapshot.result.validity.generator_saturated = true;
        snapshot.result.validity.saturation = vec![SaturationResult {
            from_s: 3,
            to_s: 9,
            workflow: CHECKOUT.name.parse().unwrap(),
            core: 0,
            measure: Measure::Lag,
        }];
        let workflow = &mut snapshot.result.workflows[0];
        (workflow.generator.generator_saturated, workflow.generator.busiest_core) = (true, Some(0.03));
        workflow.generator.lag_us =
            Some(TimingResult { count: 4_950, p99: 48_000.0, ..TimingResult::default() });
        (snapshot.generator.late, snapshot.generator.dropped) = (1_377, 12);
        snapshot.missed = 2;
    });
    check("errors", &state);
}

#[test]
fn paused() {
    check("paused", &with(&[&BROWSE], 12, |snapshot| snapshot.paused = true));
}

#[test]
fn question() {
    let mut state = after(&events(&[&BROWSE], 12));
    state.key(Key::Char('q'));
    check("question", &state);
}

#[test]
fn help() {
    let mut state = after(&events(&[&BROWSE], 12));
    state.key(Key::Char('?'));
    check("help", &state);
}

#[test]
fn frozen_with_a_message() {
    let mut state = after(&events(&[&BROWSE], 12));
    state.key(Key::Char(' '));
    for event in events(&[&BROWSE], 14).iter().skip(13) {
        state.event(event);
    }
    state.event(&Event::Changed { what: "Browse: 50 → 55 virtual users".into(), change: None });
    check("frozen", &state);
}

#[test]
fn finished() {
    let mut state = after(&events(&[&BROWSE], 30));
    let mut result = snapshot(&[&BROWSE], 30).result;
    (result.status, result.is_final) = (Status::Completed, true);
    result.workflows[0].status = Status::Completed;
    state.event(&Event::Finished(Box::new(result)));
    check("finished", &state);
}

#[test]
fn several_workflows() {
    let mut state = after(&events(&[&BROWSE, &CHECKOUT, &REPORT], 30));
    check("several_all", &state);
    state.key(Key::Next);
    state.key(Key::Next);
    check("several_second", &state);
}

/// What has to be whole wherever the screen says that it fits.
#[test]
fn important_numbers_are_whole_down_to_the_smallest_size() {
    for parts in [&[&CHECKOUT][..], &[&BROWSE, &CHECKOUT, &REPORT]] {
        let state = after(&events(parts, 30));
        let last = *snapshot(parts, 30).result.series.last().unwrap();
        for (width, height) in [(80, 24), (60, 18)] {
            for color in [true, false] {
                let shown = text(&frame(&state, Theme::new(color), width, height));
                let first = shown.lines().next().unwrap();
                assert!(first.contains(" running ") && first.contains("30.0s of 1m00s"), "{shown}");
                let p99 = format!("p99 {} ", human::micros(last.p99_us));
                assert!(shown.contains(&p99), "{p99:?} at {width}×{height}:\n{shown}");
                assert!(shown.contains(&format!("failed {} ", human::rate(last.failed as f64))), "{shown}");
                let line = shown.lines().find(|line| line.starts_with(" Checkout ")).unwrap();
                assert!(line.contains(" running ") && line.contains(" starts/s"), "{line}");
                assert!(line.contains("198") && line.ends_with("1,248 failed"), "{line}");
                let keys = shown.lines().last().unwrap();
                assert!(keys.contains(" q cancel") && keys.ends_with("? help"), "{keys}");
            }
        }
    }
}

#[test]
fn what_the_next_ctrl_c_does_is_read_whole() {
    let mut state = after(&events(&[&BROWSE], 12));
    let what = "stopping: no new iterations, running ones may finish; press Ctrl-C again to stop at once";
    state.event(&Event::Changed { what: what.into(), change: None });
    for (width, height) in [(80, 24), (60, 18)] {
        let shown = text(&frame(&state, Theme::new(false), width, height));
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.ends_with(what), "{shown}");
    }
}

#[test]
fn steps_that_begin_alike_can_be_told_apart() {
    let state = after(&events(&[&ALIKE, &BROWSE], 10));
    for (width, height) in [(80, 24), (60, 18)] {
        let shown = text(&frame(&state, Theme::new(false), width, height));
        assert!(shown.contains("buyer ") && shown.contains("seller "), "{shown}");
    }
}

#[test]
fn target_that_does_not_answer_is_not_the_same_as_no_load() {
    let state = with(&[&BROWSE], 2, |snapshot| {
        snapshot.result.workflows[0].iterations.started += 50;
        snapshot.workflows[0].shape = Shape::default();
        snapshot.result.series.iter_mut().for_each(|point| point.p50_us = 0.0);
    });
    let shown = text(&frame(&state, Theme::new(false), 80, 24));
    assert!(shown.contains("no answer yet, 50 iterations under way"), "{shown}");
}

#[test]
fn percentiles_can_be_told_apart_without_colours() {
    let state = after(&events(&[&BROWSE], 30));
    let plain = text(&frame(&state, Theme::new(false), 120, 40));
    assert!(["·p50", "+p95", "⠤p99"].iter().all(|sign| plain.contains(sign)), "{plain}");
    let chart: Vec<&str> = plain.lines().skip(3).take(10).collect();
    assert!(
        ['·', '+'].iter().all(|point| chart.iter().any(|line| line.matches(*point).count() > 5)),
        "{plain}"
    );
    let coloured = text(&frame(&state, Theme::new(true), 120, 40));
    assert!(!coloured.contains("+p95"), "{coloured}");
}

#[test]
fn titles_are_never_faint() {
    let state = after(&events(&[&BROWSE], 30));
    let buffer = frame(&state, Theme::new(true), 120, 40);
    let row = text(&buffer).lines().position(|line| line.contains("p99 ")).unwrap();
    let cells = &buffer.content[row * 120..(row + 1) * 120];
    let letters = cells.iter().filter(|cell| cell.symbol().chars().all(char::is_alphanumeric));
    assert!(letters.clone().count() > 20);
    for cell in letters {
        assert!(!cell.modifier.contains(ratatui::style::Modifier::DIM), "{cell:?}");
    }
}

#[test]
fn colours_only_where_they_are_wanted() {
    let state = after(&events(&[&BROWSE, &CHECKOUT], 15));
    let colours = |color| {
        let buffer = frame(&state, Theme::new(color), 120, 40);
        buffer.content.iter().filter(|cell| cell.fg != ratatui::style::Color::Reset).count()
    };
    assert_eq!(colours(false), 0);
    assert!(colours(true) > 100);
    let buffer = frame(&state, Theme::new(true), 120, 40);
    assert!(
        buffer.content.iter().all(|cell| cell.bg == ratatui::style::Color::Reset),
        "the terminal's own background"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_size_and_no_key_makes_rendering_panic(
        width in 0u16..260,
        height in 0u16..90,
        seconds in 0u64..15,
        several in any::<bool>(),
        keys in proptest::collection::vec(prop_oneof![
            Just(Key::Next), Just(Key::Previous), Just(Key::Up), Just(Key::Down), Just(Key::Enter), Just(Key::Escape),
            proptest::char::any().prop_map(Key::Char),
            prop_oneof![Just('q'), Just('?'), Just(' '), Just('s'), Just('+'), Just('-'), Just('p'), Just('y')].prop_map(Key::Char),
        ], 0..12),
    ) {
        let parts: &[&Part] = if several { &[&BROWSE, &CHECKOUT, &REPORT] } else { &[&CHECKOUT] };
        let mut state = after(&events(parts, seconds));
        for key in keys {
            state.key(key);
            frame(&state, Theme::new(true), width, height);
        }
        frame(&state, Theme::new(true), width, height);
    }
}
