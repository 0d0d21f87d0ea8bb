//! From a tree to a validated plan. One file per concern; each says every problem it finds and goes on.
//!
//! Order: variables and data files, then the names of all workflows, then each workflow (its names and graph first,
//! then the steps, whose templates are resolved against what they can see), then what needs all workflows: context,
//! cycles, thresholds.

mod check;
mod command_line;
mod context;
mod data;
mod environment;
mod extract;
mod fields;
mod graph;
mod http;
mod load;
mod metric;
mod names;
mod overrides;
mod plan;
mod protocol;
mod scalar;
mod shown;
mod steps;
mod thresholds;
mod value;
mod vars;
mod view;
mod workflow;

use std::cell::Cell;
use std::path::Path;

pub use command_line::{
    URL_STEP, URL_WORKFLOW, UrlLoad, UrlOptions, UrlTls, from_url, url_document, with_scheme,
};
pub use environment::{Environment, Given};
pub use names::RESERVED_WORDS;
pub use overrides::{Overrides, override_load};
pub use thresholds::add_thresholds;

use crate::document::{self, Format, Text};
use crate::model::Plan;
use crate::problem::{Problem, Problems, Severity};

/// The text of a plan and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What problems call it.
    pub name: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
    /// How it is written; without, it is seen from the content.
    pub format: Option<Format>,
    /// Files that the plan names are relative to this folder.
    pub folder: &'a Path,
}

impl<'a> Source<'a> {
    /// The content of a file: the format by its extension, other files beside it.
    pub fn file(path: &'a Path, bytes: &'a [u8]) -> Self {
        Source {
            name: path.to_str().unwrap_or("plan"),
            bytes,
            format: Format::of_path(path),
            folder: path.parent().unwrap_or(Path::new("")),
        }
    }
}

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The plan.
    pub plan: Plan,
    /// What is allowed, but probably not meant.
    pub warnings: Vec<Problem>,
}

/// Reads a plan. Either a plan that can be run, or everything that is wrong with it (warnings among the errors).
pub fn load(source: &Source<'_>, env: &dyn Environment) -> Result<Loaded, Vec<Problem>> {
    if source.format.is_none() && is_script(source.name) {
        return Err(vec![Problem::general(source.name, "script plans are not supported yet")]);
    }
    let text = Text::new(source.bytes).map_err(|e| vec![Problem::general(source.name, e.to_string())])?;
    let format = source.format.unwrap_or_else(|| Format::of_text(text.as_str()));
    let problems = Problems::new(source.name, &text);
    let plan = document::parse(&text, format, &problems)
        .and_then(|root| Reader::new(&problems, &text, env, source.folder, source.name).plan(&root));
    let failed = problems.any_error();
    let problems = problems.into_sorted();
    match plan {
        Some(plan) if !failed => Ok(Loaded { plan, warnings: problems }),
        _ if failed => Err(problems),
        // Whoever gives up says why; this is the net below that.
        _ => Err(vec![Problem {
            severity: Severity::Error,
            ..Problem::general(source.name, "the plan cannot be read")
        }]),
    }
}

fn is_script(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("js" | "mjs" | "ts" | "mts"))
}

/// Steps of one plan: each repeats the defaults.
const STEPS_MAX: usize = 10_000;
/// Regular expressions of one plan: each may take [`REGEX_BYTES_MAX`] of memory.
const REGEXES_MAX: usize = 500;
/// Memory of one compiled regular expression.
const REGEX_BYTES_MAX: usize = 2 << 20;

/// What every part of the reading needs.
struct Reader<'r> {
    problems: &'r Problems<'r>,
    text: &'r Text,
    env: &'r dyn Environment,
    folder: &'r Path,
    name: &'r str,
    regexes_left: Cell<usize>,
    steps_left: Cell<usize>,
}

impl<'r> Reader<'r> {
    fn new(
        problems: &'r Problems<'r>,
        text: &'r Text,
        env: &'r dyn Environment,
        folder: &'r Path,
        name: &'r str,
    ) -> Self {
        let (regexes_left, steps_left) = (Cell::new(REGEXES_MAX), Cell::new(STEPS_MAX));
        Self { problems, text, env, folder, name, regexes_left, steps_left }
    }
}

impl Reader<'_> {
    /// A regular expression over bytes.
    fn regex(&self, node: &document::Node) -> Option<regex::bytes::Regex> {
        let text = self.text(node, "a regular expression")?;
        let Some(left) = self.regexes_left.get().checked_sub(1) else {
            self.problems.error(node.place, format!("a plan has at most {REGEXES_MAX} regular expressions"));
            return None;
        };
        self.regexes_left.set(left);
        match regex::bytes::RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build() {
            Ok(regex) => Some(regex),
            Err(regex::Error::CompiledTooBig(_)) => {
                self.problems.error(node.place, "the regular expression is too large");
                None
            }
            Err(problem) => {
                let problem = problem.to_string();
                let last = problem.lines().last().unwrap_or("").trim_start_matches("error: ");
                self.problems.error(node.place, format!("not a regular expression: {last}"));
                None
            }
        }
    }
}
