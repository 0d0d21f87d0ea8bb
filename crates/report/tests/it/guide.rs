//! The texts that `docs/guide/reading-results.md` shows are those that are made.

use hyperscale_report::{Compared, TextOptions, summary};
use hyperscale_stats::compare::compare;

use crate::runs::minute;

const PAGE: &str = include_str!("../../../../docs/guide/reading-results.md");

/// Lines of the comparison that the page shows: both runs, and all steps together.
const COMPARISON_LINES: usize = 12;

#[track_caller]
fn assert_shown(text: &str) {
    let block = format!("```text\n{}\n```\n", text.trim_end());
    assert!(PAGE.contains(&block), "the page does not show\n{block}");
}

#[test]
fn the_summary_of_the_guide_is_a_real_one() {
    assert_shown(&summary(&minute(1.0), TextOptions::default()));
}

#[test]
fn the_comparison_of_the_guide_is_a_real_one() {
    let (a, mut b) = (minute(1.0), minute(1.2));
    b.identity.job = "local-2".into();
    let comparison = compare(&a, &b);
    let text = Compared { a: &a, b: &b, comparison: &comparison }.text(TextOptions::default());
    assert_shown(&text.lines().take(COMPARISON_LINES).collect::<Vec<_>>().join("\n"));
}
