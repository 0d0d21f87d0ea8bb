//! YAML in block style; lists of scalars and small maps in one line.

use serde_json::{Map, Value};

use super::{LINE_CHARS_MAX, quoted};

/// Keys whose maps are always written out, however small: people will add to them.
const ALWAYS_BLOCK: [&str; 5] = ["vars", "data", "workflows", "steps", "defaults"];
/// Words that other readers of YAML take for something else than text.
const WORDS: [&str; 11] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"];

pub(super) fn write(root: &Map<String, Value>) -> String {
    let mut out = String::new();
    for (at, (key, value)) in root.iter().enumerate() {
        if at > 0 && (value.is_object() || value.is_array()) {
            out.push('\n');
        }
        entry(key, value, 0, &mut out);
    }
    if root.is_empty() {
        out.push_str("{}\n");
    }
    out
}

fn entry(key: &str, value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    out.push_str(&pad);
    out.push_str(&scalar_text(key));
    out.push(':');
    nested(key, value, indent, out);
}

/// What stands behind `key:` or `-`.
fn nested(key: &str, value: &Value, indent: usize, out: &mut String) {
    let room = LINE_CHARS_MAX.saturating_sub(indent + key.len());
    match value {
        Value::Object(map) if !map.is_empty() && !fits(key, value, room) => {
            out.push('\n');
            for (key, value) in map {
                entry(key, value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() && !fits(key, value, room) => {
            out.push('\n');
            for item in items {
                listed(item, indent + 2, out);
            }
        }
        Value::String(text) if is_block(text) => block(text, indent + 2, out),
        other => {
            out.push(' ');
            out.push_str(&flow(other));
            out.push('\n');
        }
    }
}

/// An item of a list in block style. A map begins beside the dash.
fn listed(item: &Value, indent: usize, out: &mut String) {
    out.push_str(&" ".repeat(indent));
    out.push('-');
    match item {
        Value::Object(map) if !map.is_empty() && !fits("", item, LINE_CHARS_MAX.saturating_sub(indent)) => {
            let mut inner = String::new();
            for (key, value) in map {
                entry(key, value, indent + 2, &mut inner);
            }
            out.push(' ');
            out.push_str(inner.trim_start_matches(' '));
        }
        other => nested("", other, indent, out),
    }
}

/// Whether a value may stand on one line: flat, and short enough.
fn fits(key: &str, value: &Value, room: usize) -> bool {
    let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
    let is_flat = match value {
        Value::Object(map) => {
            !ALWAYS_BLOCK.contains(&key)
                && map.values().all(|value| {
                    is_scalar(value) || value.as_array().is_some_and(|list| list.iter().all(is_scalar))
                })
        }
        Value::Array(items) => items.iter().all(is_scalar),
        _ => true,
    };
    is_flat && flow(value).chars().count() <= room
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar_text(text),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => format!("[ {} ]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}: {}", scalar_text(key), flow(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn scalar_text(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether a text can stand without quotes, in block and flow style alike.
fn is_plain(text: &str) -> bool {
    let allowed = |c: char| {
        c.is_ascii_alphanumeric()
            || "_-./:@+=~$%?&;()*! <>^|\\'".contains(c)
            || (!c.is_ascii() && c.is_alphanumeric())
    };
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') || is_quantity(text);
    begins
        && text.chars().all(allowed)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// `30s`, `1h30m`, `200/s`, `5%`: begins with a digit and is no number.
fn is_quantity(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < text.len()
        && (["ms", "s", "m", "h", "/s", "/m", "%"].contains(&unit)
            || (unit.starts_with(['h', 'm']) && is_quantity(&unit[1..])))
}

/// Whether a text is more readable as a block: several lines, each as it stands.
fn is_block(text: &str) -> bool {
    let clean = |line: &str| {
        !line.ends_with([' ', '\t'])
            && line.chars().all(|c| {
                !c.is_control()
                    && c != '\u{feff}'
                    && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
            })
    };
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.ends_with('\n')
        && !text.starts_with([' ', '\n'])
        && body.split('\n').all(clean)
}

fn block(text: &str, indent: usize, out: &mut String) {
    out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}
