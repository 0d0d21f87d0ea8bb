//! JSON lines: one object per line.

use minijinja::Value;

use super::error::{Fault, Problem};
use super::lines::lines;
use super::{Index, ROW_BYTES_MAX};

/// Checks every line and notes where rows are.
pub(super) fn scan(bytes: &[u8]) -> Result<Index, Fault> {
    let mut index = Index::default();
    for (offset, line) in lines(bytes) {
        check(line).map_err(|problem| Fault::at(offset, problem))?;
        index.push(offset);
    }
    Ok(index)
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
