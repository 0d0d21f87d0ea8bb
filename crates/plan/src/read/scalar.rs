//! Single values: texts, numbers, durations, words out of a list.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use hyperscale_types::Name;

use super::Reader;
use crate::document::{Kind, Node, Place};

impl Reader<'_> {
    /// A text; numbers and truth values count as the text they were written as.
    pub(super) fn text<'n>(&self, node: &'n Node, what: &str) -> Option<&'n str> {
        let text = node.scalar();
        if text.is_none() {
            self.problems.error(node.place, format!("{what} is expected here, not {}", node.what()));
        }
        text
    }

    /// A value that is read from a text: a duration, a rate, a size, an address.
    pub(super) fn parsed<T>(&self, node: &Node, what: &str) -> Option<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        match self.text(node, what)?.parse() {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.error(node.place, problem.to_string());
                None
            }
        }
    }

    /// True or false.
    pub(super) fn boolean(&self, node: &Node) -> Option<bool> {
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        let message = format!("true or false is expected here, not {}", node.what());
        let problem = self.problems.error(node.place, message);
        if let Some("yes" | "no" | "on" | "off") = node.scalar() {
            problem.hint("YAML 1.2 knows only `true` and `false`");
        }
        None
    }

    /// A whole number within limits.
    pub(super) fn integer<T>(&self, node: &Node, limits: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + Display + Copy,
    {
        let Kind::Int(value, written) = &node.kind else {
            self.problems.error(node.place, format!("a whole number is expected here, not {}", node.what()));
            return None;
        };
        let number = T::try_from(*value).ok().filter(|number| limits.contains(number));
        if number.is_none() {
            let (low, high) = (limits.start(), limits.end());
            self.problems.error(node.place, format!("{written} is out of range; it must be {low} … {high}"));
        }
        number
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&self, node: &Node, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(node, "a word")?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("`{text}` is not known here; use {}", any_of(&known));
            let problem = self.problems.error(node.place, message);
            if crate::problem::nearest(text, known.iter().copied()).is_some() {
                problem.nearest(text, known);
            }
        }
        found.map(|(_, value)| *value)
    }

    /// A name.
    pub(super) fn name(&self, text: &str, place: Place) -> Option<Name> {
        text.parse()
            .map_err(|problem: hyperscale_types::name::NameError| {
                self.problems.error(place, problem.to_string())
            })
            .ok()
    }
}

/// `a, b or c`
pub(super) fn any_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
