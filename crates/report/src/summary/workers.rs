//! The workers that ran the job, and the segments that had to be reassigned.

use std::collections::BTreeMap;
use std::fmt::Write;

use hyperscale_stats::result::{AttemptCounts, AttemptResult, RunResult};

use super::Page;
use crate::human;
use crate::style::Role;

/// Attempts that did not bring their segment to its end and are listed; the JSON has all of them.
const MISSED_SHOWN: usize = 20;
/// Workers that are listed.
const WORKERS_SHOWN: usize = 20;

pub(super) fn section(result: &RunResult, page: Page) -> String {
    let attempts = &result.provenance.segments;
    let Some(counts) = AttemptCounts::of(attempts) else { return String::new() };
    let mut text = format!("{}  {}\n", page.title("workers"), counted(counts, page));
    let mut workers: BTreeMap<&str, Vec<&AttemptResult>> = BTreeMap::new();
    for attempt in attempts {
        workers.entry(&attempt.worker).or_default().push(attempt);
    }
    for (worker, attempts) in workers.iter().take(WORKERS_SHOWN) {
        let cores = attempts.iter().map(|it| it.cores.len()).max().unwrap_or(0);
        let vus: u64 = attempts.iter().map(|it| it.vus).max().unwrap_or(0);
        let of =
            [plural(attempts.len(), "attempt"), plural(cores, "core"), format!("{} VUs", human::count(vus))];
        text.push_str(&page.field(worker, &of.join("  ")));
    }
    let more = workers.len().saturating_sub(WORKERS_SHOWN);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
    let missed = attempts.iter().filter(|attempt| attempt.state.is_missed());
    for attempt in missed.take(MISSED_SHOWN) {
        let state = page.style.paint(Role::Bad, attempt.state.as_str());
        let _ = writeln!(
            text,
            "  segment {} attempt {} on {}: {state}",
            attempt.segment, attempt.attempt, attempt.worker
        );
    }
    text
}

fn counted(counts: AttemptCounts, page: Page) -> String {
    let mut parts = vec![plural(counts.workers, "worker")];
    if counts.retries > 0 {
        parts.push(format!("{} tried again", plural(counts.retries, "segment")));
    }
    if counts.lost > 0 {
        parts.push(page.style.paint(Role::Bad, &format!("{} lost", plural(counts.lost, "attempt"))));
    }
    parts.join("  ")
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
