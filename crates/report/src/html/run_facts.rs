//! What went wrong, what the run was started with and where it ran, and its plan.

use std::collections::BTreeMap;

use hyperscale_stats::result::{ErrorResult, RunResult, SegmentPart};

use super::table::{Cell, Table};
use crate::escape::markup;
use crate::human;

/// Errors that are listed; the embedded data has all of them.
const ERRORS_SHOWN: usize = 100;

/// Errors, the most frequent first.
pub(super) fn errors(result: &RunResult) -> String {
    let mut sorted: Vec<&ErrorResult> = result.errors.iter().collect();
    sorted.sort_by_key(|error| std::cmp::Reverse(error.count));
    let mut table = Table::new("Errors by step, kind and message", &["where", "kind", "count", "message"]);
    for error in sorted.iter().take(ERRORS_SHOWN) {
        let step = error.step.as_ref().map(|step| format!(".{step}")).unwrap_or_default();
        table.row(vec![
            Cell::text(format!("{}{step}", error.workflow)),
            Cell::text(&error.kind),
            Cell::number(error.count as f64, human::count(error.count)).class("n bad"),
            Cell::text(&error.message).class("message"),
        ]);
    }
    let more = sorted.len().saturating_sub(ERRORS_SHOWN);
    let more =
        if more > 0 { format!("<p>and {more} more in the embedded data</p>\n") } else { String::new() };
    table.html() + &more
}

/// Who ran what in a cluster.
pub(super) fn attempts(result: &RunResult) -> String {
    let attempts = &result.provenance.segments;
    if attempts.is_empty() {
        return String::new();
    }
    let head = ["segment", "part", "attempt", "worker", "cores", "VUs", "state"];
    let mut table = Table::new("Attempts at the segments of this job", &head);
    for attempt in attempts {
        let part = match attempt.kind {
            SegmentPart::Setup => "set-up",
            SegmentPart::Load => "load",
            SegmentPart::Teardown => "tear-down",
        };
        let state = Cell::text(attempt.state.as_str());
        table.row(vec![
            Cell::text(&attempt.segment),
            Cell::text(part),
            Cell::number(f64::from(attempt.attempt), attempt.attempt.to_string()),
            Cell::text(&attempt.worker),
            Cell::number(attempt.cores.len() as f64, attempt.cores.len().to_string()),
            Cell::number(attempt.vus as f64, human::count(attempt.vus)),
            if attempt.state.is_missed() { state.class("bad") } else { state },
        ]);
    }
    let more = match result.provenance.segments_left_out {
        0 => String::new(),
        more => format!("<p>and {} more</p>\n", human::count(more)),
    };
    table.html() + &more
}

/// What was changed about the load while it ran.
pub(super) fn changes(result: &RunResult) -> String {
    let mut table = Table::new("Changes of the load in order", &["at", "change", "by"]);
    for change in &result.provenance.changes {
        table.row(vec![
            Cell::number(change.t_s, human::seconds(change.t_s)),
            Cell::text(change.to_string()),
            Cell::text(change.by.as_str()),
        ]);
    }
    let more = match result.provenance.changes_left_out {
        0 => String::new(),
        more => format!("<p>and {} more</p>\n", human::count(more)),
    };
    table.html() + &more
}

/// Options and environment.
pub(super) fn facts(result: &RunResult) -> String {
    let lists =
        [list("Options", &result.provenance.options), list("Environment", &result.provenance.environment)]
            .concat();
    if lists.is_empty() { lists } else { format!("<div class=\"columns\">{lists}</div>\n") }
}

fn list(title: &str, facts: &BTreeMap<String, String>) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let row = |(name, value): (&String, &String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>", markup(&name.replace('_', " ")), markup(value))
    };
    let rows: String = facts.iter().map(row).collect();
    format!("<div><h3>{title}</h3><dl class=\"facts\">{rows}</dl></div>")
}

/// The plan as it was written.
pub(super) fn plan(result: &RunResult) -> String {
    let Some(plan) = &result.provenance.plan else { return String::new() };
    let lines = plan.text.lines().count();
    format!(
        "<details open><summary>{} ({} lines)</summary><pre tabindex=\"0\"><code>{}</code></pre></details>\n",
        markup(&plan.name),
        human::count(lines as u64),
        plan.text.lines().map(markup).collect::<Vec<_>>().join("\n"),
    )
}
