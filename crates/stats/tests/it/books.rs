//! Windows become totals, and the books balance.

use std::sync::Arc;

use hyperscale_stats::{
    CallSample, CheckLayout, Layout, MetricKind, MetricLayout, Phases, StepKind, StepLayout, StreamEvent,
    Totals, Window,
};
use hyperscale_types::rule::Phase;
use hyperscale_types::{ErrorKind, limits};
use proptest::collection::vec;
use proptest::prelude::*;

pub(crate) fn layout() -> Arc<Layout> {
    let step = |name: &str, kind, setup| StepLayout {
        name: name.parse().unwrap(),
        kind,
        protocol: (kind == StepKind::Test).then_some("http"),
        setup,
    };
    Arc::new(Layout {
        steps: vec![
            step("login", StepKind::Test, true),
            step("users", StepKind::Test, false),
            step("order", StepKind::Test, false),
            step("basket", StepKind::Metric, false),
        ],
        checks: vec![CheckLayout { step: 1, name: "status".parse().unwrap() }],
        metrics: vec![MetricLayout {
            step: 3,
            name: "basket".parse().unwrap(),
            kind: MetricKind::Distribution,
        }],
    })
}

pub(crate) fn ok(latency_ns: u64) -> CallSample {
    let mut phases = Phases::default();
    phases.add(Phase::Wait, latency_ns / 2);
    CallSample {
        latency_ns,
        service_ns: latency_ns / 2,
        phases,
        status: 200,
        requests: 1,
        bytes_sent: 100,
        bytes_received: 1_000,
        ..CallSample::default()
    }
}

pub(crate) fn failed(latency_ns: u64, error: ErrorKind) -> CallSample {
    CallSample { error: Some(error), status: 0, ..ok(latency_ns) }
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Call(usize, u64),
    Failed(usize, u64, ErrorKind, String),
    Tagged(usize, String, u64),
    Check(bool),
    Metric(f64),
    Iteration(u8),
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0usize..3, 1u64..10_000_000_000).prop_map(|(step, ns)| Event::Call(step, ns)),
        (0usize..3, 1u64..10_000_000, 0..ErrorKind::COUNT, "[a-z]{1,2}")
            .prop_map(|(step, ns, kind, text)| Event::Failed(step, ns, ErrorKind::ALL[kind], text)),
        (1usize..3, "k=[a-z]{2}", 1u64..10_000).prop_map(|(step, tags, ns)| Event::Tagged(step, tags, ns)),
        any::<bool>().prop_map(Event::Check),
        (-1000i32..1000).prop_map(|n| Event::Metric(f64::from(n))),
        (0u8..5).prop_map(Event::Iteration),
    ]
}

fn play(window: &mut Window, events: &[Event]) {
    for event in events {
        match event {
            Event::Call(step, ns) => window.call(*step, &ok(*ns)),
            Event::Failed(step, ns, kind, text) => {
                window.call(*step, &failed(*ns, *kind));
                window.error_message(*step, *kind, text);
            }
            Event::Tagged(step, tags, ns) => {
                window.call(*step, &ok(*ns));
                window.tagged(*step, tags, &ok(*ns));
                window.stream_event(*step, StreamEvent::First(*ns));
                window.stream_event(*step, StreamEvent::Next(*ns));
            }
            Event::Check(passed) => window.check(0, *passed),
            Event::Metric(value) => window.metric(0, *value),
            Event::Iteration(end) => iteration(window, *end),
        }
    }
}

fn iteration(window: &mut Window, end: u8) {
    window.scheduled(1);
    if end == 4 {
        return window.dropped(1);
    }
    window.started();
    window.lag(1_000);
    match end {
        0 | 3 => window.completed(),
        1 => window.failed(),
        _ => window.interrupted(),
    }
    window.late(u64::from(end == 3));
}

pub(crate) fn windows(parts: &[Vec<Event>]) -> Vec<Window> {
    let layout = layout();
    let window = |(number, events): (usize, &Vec<Event>)| {
        let mut window = Window::new(&layout);
        (window.core, window.seq) = (number as u32 % 2, number as u64);
        (window.from_ns, window.to_ns) = (number as u64 * 100, number as u64 * 100 + 100);
        (window.vus, window.busy_ns) = (number as u32, 7);
        play(&mut window, events);
        window
    };
    parts.iter().enumerate().map(window).collect()
}

pub(crate) fn total<'a>(windows: impl IntoIterator<Item = &'a Window>) -> Totals {
    let mut totals = Totals::new(&layout());
    windows.into_iter().for_each(|window| totals.add(window));
    totals
}

