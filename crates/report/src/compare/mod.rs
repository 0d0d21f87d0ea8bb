//! Two runs side by side as text, Markdown, JSON and HTML. What differs and how sure that is comes from
//! [`hyperscale_stats::compare`]; here it only becomes readable.

mod html;
mod markdown;
mod text;

use std::path::Path;

use hyperscale_stats::compare::{Comparison, Difference, Quantity, RuleOutcome, Verdict};
use hyperscale_stats::result::RunResult;

use crate::human;
use crate::summary::TextOptions;

/// Two runs and their comparison.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'r> {
    /// What was before.
    pub a: &'r RunResult,
    /// What is judged.
    pub b: &'r RunResult,
    /// What differs.
    pub comparison: &'r Comparison,
}

/// What a comparison is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareFormat {
    /// Both runs in one page.
    Html,
    /// The comparison itself, indented.
    Json,
    /// A table for a comment on a pull request.
    Markdown,
    /// What is printed.
    Text,
}

impl CompareFormat {
    /// Every format.
    pub const ALL: [CompareFormat; 4] =
        [CompareFormat::Html, CompareFormat::Json, CompareFormat::Markdown, CompareFormat::Text];

    /// The extension that stands for it.
    pub const fn extension(self) -> &'static str {
        match self {
            CompareFormat::Html => "html",
            CompareFormat::Json => "json",
            CompareFormat::Markdown => "md",
            CompareFormat::Text => "txt",
        }
    }

    /// The format of a file, by its extension in any case.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.extension() == extension)
    }
}

impl Compared<'_> {
    /// The whole content of a file of this format.
    pub fn render(&self, format: CompareFormat) -> String {
        match format {
            CompareFormat::Html => html::page(self),
            CompareFormat::Json => self.json(true) + "\n",
            CompareFormat::Markdown => markdown::text(self.comparison),
            CompareFormat::Text => self.text(TextOptions::default()),
        }
    }

    /// For a terminal.
    pub fn text(&self, options: TextOptions) -> String {
        text::text(self.comparison, options)
    }

    /// For programs, on one line or indented.
    pub fn json(&self, pretty: bool) -> String {
        let of = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
        of(self.comparison).expect("a comparison has only string keys")
    }
}

/// A value of a quantity with its unit.
fn value(quantity: Quantity, value: f64) -> String {
    match quantity {
        Quantity::Rate => human::rate(value),
        Quantity::Failed => human::percent(value),
        _ => human::micros(value),
    }
}

/// A change: percent, or percentage points of a share.
fn change(quantity: Quantity, change: f64) -> String {
    let (percent, unit) = (change * 100.0, if quantity == Quantity::Failed { "pp" } else { "%" });
    let decimals = usize::from(percent.abs() < 9.95);
    let text = format!("{percent:+.decimals$} {unit}");
    // Nothing has no sign.
    text.strip_prefix("-0.0")
        .or(text.strip_prefix("+0.0"))
        .map_or_else(|| text.clone(), |rest| format!("0.0{rest}"))
}

fn change_of(difference: &Difference) -> String {
    difference.change.map_or_else(|| "–".to_owned(), |value| change(difference.quantity, value))
}

fn interval_of(difference: &Difference) -> String {
    let of = |value| change(difference.quantity, value);
    difference.interval.map_or_else(|| "–".to_owned(), |(low, high)| format!("{} … {}", of(low), of(high)))
}

const fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "✓ better",
        Verdict::Worse => "✗ worse",
        Verdict::NoDifferenceShown => "no difference shown",
        Verdict::Unknown => "too few samples",
    }
}

/// `+8.0 %`, with the note if there is one.
fn rule_words(rule: &RuleOutcome) -> String {
    let words = rule.change.map_or_else(|| "no value".to_owned(), |value| change(rule.quantity, value));
    rule.note.as_ref().map_or_else(|| words.clone(), |note| format!("{words}; {note}"))
}

/// How a rule ended, and whether that is good, bad or neither.
fn rule_sign(comparison: &Comparison, rule: &RuleOutcome) -> (&'static str, &'static str) {
    match (comparison.is_judged(), rule.broken) {
        (false, _) => ("even", "! not judged"),
        (true, true) => ("bad", "✗ broken"),
        (true, false) => ("good", "✓ holds"),
    }
}

/// How many differences there are of a kind.
fn count(comparison: &Comparison, verdict: Verdict) -> usize {
    comparison.differences.iter().filter(|difference| difference.verdict == verdict).count()
}

/// The outcome in one line, and whether it is good, bad or neither.
fn outcome(comparison: &Comparison) -> (&'static str, String) {
    let broken = comparison.rules.iter().filter(|rule| rule.broken).count();
    let (better, worse) = (count(comparison, Verdict::Better), count(comparison, Verdict::Worse));
    if !comparison.is_judged() {
        return ("bad", "! not comparable, no rule judged".to_owned());
    }
    match (comparison.rules.len(), broken) {
        (0, _) if better + worse == 0 => ("even", "no difference shown".to_owned()),
        (0, _) => ("even", format!("{better} better, {worse} worse")),
        (_, 0) => ("good", "✓ all rules hold".to_owned()),
        (all, broken) => ("bad", format!("✗ {broken} of {all} rules broken")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_and_shares_are_in_points() {
        assert_eq!(change(Quantity::P95, 0.0531), "+5.3 %");
        assert_eq!(change(Quantity::P95, -0.5), "-50 %");
        assert_eq!(change(Quantity::Failed, 0.005), "+0.5 pp");
        assert_eq!([change(Quantity::Rate, 0.000_1), change(Quantity::Rate, -0.000_1)], ["0.0 %", "0.0 %"]);
    }
}
