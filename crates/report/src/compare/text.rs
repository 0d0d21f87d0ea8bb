//! A comparison for a terminal.

use std::fmt::Write as _;

use hyperscale_stats::compare::{Comparison, Difference, Side, Verdict};

use super::{change_of, interval_of, outcome, rule_sign, rule_words, value, verdict_words};
use crate::human;
use crate::style::{Role, Style};
use crate::summary::TextOptions;
use crate::table::{Cell, Column, Table, wrap};
use crate::words::{self, one_line};

pub(super) fn text(comparison: &Comparison, options: TextOptions) -> String {
    let TextOptions { style, width } = options;
    let mut out = side("A", &comparison.a, style) + &side("B", &comparison.b, style) + "\n";
    out.push_str(&table(&comparison.differences).render(0, width, style));
    if !comparison.rules.is_empty() {
        let (class, words) = outcome(comparison);
        let role = if class == "good" { Role::Good } else { Role::Bad };
        let _ = writeln!(out, "\n{}  {}", style.paint(Role::Title, "rules"), style.paint(role, &words));
        for rule in &comparison.rules {
            let (class, sign) = rule_sign(comparison, rule);
            let role = match class {
                "good" => Role::Good,
                "bad" => Role::Bad,
                _ => Role::Warning,
            };
            let sign = style.paint(role, &format!("{sign:<8}"));
            let _ = writeln!(out, "  {sign}  {}  {}", one_line(&rule.rule), rule_words(rule));
        }
    }
    if !comparison.warnings.is_empty() {
        out.push('\n');
    }
    let sign = "! warning  ";
    for warning in &comparison.warnings {
        let line = wrap(&one_line(warning), " ", sign.len(), width);
        out.push_str(&(style.paint(Role::Warning, sign) + &line + "\n"));
    }
    out
}

fn side(letter: &str, side: &Side, style: Style) -> String {
    format!(
        "{}  {}  {} after {}  {}  {}\n",
        style.paint(Role::Title, letter),
        one_line(&side.name),
        words::status(side.status, None),
        human::seconds(side.elapsed_s),
        one_line(&side.started_at),
        one_line(&side.job),
    )
}

fn table(differences: &[Difference]) -> Table {
    let columns = [("step", 0, true), ("", 0, true), ("A", 1, false), ("B", 1, false), ("change", 0, false)];
    let more = [("95 % interval", 2, false), ("verdict", 0, true)];
    let columns = columns.into_iter().chain(more).map(|(title, rank, left)| Column { title, rank, left });
    let mut table = Table::new(columns.collect());
    let mut place = "";
    for difference in differences {
        let shown = if difference.place == place { "" } else { difference.place.as_str() };
        place = &difference.place;
        let role = match difference.verdict {
            Verdict::Better => Role::Good,
            Verdict::Worse => Role::Bad,
            Verdict::NoDifferenceShown | Verdict::Unknown => Role::Dim,
        };
        table.row(vec![
            Cell::new(Role::Title, shown),
            difference.quantity.as_str().into(),
            value(difference.quantity, difference.a).into(),
            value(difference.quantity, difference.b).into(),
            change_of(difference).into(),
            interval_of(difference).into(),
            Cell::new(role, verdict_words(difference.verdict)),
        ]);
    }
    table
}
