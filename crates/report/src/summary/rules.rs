//! Thresholds with sign, word and value.

use hyperscale_stats::result::{RunResult, ThresholdResult};

use super::Page;
use crate::style::Role;
use crate::words;

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
    let value = match threshold.value {
        Some(_) => format!("is {}", words::threshold_value(threshold)),
        None => format!("saw {}", words::threshold_value(threshold)),
    };
    format!("  {}  {}  {value}\n", page.style.paint(role, sign), threshold.rule)
}
