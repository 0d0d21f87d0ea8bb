//! Rules against totals.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_stats::threshold::NO_SAMPLES;
use hyperscale_stats::{CheckLayout, Evaluation, Totals, Window, evaluate};
use hyperscale_types::ErrorKind;
use hyperscale_types::rule::Rule;

use crate::books::{failed, layout, ok};

const ELAPSED: Duration = Duration::from_secs(10);

fn totals() -> Totals {
    let mut window = Window::new(&layout());
    window.call(0, &ok(60_000_000_000));
    for ms in 1..=100 {
        window.call(1, &ok(ms * 1_000_000));
        window.check(0, ms > 10);
        window.metric(0, ms as f64);
    }
    window.call(2, &failed(5, ErrorKind::Timeout));
    window.scheduled(103);
    window.dropped(2);
    window.late(7);
    let mut totals = Totals::new(&layout());
    totals.add(&window);
    totals
}

fn run(rule: &str, totals: &Totals) -> Evaluation {
    evaluate(&rule.parse::<Rule>().unwrap(), &[totals], ELAPSED, false)
}

#[test]
fn every_metric_has_its_value() {
    let totals = totals();
    for (rule, value) in [
        ("W.latency.p99 < 1s", 0.099),
        ("W.latency.max < 1s", 0.100),
        ("W.users.latency.min < 1s", 0.001),
        ("W.service.p50 < 1s", 0.025),
        ("W.users.service.wait.max < 1s", 0.050),
        ("W.latency.mean < 1s", 0.0505),
        ("W.latency.count > 0", 100.0),
        ("W.rate > 1/s", 10.1),
        ("W.users.rate > 1/s", 10.0),
        ("W.completed > 0", 100.0),
        ("W.failed.count < 2", 1.0),
        ("W.failed.rate < 1%", 1.0 / 101.0),
        ("W.order.failed.rate < 1%", 1.0),
        ("W.check.status.rate > 0", 0.9),
        ("W.users.check.status.rate > 0", 0.9),
        ("W.metric.basket.p99 < 1", 99.0),
        ("W.basket.metric.basket.max < 1", 100.0),
        ("W.dropped == 0", 2.0),
        ("W.late == 0", 7.0),
    ] {
        let got = run(rule, &totals).value.unwrap_or_else(|| panic!("{rule} has no value"));
        assert!((got - value).abs() <= value / 1000.0, "{rule}: {got} instead of {value}");
    }
}

#[test]
fn the_operator_decides() {
    let totals = totals();
    assert!(run("W.failed.rate < 1%", &totals).passed);
    assert!(!run("W.order.failed.rate < 1%", &totals).passed);
    assert!(run("W.completed == 100", &totals).passed);
    assert!(!run("W.completed != 100", &totals).passed);
}

#[test]
fn set_up_is_not_part_of_the_workflow_but_can_be_named() {
    let totals = totals();
    assert!(run("W.latency.max < 1s", &totals).passed);
    assert!(!run("W.login.latency.max < 1s", &totals).passed);
}

#[test]
fn a_rule_without_samples_fails_unless_it_may_be_empty() {
    let empty = Totals::new(&layout());
    for rule in [
        "W.latency.p99 < 1s",
        "W.users.latency.tls.p99 < 1s",
        "W.failed.count == 0",
        "W.failed.rate < 1%",
        "W.rate < 5/s",
        "W.check.status.rate > 0",
        "W.metric.basket.p99 < 1",
        "W.dropped == 0",
        "W.nobody.latency.p99 < 1s",
    ] {
        let evaluation = run(rule, &empty);
        assert_eq!(evaluation, Evaluation { value: None, passed: false, reason: Some(NO_SAMPLES) }, "{rule}");
        assert!(evaluate(&rule.parse().unwrap(), &[&empty], ELAPSED, true).passed, "{rule}");
    }
}

#[test]
fn latency_of_failed_calls_is_kept_apart() {
    let evaluation = run("W.order.latency.p99 < 1s", &totals());
    assert_eq!(evaluation.reason, Some(NO_SAMPLES));
}

#[test]
fn failed_calls_have_a_latency_of_their_own_and_are_part_of_all() {
    let mut window = Window::new(&layout());
    for _ in 0..9 {
        window.call(1, &ok(10_000_000));
    }
    window.call(1, &failed(1_000_000_000, ErrorKind::Timeout));
    window.started();
    window.missed(3);
    let mut totals = Totals::new(&layout());
    totals.add(&window);
    for (rule, value) in [
        ("W.latency.max < 1s", 0.010),
        ("W.latency.count > 0", 9.0),
        ("W.latency_failed.min < 1s", 1.0),
        ("W.users.latency_failed.count > 0", 1.0),
        ("W.latency_all.max < 1s", 1.0),
        ("W.latency_all.min < 1s", 0.010),
        ("W.users.latency_all.count > 0", 10.0),
        ("W.missed == 0", 3.0),
    ] {
        let got = run(rule, &totals).value.unwrap_or_else(|| panic!("{rule} has no value"));
        assert!((got - value).abs() <= value / 1000.0, "{rule}: {got} instead of {value}");
    }
}

#[test]
fn checks_of_a_set_up_count_only_where_it_is_named() {
    let mut layout = (*layout()).clone();
    let setup = layout.steps.iter().position(|step| step.setup).unwrap();
    layout.checks.push(CheckLayout { step: setup, name: "status".parse().unwrap() });
    let layout = Arc::new(layout);
    let mut window = Window::new(&layout);
    window.check(0, true);
    window.check(layout.checks.len() - 1, false);
    let mut totals = Totals::new(&layout);
    totals.add(&window);
    assert_eq!(run("W.check.status.rate > 0", &totals).value, Some(1.0));
    let named = format!("W.{}.check.status.rate > 0", layout.steps[setup].name);
    assert_eq!(run(&named, &totals).value, Some(0.0));
}

#[test]
fn a_rule_without_a_workflow_is_about_all_of_them() {
    let (slow, fast) = (totals(), {
        let mut window = Window::new(&layout());
        (0..900).for_each(|_| window.call(1, &ok(1_000_000)));
        window.check(0, true);
        window.metric(0, 1_000.0);
        let mut totals = Totals::new(&layout());
        totals.add(&window);
        totals
    });
    for (rule, value) in [
        ("latency.p50 < 1s", 0.001),
        ("latency.max < 1s", 0.100),
        ("latency.count > 0", 1_000.0),
        ("completed > 0", 1_000.0),
        ("failed.rate < 1%", 1.0 / 1_001.0),
        ("rate > 1/s", 100.1),
        ("check.status.rate > 0", 91.0 / 101.0),
        ("metric.basket.max < 1", 1_000.0),
        ("dropped == 0", 2.0),
        ("late == 0", 7.0),
    ] {
        let rule: Rule = rule.parse().unwrap();
        let got = evaluate(&rule, &[&slow, &fast], ELAPSED, false).value.unwrap();
        assert!((got - value).abs() <= value * 1e-3, "{}: {got} instead of {value}", rule.text);
    }
}
