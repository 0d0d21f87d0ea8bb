//! One workflow: its steps, iterations, statuses, checks and metrics.

use hyperscale_stats::layout::MetricKind;
use hyperscale_stats::result::{
    CheckResult, IterationsResult, MetricResult, StepResult, ValuesResult, WorkflowResult,
};

use super::{Page, steps};
use crate::human;
use crate::style::Role;
use crate::words::{self, Outcome};

pub(super) fn section(workflow: &WorkflowResult, page: Page) -> String {
    let mut text = heading(workflow, page);
    text.push_str(&steps::table(&workflow.steps, Some(&workflow.totals), page));
    if workflow.setup_steps.iter().any(|step| step.count > 0) {
        text.push_str("  set-up and tear-down, measured apart\n");
        text.push_str(&steps::table(&workflow.setup_steps, None, page));
    }
    text.push_str(&page.field("iterations", &iterations(&workflow.iterations)));
    if let Some(lag) = &workflow.generator.lag_us {
        let [p50, p99, max] = [lag.p50, lag.p99, lag.max].map(human::micros);
        text.push_str(&page.field("start lag", &format!("p50 {p50}  p99 {p99}  max {max}")));
    }
    for step in workflow.steps.iter().filter(|step| !step.status.is_empty()) {
        text.push_str(&page.field("status", &format!("{}  {}", step.name, statuses(step))));
    }
    for step in &workflow.steps {
        text.push_str(&stream(step, page));
    }
    workflow.checks.iter().for_each(|check| text.push_str(&page.field("check", &check_text(check, page))));
    workflow.metrics.iter().for_each(|metric| text.push_str(&page.field("metric", &metric_text(metric))));
    text
}

fn heading(workflow: &WorkflowResult, page: Page) -> String {
    let cores = if workflow.cores == 1 { "1 core".to_owned() } else { format!("{} cores", workflow.cores) };
    page.parts(
        0,
        &[
            page.title(workflow.name.as_str()),
            page.status(workflow.status, workflow.reason.as_deref()),
            human::seconds(workflow.elapsed_s),
            format!("{} on {cores}", words::users(workflow)),
        ],
    )
}

fn iterations(i: &IterationsResult) -> String {
    let scheduled = i.scheduled.map(|n| ("scheduled", n));
    let always = [("started", i.started), ("completed", i.completed)];
    let seldom = [
        ("failed", i.failed),
        ("interrupted", i.interrupted),
        ("dropped", i.dropped),
        ("late", i.late),
        ("missed", i.missed.unwrap_or(0)),
    ];
    // Open models always say how many were late or dropped: that they were none is the news.
    let open = i.scheduled.is_some();
    let shown =
        seldom.into_iter().filter(|(word, n)| *n > 0 || (open && matches!(*word, "dropped" | "late")));
    let parts = scheduled.into_iter().chain(always).chain(shown);
    parts.map(|(word, n)| format!("{} {word}", human::count(n))).collect::<Vec<_>>().join("  ")
}

fn statuses(step: &StepResult) -> String {
    let one = |(status, n): (&String, &u64)| format!("{status}: {}", human::count(*n));
    step.status.iter().map(one).collect::<Vec<_>>().join("  ")
}

fn stream(step: &StepResult, page: Page) -> String {
    let Some(stream) = &step.stream else { return String::new() };
    let (first, between) = (&stream.first_event_us, &stream.between_events_us);
    let text = format!(
        "{}  {} events  first p50 {} p99 {}  between p50 {} p99 {}",
        step.name,
        human::count(stream.events),
        human::micros(first.p50),
        human::micros(first.p99),
        human::micros(between.p50),
        human::micros(between.p99),
    );
    page.field("stream", &text)
}

fn check_text(check: &CheckResult, page: Page) -> String {
    let all = check.passed.saturating_add(check.failed);
    let (outcome, share) = words::check_outcome(check);
    let (sign, role) = match outcome {
        Outcome::NotEvaluated => ("– not evaluated", Role::Dim),
        Outcome::Passed => ("✓ passed", Role::Good),
        Outcome::Failed => ("✗ failed", Role::Bad),
    };
    let share = if share.is_empty() { share } else { format!("  {share}") };
    let counts = format!("{} of {}", human::count(check.passed), human::count(all));
    format!("{}  {}{share}  {counts}", page.style.paint(role, sign), words::check_name(check))
}

fn metric_text(metric: &MetricResult) -> String {
    let values = match (metric.kind, metric.count) {
        (_, 0) => "no values".to_owned(),
        (MetricKind::Count, _) => format!("sum {}", human::number(metric.sum.unwrap_or(0.0))),
        (MetricKind::Rate, n) => {
            format!("{} of {}", human::percent(metric.rate.unwrap_or(0.0)), human::count(n))
        }
        (MetricKind::Sample, _) => {
            let last = format!("last {}", human::number(metric.last.unwrap_or(0.0)));
            metric.values.map_or(last.clone(), |v| {
                let (min, mean, max) = (human::number(v.min), human::number(v.mean), human::number(v.max));
                format!("{last}  min {min}  mean {mean}  max {max}")
            })
        }
        (MetricKind::Distribution, _) => distribution(metric.values.as_ref(), human::number),
        (MetricKind::Timing, _) => {
            distribution(metric.values.as_ref(), |seconds| human::micros(seconds * 1e6))
        }
    };
    let refused = if metric.refused > 0 {
        format!("  {} values were no numbers", human::count(metric.refused))
    } else {
        String::new()
    };
    format!("{}  {values}{refused}", metric.name)
}

fn distribution(values: Option<&ValuesResult>, text: impl Fn(f64) -> String) -> String {
    let Some(v) = values else { return String::new() };
    let named =
        [("min", v.min), ("mean", v.mean), ("p50", v.p50), ("p95", v.p95), ("p99", v.p99), ("max", v.max)];
    named.map(|(name, value)| format!("{name} {}", text(value))).join("  ")
}
