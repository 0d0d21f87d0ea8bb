//! Plain paths: `users.json.items[0].id`, resolved when the plan is read.

use std::sync::Arc;

use minijinja::Value;

use super::{FillError, Resolver, Root, Scope};
use crate::lookup::Key;

/// A root and the way from it to a value.
#[derive(Clone, Debug)]
pub struct Path {
    text: Arc<str>,
    root: Root,
    rest: Box<[Key]>,
}

/// A path as written: all its keys, and the dotted words before the first bracket.
struct Written<'a> {
    keys: Vec<Key>,
    words: Vec<&'a str>,
}

impl Path {
    /// Reads a path; `None` if the text is something else (an expression), an error if a name leads nowhere.
    pub(super) fn parse(text: &str, resolver: &dyn Resolver) -> Option<Result<Path, String>> {
        let written = scan(text)?;
        let (root, taken) = match resolver.resolve(&written.words) {
            Ok(found) => found,
            Err(problem) => return Some(Err(problem)),
        };
        // Names of a plan may contain `-`; behind them it is a minus.
        if written.words.iter().skip(taken).any(|word| word.contains('-')) {
            return None;
        }
        Some(Ok(Path { text: text.into(), root, rest: written.keys.into_iter().skip(taken).collect() }))
    }

    /// Where it begins.
    pub fn root(&self) -> Root {
        self.root
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Follows it.
    pub fn value(&self, scope: &impl Scope) -> Result<Value, FillError> {
        let value = self.follow(scope);
        if value.is_undefined() { Err(FillError::Undefined(self.text.to_string())) } else { Ok(value) }
    }

    /// Follows it; undefined if it leads nowhere.
    pub(super) fn follow(&self, scope: &impl Scope) -> Value {
        if let Some(value) = scope.shortcut(self.root, &self.rest) {
            return value;
        }
        let mut value = scope.root(self.root);
        for key in &self.rest {
            value = match key {
                Key::Field(field) => value.get_attr(field),
                Key::Index(index) => value.get_item_by_index(*index),
            }
            .unwrap_or(Value::UNDEFINED);
        }
        value
    }
}

/// Scans `word(.word|[index]|['key'])*`. Words may contain `-` where names may.
fn scan(text: &str) -> Option<Written<'_>> {
    let mut written = Written { keys: Vec::new(), words: Vec::new() };
    let mut rest = text;
    let mut dotted = true; // only leading dotted words can be part of a name
    loop {
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        let word = &rest[..end];
        if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || is_operator(word) {
            return None;
        }
        written.keys.push(Key::Field(word.into()));
        if dotted {
            written.words.push(word);
        }
        rest = &rest[end..];
        while let Some(inner) = rest.strip_prefix('[') {
            let close = inner.find(']')?;
            written.keys.push(bracket(&inner[..close])?);
            dotted = false;
            rest = &inner[close + 1..];
        }
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Some(written),
            None => return None,
        }
    }
}

fn is_operator(word: &str) -> bool {
    matches!(word, "not" | "true" | "false" | "none" | "True" | "False" | "None")
}

fn bracket(inner: &str) -> Option<Key> {
    if let Ok(index) = inner.parse() {
        return Some(Key::Index(index));
    }
    let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let key = inner[1..].strip_suffix(quote)?;
    (!key.contains([quote, '\\'])).then(|| Key::Field(key.into()))
}
