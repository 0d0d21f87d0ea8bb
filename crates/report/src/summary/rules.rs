//! Thresholds with sign, word and value.

use hyperscale_stats::result::{RunResult, ThresholdResult};
use hyperscale_types::rule::{Metric, Rule, Stat};

use super::Page;
use crate::human;
use crate::style::Role;

pub(super) fn section(result: &RunResult, page: Page) -> String {
    if result.thresholds.is_empty() {
        return String::new();
    }
    let failed = result.thresholds.iter().filter(|threshold| !threshold.passed).count();
    let verdict = match failed {
        0 => page.style.paint(Role::Good, "all passed"),
        n => page.style.paint(Role::Bad, &format!("{n} of {} failed", result.thresholds.len())),
    };
    let mut text = format!("{}  {verdict}\n", page.title("thresholds"));
    result.thresholds.iter().for_each(|threshold| text.push_str(&line(threshold, page)));
    text
}

fn line(threshold: &ThresholdResult, page: Page) -> String {
    let (sign, role) = if threshold.passed { ("✓ passed", Role::Good) } else { ("✗ failed", Role::Bad) };
    let value = match (threshold.value, &threshold.reason) {
        (Some(value), _) => format!("is {}", with_unit(&threshold.rule, value)),
        (None, Some(reason)) if reason == "no_samples" => "saw no samples".to_owned(),
        (None, reason) => reason.clone().unwrap_or_default(),
    };
    format!("  {}  {}  {value}\n", page.style.paint(role, sign), threshold.rule)
}

/// The value in the unit of its rule.
fn with_unit(rule: &str, value: f64) -> String {
    let Ok(rule) = rule.parse::<Rule>() else { return human::number(value) };
    match rule.metric {
        Metric::Latency(_, Stat::Count) | Metric::Service(_, Stat::Count) => human::number(value),
        Metric::Latency(..) | Metric::Service(..) => human::micros(value * 1e6),
        Metric::Rate => human::rate(value),
        Metric::FailedRate | Metric::CheckRate(_) => human::percent(value),
        Metric::Completed | Metric::FailedCount | Metric::Dropped | Metric::Late => {
            human::count(value as u64)
        }
        Metric::Custom(..) => human::number(value),
    }
}
