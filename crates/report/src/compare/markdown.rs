//! A comparison for a comment on a pull request.

use std::fmt::Write as _;

use hyperscale_stats::compare::{ALL, Comparison, Difference, Verdict};

use super::{change_of, interval_of, outcome, rule_sign, rule_words, value};
use crate::escape::markdown as escaped;

pub(super) fn text(comparison: &Comparison) -> String {
    let (class, words) = outcome(comparison);
    let sign = match class {
        "good" => "✅ ",
        "bad" => "❌ ",
        _ => "",
    };
    let (a, b) = (&comparison.a, &comparison.b);
    let mut out = format!(
        "## {sign}{}: {}\n\nA: {} ({}) · B: {} ({})\n\n",
        escaped(&b.name),
        escaped(words.trim_start_matches(['✓', '✗', '!', ' '])),
        escaped(&a.started_at),
        escaped(&a.job),
        escaped(&b.started_at),
        escaped(&b.job),
    );
    for warning in &comparison.warnings {
        let _ = writeln!(out, "> ⚠️ {}\n", escaped(warning));
    }
    out.push_str(&rules(comparison));
    let (all, steps): (Vec<&Difference>, Vec<&Difference>) =
        comparison.differences.iter().partition(|difference| difference.place == ALL);
    out.push_str(&table(&all));
    if !steps.is_empty() {
        let _ = write!(out, "\n<details><summary>By step</summary>\n\n{}\n</details>\n", table(&steps));
    }
    out
}

fn rules(comparison: &Comparison) -> String {
    if comparison.rules.is_empty() {
        return String::new();
    }
    let mut out = "| | rule | change |\n| --- | --- | --- |\n".to_owned();
    for rule in &comparison.rules {
        let sign = match rule_sign(comparison, rule).0 {
            "good" => "✅ holds",
            "bad" => "❌ broken",
            _ => "⚠️ not judged",
        };
        let _ = writeln!(out, "| {sign} | {} | {} |", escaped(&rule.rule), escaped(&rule_words(rule)));
    }
    out.push('\n');
    out
}

fn table(differences: &[&Difference]) -> String {
    let mut out = "| step | | A | B | change | 95 % interval | verdict |\n\
                   | --- | --- | ---: | ---: | ---: | ---: | --- |\n"
        .to_owned();
    for one in differences {
        let verdict = match one.verdict {
            Verdict::Better => "✅ better",
            Verdict::Worse => "❌ worse",
            Verdict::NoDifferenceShown => "no difference shown",
            Verdict::Unknown => "too few samples",
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {verdict} |",
            escaped(&one.place),
            one.quantity.as_str(),
            value(one.quantity, one.a),
            value(one.quantity, one.b),
            change_of(one),
            interval_of(one),
        );
    }
    out
}
