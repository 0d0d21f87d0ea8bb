//! The report as one HTML file: nothing is loaded from anywhere, everything can be read without scripts.
//!
//! Charts and tables are made here; the script in `assets/report.js` only adds what a pointer or a keyboard can ask for
//! (values under the cursor, sorting). The whole result is embedded as JSON for it and for whoever wants the numbers back.
//! It must never contain a text that was not escaped.

pub(crate) mod latency;
pub(crate) mod over_time;
mod overview;
mod run_facts;
pub(crate) mod table;
mod workflows;

use hyperscale_stats::result::RunResult;
pub(crate) use overview::{sign, warnings};

use crate::escape::{markup, script};
use crate::json::to_json;

const CSS: &str = include_str!("../../assets/report.css");
const JS: &str = include_str!("../../assets/report.js");

/// The result as a page.
pub fn to_html(result: &RunResult) -> String {
    let sections = [
        Section::new("thresholds", "Thresholds", overview::thresholds(result)),
        Section::new("time", "Over time", over_time::section(result)),
        Section::new("changes", "Changed while it ran", run_facts::changes(result)),
        Section::new("latency", "Latency", latency::section(result)),
        Section::new("steps", "Steps", workflows::section(result)),
        Section::new("checks", "Checks and metrics", workflows::checks_and_metrics(result)),
        Section::new("errors", "Errors", run_facts::errors(result)),
        Section::new("workers", "Workers and attempts", run_facts::attempts(result)),
        Section::new("run", "Run and environment", run_facts::facts(result)),
        Section::new("plan", "Plan", run_facts::plan(result)),
    ];
    let head = overview::header(result);
    page(&result.identity.name, &head, &sections, &format!("{{\"runs\":[{}]}}", to_json(result, false)))
}

/// A part of a page under a heading.
pub(crate) struct Section {
    id: &'static str,
    title: &'static str,
    html: String,
}

impl Section {
    /// A part with its content; one without content is left out.
    pub(crate) fn new(id: &'static str, title: &'static str, html: String) -> Self {
        Self { id, title, html }
    }
}

/// A whole page.
pub(crate) fn page(title: &str, head: &str, sections: &[Section], data: &str) -> String {
    let there = || sections.iter().filter(|section| !section.html.is_empty());
    let links: Vec<String> =
        there().map(|section| format!("<a href=\"#{}\">{}</a>", section.id, markup(section.title))).collect();
    let body: Vec<String> = there()
        .map(|Section { id, title, html }| {
            format!("<section id=\"{id}\"><h2>{}</h2>\n{html}</section>\n", markup(title))
        })
        .collect();
    let (links, body) = (links.concat(), body.concat());
    let (title, data) = (markup(title), script(data));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{title} · Hyperscale</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n{head}\
         <nav aria-label=\"Parts of this report\">{links}</nav>\n<main>\n{body}</main>\n\
         <footer>Made by Hyperscale. Latency counts from the intended start of a call, service time from its actual \
         start; both of calls that were ok. Percentiles come from merged histograms.</footer>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{JS}</script>\n</body>\n</html>\n"
    )
}

/// A figure: a chart under its title, with what its colours mean.
pub(crate) fn figure(chart: &crate::chart::Chart, legend: &[(String, String)]) -> String {
    let entry = |(class, name): &(String, String)| format!("<li class=\"{class}\">{}</li>", markup(name));
    let legend: String = legend.iter().map(entry).collect();
    let legend = if legend.is_empty() { legend } else { format!("<ul class=\"legend\">{legend}</ul>") };
    let title = markup(&chart.title);
    format!("<figure><figcaption><h3>{title}</h3>{legend}</figcaption>{}</figure>\n", chart.svg())
}
