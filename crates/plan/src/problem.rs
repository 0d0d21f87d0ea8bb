//! Problems of a plan: what is wrong, where, and what to do about it. Found all at once, shown like a compiler does.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write;

use serde::Serialize;

use crate::document::{Place, Text};

/// Problems that are shown; the rest is counted.
pub const SHOWN_MAX: usize = 100;
/// Problems that are kept; a plan with more is broken enough.
const KEPT_MAX: usize = 1_000;
/// Known words that a hint lists.
const LISTED_MAX: usize = 20;
/// Characters of a source line that are shown.
const SNIPPET_CHARS_MAX: usize = 160;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The plan cannot be run.
    Error,
    /// The plan can be run, but probably does not do what was meant.
    Warning,
}

/// Something wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 if it is not about a line.
    pub line: usize,
    /// The column in characters, from 1; 0 if it is not about a line.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
}

/// The part of a source line that a problem is about, with what stands around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Snippet {
    /// The line, or the part of a long line around the problem.
    pub line: String,
    /// Characters before the problem.
    pub before: usize,
    /// Characters it is about.
    pub width: usize,
}

impl From<Snippet> for String {
    fn from(snippet: Snippet) -> Self {
        snippet.line
    }
}

impl Snippet {
    fn cut(line: &str, column: usize, width: usize) -> Option<Self> {
        let before = column.saturating_sub(1);
        let skipped = if before + 20 > SNIPPET_CHARS_MAX { before - SNIPPET_CHARS_MAX / 2 } else { 0 };
        let line: String =
            line.chars().skip(skipped).take(SNIPPET_CHARS_MAX).map(hyperscale_types::shown).collect();
        let length = line.chars().count();
        let before = (before - skipped).min(length);
        let width = width.clamp(1, (length - before).max(1));
        (length > 0).then(|| Snippet { line: line.trim_end().to_owned(), before, width })
    }
}

impl Problem {
    /// An error that is not about a line.
    pub fn general(file: &str, message: impl Into<String>) -> Self {
        Problem {
            severity: Severity::Error,
            file: file.to_owned(),
            line: 0,
            column: 0,
            message: message.into(),
            hint: None,
            snippet: None,
        }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same about a line, from 1, of a file that is not the plan.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        (self.line, self.column) = (line as usize, usize::from(line > 0));
        self
    }

    /// The same as a warning.
    #[must_use]
    pub fn as_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    fn write(&self, out: &mut String) {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let _ = match self.line {
            0 => writeln!(out, "{}: {severity}: {}", self.file, self.message),
            line => writeln!(out, "{}:{line}:{}: {severity}: {}", self.file, self.column, self.message),
        };
        if let Some(Snippet { line, before, width }) = &self.snippet {
            let gutter = " ".repeat(self.line.to_string().len());
            let _ = writeln!(out, "  {} | {line}", self.line);
            let _ = writeln!(out, "  {gutter} | {}{}", " ".repeat(*before), "^".repeat(*width));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, "  hint: {hint}");
        }
    }
}

/// Problems as text, sorted as they are given; after [`SHOWN_MAX`] only their number.
pub fn render(problems: &[Problem]) -> String {
    let mut out = String::new();
    for problem in problems.iter().take(SHOWN_MAX) {
        problem.write(&mut out);
    }
    if problems.len() > SHOWN_MAX {
        let _ = writeln!(out, "and {} more", problems.len() - SHOWN_MAX);
    }
    out
}

/// The known word that is most like the given one, if any is like it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(likeness, candidate)| *likeness > 0.8 || strsim::osa_distance(&word, candidate) <= 1)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Words, the first [`LISTED_MAX`] of them.
pub(crate) fn listed(words: &[&str]) -> String {
    let shown = words[..words.len().min(LISTED_MAX)].join(", ");
    if words.len() > LISTED_MAX { format!("{shown}, …") } else { shown }
}

/// Where the problems of one file are collected. The same problem at the same place is kept once: defaults are read
/// for every step.
#[derive(Debug)]
pub struct Problems<'t> {
    file: &'t str,
    text: &'t Text,
    kept: RefCell<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    seen: HashSet<(Place, String)>,
    list: Vec<(Place, Problem)>,
    errors: bool,
}

/// A problem just reported, to which a hint can be added.
#[derive(Debug)]
pub struct Reported<'p, 't>(Option<(&'p Problems<'t>, usize)>);

impl Reported<'_, '_> {
    /// Adds what to do about it.
    pub fn hint(self, hint: impl Into<String>) {
        if let Some((problems, at)) = self.0 {
            problems.kept.borrow_mut().list[at].1.hint = Some(hint.into());
        }
    }

    /// Adds `did you mean` with the nearest known word, or the list of known words.
    pub fn nearest<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) {
        if self.0.is_none() {
            return; // not kept: nobody will read the hint
        }
        let known: Vec<&str> = known.into_iter().collect();
        match nearest(word, known.iter().copied()) {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None if known.is_empty() => {}
            None => self.hint(format!("known here: {}", listed(&known))),
        }
    }
}

impl<'t> Problems<'t> {
    /// None yet.
    pub fn new(file: &'t str, text: &'t Text) -> Self {
        Problems { file, text, kept: RefCell::default() }
    }

    /// The plan cannot be run.
    pub fn error(&self, place: Place, message: impl Into<String>) -> Reported<'_, 't> {
        self.report(Severity::Error, place, message.into())
    }

    /// The plan can be run, but.
    pub fn warning(&self, place: Place, message: impl Into<String>) -> Reported<'_, 't> {
        self.report(Severity::Warning, place, message.into())
    }

    fn report(&self, severity: Severity, place: Place, message: String) -> Reported<'_, 't> {
        let mut kept = self.kept.borrow_mut();
        kept.errors |= severity == Severity::Error;
        if kept.list.len() >= KEPT_MAX || !kept.seen.insert((place, message.clone())) {
            return Reported(None);
        }
        let (line, column) = self.text.position(place.start);
        let (last_line, last_column) = self.text.position(place.end);
        let width = if line == last_line { last_column.saturating_sub(column) } else { 1 };
        let problem = Problem {
            severity,
            file: self.file.to_owned(),
            line,
            column,
            message,
            hint: None,
            snippet: Snippet::cut(self.text.line(line), column, width),
        };
        kept.list.push((place, problem));
        Reported(Some((self, kept.list.len() - 1)))
    }

    /// Whether there is an error.
    pub fn any_error(&self) -> bool {
        self.kept.borrow().errors
    }

    /// All of them, by place.
    pub fn into_sorted(self) -> Vec<Problem> {
        let mut list = self.kept.into_inner().list;
        list.sort_by_key(|(place, _)| place.start);
        list.into_iter().map(|(_, problem)| problem).collect()
    }
}
