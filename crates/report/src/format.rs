//! The formats a report can have, by the extension of its file.

use std::path::Path;

use hyperscale_stats::result::RunResult;

use crate::csv::to_csv;
use crate::html::to_html;
use crate::json::to_json;
use crate::junit::to_junit;
use crate::markdown::to_markdown;
use crate::summary::{TextOptions, summary};

/// What a report is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// The result itself, indented.
    Json,
    /// One page with charts, for people.
    Html,
    /// Thresholds and checks as test cases.
    Junit,
    /// Totals, steps and points in time as one table.
    Csv,
    /// Tables for a comment on a pull request.
    Markdown,
    /// The summary that is printed at the end.
    Text,
}

impl ReportFormat {
    /// Every format.
    pub const ALL: [ReportFormat; 6] = [
        ReportFormat::Json,
        ReportFormat::Html,
        ReportFormat::Junit,
        ReportFormat::Csv,
        ReportFormat::Markdown,
        ReportFormat::Text,
    ];

    /// The extension that stands for it.
    pub const fn extension(self) -> &'static str {
        match self {
            ReportFormat::Json => "json",
            ReportFormat::Html => "html",
            ReportFormat::Junit => "xml",
            ReportFormat::Csv => "csv",
            ReportFormat::Markdown => "md",
            ReportFormat::Text => "txt",
        }
    }

    /// The format of a file, by its extension in any case.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.extension() == extension)
    }

    /// The whole content of a file of this format.
    pub fn render(self, result: &RunResult) -> String {
        match self {
            ReportFormat::Json => to_json(result, true) + "\n",
            ReportFormat::Html => to_html(result),
            ReportFormat::Junit => to_junit(result),
            ReportFormat::Csv => to_csv(result),
            ReportFormat::Markdown => to_markdown(result),
            ReportFormat::Text => summary(result, TextOptions::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_choose_the_format_in_any_case() {
        for format in ReportFormat::ALL {
            let name = format!("out.{}", format.extension().to_uppercase());
            assert_eq!(ReportFormat::of_path(Path::new(&name)), Some(format));
        }
        for other in ["out", "out.pdf", ".json", "json"] {
            assert_eq!(ReportFormat::of_path(Path::new(other)), None, "{other}");
        }
    }
}
