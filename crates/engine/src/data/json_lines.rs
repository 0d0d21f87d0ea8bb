//! JSON lines: one object per line.

use minijinja::Value;

use super::error::{Fault, Problem};
use super::lines::lines;
use super::{BOM, Index, ROW_BYTES_MAX};

/// Checks every line and notes where rows are.
pub(super) fn scan(bytes: &[u8]) -> Result<Index, Fault> {
    let mut index = Index::default();
    for (offset, line) in rows(bytes) {
        check(line).map_err(|problem| Fault::at(offset, problem))?;
        index.push(offset);
    }
    Ok(index)
}

/// Lines with something in them; a byte order mark in front of the first is nothing.
fn rows(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let skipped = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    lines(&bytes[skipped..])
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(move |(offset, line)| (skipped + offset, line))
}

/// Where the rows of a block begin.
pub(super) fn split(block: &[u8]) -> Box<[u32]> {
    rows(block).map(|(offset, _)| offset as u32).collect()
}

fn check(line: &[u8]) -> Result<(), Problem> {
    if line.len() > ROW_BYTES_MAX {
        return Err(Problem::RowTooLong);
    }
    // Parsed into what a row becomes: skipping over values would let numbers and depths through that fail later.
    let value: Value = serde_json::from_slice(line).map_err(|error| Problem::Json(message(&error)))?;
    match value.kind() {
        minijinja::value::ValueKind::Map => Ok(()),
        _ => Err(Problem::NotAnObject),
    }
}

/// What is wrong, with the column only: the line is the file's.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("{what} at column {}", error.column())
}

/// A row as a value.
pub(super) fn read(line: &[u8]) -> Value {
    serde_json::from_slice(line.trim_ascii()).unwrap_or_default()
}
