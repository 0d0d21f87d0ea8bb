//! One tree for YAML, TOML and JSON: every value and key knows where it stands in the text.
//!
//! Order is kept; a key that is written twice is a problem. What comes out is at most [`DEPTH_MAX`] deep, and what the
//! aliases of a YAML file add to it is limited. It knows nothing of plans.

mod json;
mod schema;
mod text;
mod toml;
mod yaml;

use std::path::Path;

pub use text::{Place, Text};

use crate::problem::Problems;

/// The deepest nesting of lists and maps.
pub const DEPTH_MAX: usize = 64;

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML 1.2, core schema.
    Yaml,
    /// TOML 1.1.
    Toml,
    /// JSON (RFC 8259), without comments and trailing commas.
    Json,
}

impl Format {
    /// The format that a file's extension stands for.
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Format::Yaml),
            "toml" => Some(Format::Toml),
            "json" => Some(Format::Json),
            _ => None,
        }
    }

    /// The format that a text looks like: JSON begins with `{`; the first line of TOML is a `[table]` or `key = value`.
    pub fn of_text(text: &str) -> Format {
        let line =
            text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
        let key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"');
        let assigns = line.split_once('=').is_some_and(|(left, _)| left.trim_end().chars().all(key));
        if line.starts_with('{') {
            Format::Json
        } else if line.starts_with('[') || assigns {
            Format::Toml
        } else {
            Format::Yaml
        }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// From its first to its last character.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number, and how it was written.
    Int(i128, Box<str>),
    /// A number with a fraction or exponent, and how it was written.
    Float(f64, Box<str>),
    /// A text.
    Str(Box<str>),
    /// A list.
    Seq(Vec<Node>),
    /// A map in the order of the text; no key twice.
    Map(Vec<(Key, Node)>),
}

/// A key and where it stands.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key.
    pub text: Box<str>,
    /// Where it stands.
    pub place: Place,
}

impl Node {
    /// What it is, in words, for messages.
    pub fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Int(..) | Kind::Float(..) => "a number",
            Kind::Str(_) => "a text",
            Kind::Seq(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// The text of a scalar, as it was written.
    pub fn scalar(&self) -> Option<&str> {
        match &self.kind {
            Kind::Str(text) | Kind::Int(_, text) | Kind::Float(_, text) => Some(text),
            Kind::Bool(true) => Some("true"),
            Kind::Bool(false) => Some("false"),
            Kind::Null | Kind::Seq(_) | Kind::Map(_) => None,
        }
    }

    /// The items of a list; a single value is a list of one, nothing an empty one.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::Seq(items) => items,
            Kind::Null => &[],
            _ => std::slice::from_ref(self),
        }
    }

    /// The value under a key of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|(k, _)| &*k.text == key).map(|(_, node)| node),
            _ => None,
        }
    }
}

/// Reads a text into a tree. `None` if it is so broken that nothing can be said about its content.
pub fn parse(text: &Text, format: Format, problems: &Problems) -> Option<Node> {
    if text.as_str().trim().is_empty() {
        nothing(problems);
        return None;
    }
    let root = match format {
        Format::Yaml => yaml::parse(text, problems),
        Format::Toml => toml::parse(text, problems),
        Format::Json => json::parse(text, problems),
    };
    if root.is_none() && !problems.any_error() {
        nothing(problems); // nothing but comments
    }
    root
}

fn nothing(problems: &Problems) {
    problems.error(Place::START, "there is nothing in the file").hint("a plan needs at least `workflows`");
}

/// Appends an entry, or says that the key was there before.
fn push_entry(entries: &mut Vec<(Key, Node)>, key: Key, node: Node, seen: &mut Seen, problems: &Problems) {
    if seen.insert(&key.text) {
        entries.push((key, node));
    } else {
        problems.error(key.place, format!("the key `{}` is written twice in the same map", key.text));
    }
}

/// The keys of a map so far.
#[derive(Debug, Default)]
struct Seen(std::collections::HashSet<Box<str>>);

impl Seen {
    /// Whether the key is new.
    fn insert(&mut self, key: &str) -> bool {
        self.0.insert(key.into())
    }
}

fn too_deep(place: Place, problems: &Problems) {
    problems.error(place, format!("lists and maps are nested more than {DEPTH_MAX} deep"));
}
