//! The result as JSON, written and read back.

use hyperscale_stats::result::{RunResult, VERSION};

/// Why bytes are not a result that can be shown.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or JSON of another shape.
    #[error("this is not a result of a run: {0}")]
    Shape(#[from] serde_json::Error),
    /// Written by a newer program.
    #[error("the result has version {found}; this program reads version {VERSION}")]
    Version {
        /// What the file says.
        found: u64,
    },
}

/// The result as one line, or indented for people.
pub fn to_json(result: &RunResult, pretty: bool) -> String {
    let text = if pretty { serde_json::to_string_pretty(result) } else { serde_json::to_string(result) };
    text.expect("a result has only string keys and finite numbers become null at worst")
}

/// Reads a result back.
pub fn read_result(bytes: &[u8]) -> Result<RunResult, ReadError> {
    let value: serde_json::Value = serde_json::from_slice(bytes)?;
    // The version is looked at first: another shape is no surprise in another version.
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(found) if found != u64::from(VERSION) => Err(ReadError::Version { found }),
        _ => Ok(serde_json::from_value(value)?),
    }
}
