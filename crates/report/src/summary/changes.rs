//! What was changed about the load while it ran.

use std::fmt::Write;

use hyperscale_stats::result::{Change, RunResult};

use super::Page;
use crate::human;
use crate::style::Role;

/// Changes that are listed; the JSON has more of them.
const SHOWN: usize = 20;

pub(super) fn section(result: &RunResult, page: Page) -> String {
    if result.provenance.changes.is_empty() {
        return String::new();
    }
    let mut text = page.title("changed while it ran") + "\n";
    result.provenance.changes.iter().take(SHOWN).for_each(|change| text.push_str(&line(change, page)));
    let more =
        result.provenance.changes.len().saturating_sub(SHOWN) as u64 + result.provenance.changes_left_out;
    if more > 0 {
        let _ = writeln!(text, "  and {} more", human::count(more));
    }
    text
}

fn line(change: &Change, page: Page) -> String {
    let at = page.style.paint(Role::Dim, &format!("{:>9}", human::seconds(change.t_s)));
    let by = page.style.paint(Role::Dim, &format!("by {}", change.by.as_str()));
    format!("  {at}  {change}  {by}\n")
}
