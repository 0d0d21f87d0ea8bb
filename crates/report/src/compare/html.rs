//! Two runs in one page: rules, differences with their intervals, charts over each other, facts side by side.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hyperscale_stats::compare::{ALL, Comparison, Difference, Quantity, Side, Verdict};

use super::{Compared, change_of, interval_of, outcome, rule_sign, rule_words, value, verdict_words};
use crate::escape::markup;
use crate::html::over_time::{self, Drawn};
use crate::html::table::{Cell, Table};
use crate::html::{Section, latency, page as whole_page, sign, warnings};
use crate::human;
use crate::json::to_json;
use crate::words;

/// Changes beyond this are drawn at the edge.
const DRAWN_MAX: f64 = 1.0;
/// Changes below this would make every picture look dramatic.
const DRAWN_MIN: f64 = 0.05;

pub(super) fn page(compared: &Compared<'_>) -> String {
    let Compared { a, b, comparison } = *compared;
    let runs = [Drawn { result: a, prefix: "A", class: "old" }, Drawn { result: b, prefix: "B", class: "" }];
    let charts = [over_time::charts(&runs), latency::curves_of_runs(&runs)].concat();
    let sections = [
        Section::new("rules", "Rules", rules(comparison)),
        Section::new("differences", "Differences", differences(comparison)),
        Section::new("charts", "A and B over each other", format!("<div class=\"figures\">{charts}</div>\n")),
        Section::new("runs", "Runs", facts(compared)),
    ];
    let title = format!("{}: A and B", b.identity.name);
    let data = format!("{{\"runs\":[{},{}]}}", to_json(a, false), to_json(b, false));
    whole_page(&title, &header(comparison), &sections, &data)
}

fn header(comparison: &Comparison) -> String {
    let (class, words) = outcome(comparison);
    let side = |letter: &str, side: &Side| {
        format!(
            "<p class=\"sub\"><b>{letter}</b> {} · {} after {} · {} · job {}</p>\n",
            markup(&side.name),
            words::status(side.status, None),
            human::seconds(side.elapsed_s),
            markup(&side.started_at),
            markup(&side.job),
        )
    };
    format!(
        "<header>\n<p class=\"verdict {class}\">{}</p>\n<h1>{}: B against A</h1>\n{}{}{}</header>\n{}",
        markup(&words),
        markup(&comparison.b.name),
        side("A", &comparison.a),
        side("B", &comparison.b),
        tiles(comparison),
        warnings(&comparison.warnings),
    )
}

fn tiles(comparison: &Comparison) -> String {
    let shown = [Quantity::Rate, Quantity::Failed, Quantity::P50, Quantity::P95, Quantity::P99];
    let mut html = "<dl class=\"tiles\">".to_owned();
    for difference in
        comparison.differences.iter().filter(|one| one.place == ALL && shown.contains(&one.quantity))
    {
        let _ = write!(
            html,
            "<div class=\"{}\"><dt>{}</dt><dd><b id=\"tile-{}\">{}</b><small>{} → {}</small></dd></div>",
            class_of(difference.verdict),
            difference.quantity.as_str(),
            difference.quantity.as_str(),
            change_of(difference),
            value(difference.quantity, difference.a),
            value(difference.quantity, difference.b),
        );
    }
    html.push_str("</dl>\n");
    html
}

fn rules(comparison: &Comparison) -> String {
    let mut table = Table::new("Changes that must not be", &["outcome", "rule", "change"]).named_by(1);
    for rule in &comparison.rules {
        let (class, words) = rule_sign(comparison, rule);
        let outcome = sign(class, words);
        let code = Cell::markup(format!("<code>{}</code>", markup(&rule.rule)));
        table.row(vec![outcome, code, Cell::text(rule_words(rule))]);
    }
    table.html()
}

fn differences(comparison: &Comparison) -> String {
    let widest = comparison.differences.iter().filter_map(|one| one.interval);
    let widest = widest.map(|(low, high)| low.abs().max(high.abs())).fold(DRAWN_MIN, f64::max).min(DRAWN_MAX);
    let (all, steps): (Vec<&Difference>, Vec<&Difference>) =
        comparison.differences.iter().partition(|one| one.place == ALL);
    let steps = table("Each step of both runs", &steps, widest);
    let steps = if steps.is_empty() {
        steps
    } else {
        format!("<details><summary>By step</summary>{steps}</details>\n")
    };
    table("All steps together", &all, widest) + &steps
}

fn table(caption: &'static str, differences: &[&Difference], widest: f64) -> String {
    let head = ["step", "quantity", "A", "B", "change", "95 % interval", "", "verdict"];
    let mut table = Table::new(caption, &head);
    for one in differences {
        table.row(vec![
            Cell::text(&one.place),
            Cell::text(one.quantity.as_str()),
            Cell::number(one.a, value(one.quantity, one.a)),
            Cell::number(one.b, value(one.quantity, one.b)),
            Cell::number(one.change.unwrap_or(0.0), change_of(one)),
            Cell::text(interval_of(one)).class("n"),
            Cell::markup(range(one, widest)),
            sign(class_of(one.verdict), verdict_words(one.verdict)),
        ]);
    }
    table.html()
}

const fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "good",
        Verdict::Worse => "bad",
        Verdict::NoDifferenceShown | Verdict::Unknown => "",
    }
}

/// The interval as a bar beside the line of no difference.
fn range(difference: &Difference, largest: f64) -> String {
    let (Some(change), Some((low, high))) = (difference.change, difference.interval) else {
        return String::new();
    };
    let place = |value: f64| (value / largest).clamp(-1.0, 1.0) * 60.0;
    format!(
        "<svg class=\"range {}\" viewBox=\"-66 -8 132 16\" aria-hidden=\"true\"><path class=\"zero\" d=\"M0 -8V8\"/>\
         <path class=\"line\" d=\"M{:.1} 0H{:.1}\"/><circle cx=\"{:.1}\" r=\"3.5\"/></svg>",
        class_of(difference.verdict),
        place(low),
        place(high),
        place(change),
    )
}

/// Options and environment, with what differs marked.
fn facts(compared: &Compared<'_>) -> String {
    let mut table = Table::new("Options and environment", &["", "A", "B"]);
    let pairs = [
        (&compared.a.provenance.options, &compared.b.provenance.options),
        (&compared.a.provenance.environment, &compared.b.provenance.environment),
    ];
    for (a, b) in pairs {
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for name in names {
            let (in_a, in_b) = (a.get(name), b.get(name));
            let cell = |text: Option<&String>| {
                let cell = Cell::text(text.map_or("–", String::as_str));
                if in_a == in_b { cell } else { cell.class("differs") }
            };
            table.row(vec![Cell::text(name.replace('_', " ")), cell(in_a), cell(in_b)]);
        }
    }
    table.html()
}
