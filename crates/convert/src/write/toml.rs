//! TOML: tables for what people edit (workflows, steps), inline tables for what belongs to one request.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{LINE_CHARS_MAX, WriteError, quoted};

/// Keys whose content stays inline: its order means something, or it is data and no structure.
const INLINE: [&str; 6] = ["json", "form", "query", "multipart", "check", "extract"];

pub(super) fn write(root: &Map<String, Value>) -> Result<String, WriteError> {
    let mut out = String::new();
    table(root, &mut Vec::new(), &mut out)?;
    Ok(out.trim_start().to_owned())
}

/// Entries that stand in the table itself, then its tables: TOML knows no way back from a table.
fn table(map: &Map<String, Value>, path: &mut Vec<String>, out: &mut String) -> Result<(), WriteError> {
    let splits = splits(map);
    for (key, value) in map.iter().filter(|(key, value)| !is_table(splits, key, value)) {
        path.push(bare(key));
        let written = inline(value, path, LINE_CHARS_MAX)?;
        path.pop();
        let _ = writeln!(out, "{} = {written}", bare(key));
    }
    for (key, value) in map.iter().filter(|(key, value)| is_table(splits, key, value)) {
        let Value::Object(inner) = value else { continue };
        path.push(bare(key));
        // A table that has nothing but tables needs no head of its own.
        let inner_splits = self::splits(inner);
        if inner.is_empty() || !inner.iter().all(|(key, value)| is_table(inner_splits, key, value)) {
            let _ = writeln!(out, "\n[{}]", path.join("."));
        }
        table(inner, path, out)?;
        path.pop();
    }
    Ok(())
}

/// Whether the maps of a map become tables: if one of them has to, all of them do, so that order is kept.
fn splits(map: &Map<String, Value>) -> bool {
    map.iter().any(|(key, value)| wants_table(key, value))
}

fn is_table(splits: bool, key: &str, value: &Value) -> bool {
    splits && value.is_object() && !INLINE.contains(&key)
}

/// Whether a map is too deep or too long for one line.
fn wants_table(key: &str, value: &Value) -> bool {
    const STRUCTURE: [&str; 4] = ["workflows", "steps", "vars", "data"];
    let Value::Object(map) = value else { return false };
    if INLINE.contains(&key) || map.is_empty() {
        return false;
    }
    let is_long =
        || inline(value, &mut Vec::new(), usize::MAX).is_ok_and(|text| text.chars().count() > LINE_CHARS_MAX);
    STRUCTURE.contains(&key) || map.iter().any(|(key, value)| wants_table(key, value)) || is_long()
}

fn inline(value: &Value, path: &mut Vec<String>, room: usize) -> Result<String, WriteError> {
    match value {
        Value::Null => Err(WriteError::Null(path.join("."))),
        Value::String(text) => Ok(quoted(text)),
        Value::Array(items) => {
            let items = items.iter().map(|item| inline(item, path, room)).collect::<Result<Vec<_>, _>>()?;
            let line = format!("[{}]", items.join(", "));
            let breaks = line.chars().count() > room && !items.is_empty();
            Ok(if breaks { format!("[\n  {},\n]", items.join(",\n  ")) } else { line })
        }
        Value::Object(map) if map.is_empty() => Ok("{}".to_owned()),
        Value::Object(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for (key, value) in map {
                path.push(bare(key));
                entries.push(format!("{} = {}", bare(key), inline(value, path, usize::MAX)?));
                path.pop();
            }
            Ok(format!("{{ {} }}", entries.join(", ")))
        }
        other => Ok(other.to_string()),
    }
}

/// A key, in quotes where it needs them.
fn bare(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { key.to_owned() } else { quoted(key) }
}
