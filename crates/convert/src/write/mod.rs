//! Documents as text that people like to read and edit: YAML, TOML or JSON. What is written reads back as the same
//! document; the order of keys that mean something by their order (workflows, steps) is kept.

#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use hyperscale_plan::document::Format;
use serde_json::Value;

/// Width up to which lists and small maps stay on one line.
const LINE_CHARS_MAX: usize = 100;

/// Why a document cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// TOML has no word for nothing.
    #[error("TOML cannot say that `{0}` is null")]
    Null(String),
    /// The document is not a map.
    #[error("a plan is a map")]
    NotAMap,
}

/// Writes a document under a comment, if the format has comments.
pub fn document(plan: &Value, format: Format, comment: &str) -> Result<String, WriteError> {
    let root = plan.as_object().ok_or(WriteError::NotAMap)?;
    match format {
        Format::Json => Ok(format!("{plan:#}\n")),
        Format::Yaml => Ok(commented(comment, &yaml::write(root))),
        Format::Toml => Ok(commented(comment, &toml::write(root)?)),
    }
}

fn commented(comment: &str, text: &str) -> String {
    let lines: String =
        comment.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect();
    lines + text
}

/// A text in double quotes: JSON's escapes are understood by YAML and TOML too. What they do not allow as it is
/// (controls, line separators) is escaped on top.
fn quoted(text: &str) -> String {
    use std::fmt::Write;
    let json = Value::from(text).to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}
