//! What is seen first: the verdict, the numbers people ask for, warnings, thresholds.

use std::fmt::Write as _;

use hyperscale_stats::result::{RunResult, Status};

use super::table::{Cell, Table};
use crate::escape::markup;
use crate::human;
use crate::words;

/// Name, verdict, numbers and warnings.
pub(super) fn header(result: &RunResult) -> String {
    let (class, verdict) = verdict(result);
    let mut html = format!(
        "<header>\n<p class=\"verdict {class}\">{verdict}</p>\n<h1>{}</h1>\n<p class=\"sub\">{} after {} · started <time>{}</time> · job {}</p>\n",
        markup(&result.identity.name),
        markup(&words::status(result.status, result.reason.as_deref())),
        human::seconds(result.elapsed_s),
        markup(&result.started_at),
        markup(&result.identity.job),
    );
    html.push_str(&tiles(result));
    html.push_str("</header>\n");
    html.push_str(&warnings(&words::warnings(result)));
    html
}

/// Warnings as a list that cannot be missed.
pub(crate) fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let items: Vec<String> = warnings.iter().map(|warning| format!("<li>{}</li>", markup(warning))).collect();
    let items = items.concat();
    format!("<aside class=\"warnings\" aria-label=\"Warnings\"><ul>{items}</ul></aside>\n")
}

fn verdict(result: &RunResult) -> (&'static str, String) {
    let failed = result.thresholds.iter().filter(|threshold| !threshold.passed).count();
    match (result.status, failed) {
        (Status::Completed, 0) if result.thresholds.is_empty() => ("good", "✓ completed".to_owned()),
        (Status::Completed, 0) => ("good", "✓ all thresholds passed".to_owned()),
        (_, 1..) => ("bad", format!("✗ {failed} of {} thresholds failed", result.thresholds.len())),
        (status, _) => ("bad", format!("✗ {}", markup(&status.as_str().replace('_', " ")))),
    }
}

fn tiles(result: &RunResult) -> String {
    let totals = &result.totals;
    let share = words::failed_share(totals.ok, totals.failed);
    let latency = |us: f64| if totals.latency_us.count == 0 { "–".to_owned() } else { human::micros(us) };
    let failed_class = if totals.failed > 0 { "bad" } else { "" };
    let tiles = [
        ("", "requests", "requests", human::count(totals.requests), String::new()),
        ("", "rate", "calls per second", human::rate(totals.rate), String::new()),
        (
            failed_class,
            "failed",
            "failed",
            human::percent(share),
            format!("{} calls", human::count(totals.failed)),
        ),
        ("", "p50", "median latency", latency(totals.latency_us.p50), String::new()),
        ("", "p95", "p95", latency(totals.latency_us.p95), String::new()),
        ("", "p99", "p99", latency(totals.latency_us.p99), format!("max {}", latency(totals.latency_us.max))),
        (
            "",
            "bytes",
            "received",
            human::bytes(totals.bytes.received),
            format!("sent {}", human::bytes(totals.bytes.sent)),
        ),
    ];
    let mut html = "<dl class=\"tiles\">".to_owned();
    for (class, id, name, value, note) in tiles {
        let note = if note.is_empty() { note } else { format!("<small>{note}</small>") };
        let _ = write!(
            html,
            "<div class=\"{class}\"><dt>{name}</dt><dd><b id=\"tile-{id}\">{}</b>{note}</dd></div>",
            markup(&value)
        );
    }
    html.push_str("</dl>\n");
    html
}

/// The thresholds with what they were held against.
pub(super) fn thresholds(result: &RunResult) -> String {
    let mut table = Table::new("Rules over the whole run", &["outcome", "rule", "value"]).named_by(1);
    for threshold in &result.thresholds {
        let outcome = if threshold.passed { sign("good", "✓ passed") } else { sign("bad", "✗ failed") };
        table.row(vec![
            outcome,
            Cell::markup(format!("<code>{}</code>", markup(&threshold.rule))),
            Cell::number(threshold.value.unwrap_or(-1.0), words::threshold_value(threshold)),
        ]);
    }
    table.html()
}

/// A word with its colour; the word says it too.
pub(crate) fn sign(class: &'static str, word: &str) -> Cell {
    Cell::markup(format!("<span class=\"sign {class}\">{}</span>", markup(word)))
}