/// Everything that merges exactly, as text. Means of metrics are floats and merge within rounding; they are left out.
pub(crate) fn digest(totals: &Totals) -> String {
    let steps: Vec<_> = totals
        .steps()
        .iter()
        .map(|s| {
            let tags: Vec<_> = s.tags().map(|(t, v)| (t.to_owned(), v.count, v.latency.sum_ns())).collect();
            (
                (s.count, s.ok, s.failed, s.requests, s.bytes_sent, s.errors),
                (s.latency.buckets().collect::<Vec<_>>(), s.failed_latency.sum_ns(), s.phases[4].sum_ns()),
                s.messages().map(|(k, t, n)| (k, t.to_owned(), n)).collect::<Vec<_>>(),
                s.statuses().collect::<Vec<_>>(),
                (tags, s.other_tags().count, s.stream.first_event.sum_ns()),
            )
        })
        .collect();
    let metric = &totals.metrics()[0];
    let values = metric.values();
    let cores: Vec<_> = totals.cores().collect();
    format!(
        "{steps:?} {:?} {:?} {:?} {cores:?} {:?}",
        totals.iterations,
        totals.checks(),
        (metric.count(), metric.last(), values.min(), values.max(), values.percentile(50.0)),
        totals.lag.sum_ns(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn totals_do_not_depend_on_the_order_or_shape_of_merging(parts in vec(vec(event(), 0..60), 3..6)) {
        let windows = windows(&parts);
        let all = digest(&total(&windows));
        prop_assert_eq!(&digest(&total(windows.iter().rev())), &all);
        let mut left = total(&windows[..2]);
        left.merge(&total(&windows[2..]));
        prop_assert_eq!(&digest(&left), &all);
        let mut right = total(&windows[2..]);
        right.merge(&total(&windows[..2]));
        prop_assert_eq!(&digest(&right), &all);
    }

    #[test]
    fn what_a_recorder_recorded_balances(parts in vec(vec(event(), 0..200), 1..4)) {
        prop_assert_eq!(total(&windows(&parts)).balance(), Ok(()));
    }

    #[test]
    fn a_cleared_window_is_like_a_new_one(a in vec(event(), 0..60), b in vec(event(), 0..60)) {
        let mut reused = Window::new(&layout());
        play(&mut reused, &a);
        reused.clear();
        play(&mut reused, &b);
        let mut fresh = Window::new(&layout());
        play(&mut fresh, &b);
        prop_assert_eq!(digest(&total([&reused])), digest(&total([&fresh])));
    }
}

#[test]
fn an_iteration_without_an_end_is_an_imbalance() {
    let mut window = Window::new(&layout());
    window.scheduled(3);
    window.started();
    let wrong = total([&window]).balance().unwrap_err();
    let laws: Vec<_> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        laws,
        [
            "started = completed + failed + interrupted does not hold: 1 against 0",
            "scheduled = started + dropped does not hold: 3 against 1",
        ]
    );
}

#[test]
fn a_message_without_its_call_is_an_imbalance() {
    let mut window = Window::new(&layout());
    window.error_message(1, ErrorKind::Dns, "no such host");
    let wrong = total([&window]).balance().unwrap_err();
    assert_eq!(
        wrong[0].to_string(),
        "step `users`: messages of a kind ≤ errors of it does not hold: 1 against 0"
    );
}

#[test]
fn messages_and_tags_are_bounded_and_nothing_is_lost() {
    let mut window = Window::new(&layout());
    for number in 0..300 {
        window.call(1, &failed(5, ErrorKind::Protocol));
        window.error_message(1, ErrorKind::Protocol, &format!("bad byte {number}"));
        window.tagged(1, &format!("region={number}"), &ok(5));
    }
    let totals = total([&window, &window]);
    let step = &totals.steps()[1];
    assert_eq!(step.messages().count(), limits::ERROR_MESSAGES_MAX);
    assert_eq!(step.messages_of(ErrorKind::Protocol), 600);
    assert_eq!(step.tags().count(), limits::TAG_SETS_MAX);
    assert_eq!(step.tags().map(|(_, t)| t.count).sum::<u64>() + step.other_tags().count, 600);
    assert_eq!(step.other_tags().latency.count(), 400);
}

#[test]
fn long_messages_are_cut_at_a_character() {
    let mut window = Window::new(&layout());
    window.call(1, &failed(5, ErrorKind::Script));
    window.error_message(1, ErrorKind::Script, &"ä".repeat(1_000));
    let totals = total([&window]);
    let (_, message, _) = totals.steps()[1].messages().next().unwrap();
    assert_eq!(message.len(), 512);
}

#[test]
fn only_phases_that_happened_are_recorded() {
    let mut window = Window::new(&layout());
    window.call(1, &ok(1_000));
    let totals = total([&window]);
    let counts: Vec<_> = totals.steps()[1].phases.iter().map(hyperscale_stats::Histogram::count).collect();
    assert_eq!(counts, [0, 0, 0, 0, 1, 0]);
}

#[test]
fn every_status_up_to_999_has_its_own_count() {
    let mut window = Window::new(&layout());
    for status in [1, 200, 200, 511, 512, 999, 1_000, u16::MAX] {
        window.call(1, &CallSample { status, ..ok(5) });
    }
    let totals = total([&window]);
    let statuses: Vec<_> = totals.steps()[1].statuses().collect();
    assert_eq!(statuses, [(1, 1), (200, 2), (511, 1), (512, 1), (999, 1), (1_000, 2)]);
}

#[test]
fn peak_of_virtual_users_is_kept_after_they_are_gone() {
    let window = |core, seq: u64, vus| {
        let mut window = Window::new(&layout());
        (window.core, window.seq, window.vus) = (core, seq, vus);
        (window.from_ns, window.to_ns) = (seq * 1_000, (seq + 1) * 1_000);
        window
    };
    let totals = total([&window(0, 0, 3), &window(1, 0, 4), &window(0, 1, 2), &window(1, 1, 0)]);
    assert_eq!((totals.vus(), totals.vus_peak()), (2, Some(7)));
    assert_eq!(total([&window(0, 0, 0)]).vus_peak(), None);
}
