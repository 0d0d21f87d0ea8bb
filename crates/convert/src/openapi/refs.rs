//! `$ref` within the document. A chain of references ends; references to other documents are said and left out.

use serde_json::Value;

use crate::plan::Draft;
use crate::text::percent_decoded;

/// References that lead to references.
const CHAIN_MAX: usize = 16;

/// Finds what references point to.
pub(super) struct Refs<'d> {
    root: &'d Value,
}

impl<'d> Refs<'d> {
    pub(super) fn new(root: &'d Value) -> Self {
        Self { root }
    }

    /// The value itself, or what it refers to; `None` with a note if that cannot be found.
    pub(super) fn resolve(&self, value: &'d Value, place: &str, draft: &mut Draft) -> Option<&'d Value> {
        let mut value = value;
        for _ in 0..CHAIN_MAX {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Some(value) };
            let Some(pointer) = reference.strip_prefix('#') else {
                draft.note(place, format!("`{reference}` is in another document and left out"));
                return None;
            };
            let Some(found) = self.root.pointer(&percent_decoded(pointer, false)) else {
                draft.note(place, format!("`{reference}` is not in the document"));
                return None;
            };
            value = found;
        }
        draft.note(place, "a chain of references does not end");
        None
    }
}
