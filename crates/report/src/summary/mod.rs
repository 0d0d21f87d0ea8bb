//! The summary at the end of a run.

mod changes;
mod rules;
mod steps;
mod workers;
mod workflow;

use hyperscale_stats::result::{ErrorResult, ExportResult, RunResult, Status};

use crate::human;
use crate::style::{Role, Style};
use crate::table::{shorten, wrap};
use crate::words::{self, one_line};

/// Lines are never made for less than this.
const WIDTH_MIN: usize = 40;
/// Errors that are listed; the JSON has all of them.
const ERRORS_SHOWN: usize = 20;

/// Characters of a label in front of a field.
const LABEL: usize = 11;

/// How the text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Colours or none.
    pub style: Style,
    /// Characters per line.
    pub width: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { style: Style::Plain, width: 100 }
    }
}

/// The whole result as text, ending with a line end.
pub fn summary(result: &RunResult, options: TextOptions) -> String {
    let page = Page { style: options.style, width: options.width.max(WIDTH_MIN) };
    let mut text = heading(result, page);
    for workflow in &result.workflows {
        text.push('\n');
        text.push_str(&workflow::section(workflow, page));
    }
    let parts = [
        errors(&result.errors, page),
        workers::section(result, page),
        rules::section(result, page),
        changes::section(result, page),
        exports(result, page),
        notes(result, page),
    ];
    for part in parts {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text
}

/// Style and width, handed to every part.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    pub(crate) style: Style,
    pub(crate) width: usize,
}

impl Page {
    /// `label    text`, indented under its heading. The text breaks where two spaces part it.
    pub(crate) fn field(self, label: &str, text: &str) -> String {
        let label = self.style.paint(Role::Dim, &format!("{label:<LABEL$}"));
        format!("  {label} {}\n", wrap(text, "  ", LABEL + 3, self.width))
    }

    /// Parts with two spaces between them, on as many lines as they need; the first is indented too.
    pub(crate) fn parts(self, indent: usize, parts: &[String]) -> String {
        format!("{}{}\n", " ".repeat(indent), wrap(&parts.join("  "), "  ", 2, self.width))
    }

    /// How something ended, and why.
    pub(crate) fn status(self, status: Status, reason: Option<&str>) -> String {
        let word = self.style.paint(Role::of_status(status), status.as_str());
        let reason =
            reason.map(|reason| format!(" ({})", self.shorten(&one_line(reason), status.as_str().len() + 5)));
        word + &reason.unwrap_or_default()
    }

    pub(crate) fn title(self, text: &str) -> String {
        self.style.paint(Role::Title, text)
    }

    pub(crate) fn shorten(self, text: &str, used: usize) -> String {
        shorten(text, self.width.saturating_sub(used).max(8))
    }
}

fn heading(result: &RunResult, page: Page) -> String {
    let totals = &result.totals;
    let failed = format!("{} failed", human::count(totals.failed));
    let retries = match totals.retries {
        0 => String::new(),
        retries => format!(" ({} retries)", human::count(retries)),
    };
    let counts = [
        format!("{} requests{retries}", human::count(totals.requests)),
        format!("{} ok", human::count(totals.ok)),
        page.style.paint(Role::of_failures(totals.failed), &failed),
        human::rate(totals.rate),
        format!("sent {}", human::bytes(totals.bytes.sent)),
        format!("received {}", human::bytes(totals.bytes.received)),
    ];
    let name = page.title(&page.shorten(&one_line(&result.identity.name), 0));
    let status = page.status(result.status, result.reason.as_deref());
    let after = format!("after {}", human::seconds(result.elapsed_s));
    page.parts(0, &[name, status, after]) + &page.parts(2, &counts)
}

fn errors(errors: &[ErrorResult], page: Page) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&ErrorResult> = errors.iter().collect();
    sorted.sort_by_key(|error| std::cmp::Reverse(error.count));
    let mut lines = vec![page.title("errors")];
    lines.extend(sorted.iter().take(ERRORS_SHOWN).map(|error| error_line(error, page)));
    if let Some(more) = sorted.len().checked_sub(ERRORS_SHOWN).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more in the JSON report"));
    }
    lines.join("\n") + "\n"
}

fn error_line(error: &ErrorResult, page: Page) -> String {
    let step = error.step.as_ref().map(|step| format!(".{step}")).unwrap_or_default();
    let head = format!("{}{step}  {}", error.workflow, error.kind);
    let count = format!("{:>9}", human::count(error.count));
    let used = 2 + count.len() + 2 + head.chars().count() + 2;
    let message = page.shorten(&one_line(&error.message), used);
    format!("  {}  {head}  {message}", page.style.paint(Role::Bad, &count))
}

/// Where the numbers went while the run was going on.
fn exports(result: &RunResult, page: Page) -> String {
    if result.provenance.exports.is_empty() {
        return String::new();
    }
    let line = |export: &ExportResult| {
        let kind = one_line(&export.kind);
        let (sent, lost) = (human::count(export.sent), human::count(export.lost));
        let used = format!("  {kind}    {sent} sent  {lost} lost").chars().count();
        let target = page.shorten(&one_line(&export.target), used);
        let lost = page.style.paint(Role::of_failures(export.lost), &format!("{lost} lost"));
        format!("  {kind}  {target}  {sent} sent  {lost}")
    };
    let lines = [page.title("exports")].into_iter().chain(result.provenance.exports.iter().map(line));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// What limits the trust in the numbers.
fn notes(result: &RunResult, page: Page) -> String {
    let sign = "! warning  ";
    let line = |note: &String| {
        let note = wrap(note, " ", sign.len(), page.width);
        page.style.paint(Role::Warning, sign) + &note + "\n"
    };
    words::warnings(result).iter().map(line).collect()
}
