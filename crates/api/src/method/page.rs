//! Which part of a list is wanted.

use serde::{Deserialize, Serialize};

use super::{checked_text, invalid};
use crate::error::RpcError;

/// Entries of a list unless the request says otherwise.
const LIMIT_DEFAULT: u32 = 100;
/// Entries of a list at most.
const LIMIT_MAX: u32 = 1_000;
/// Bytes of a cursor.
const CURSOR_MAX: usize = 256;

/// Which part of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Page {
    /// Entries at most, 1 to 1 000.
    pub limit: u32,
    /// `next` of the page before; the first page if absent.
    #[serde(skip_serializing_if = "Option::is_none", alias = "next")]
    pub after: Option<String>,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: LIMIT_DEFAULT, after: None }
    }
}

impl Page {
    pub(super) fn checked(self) -> Result<Self, RpcError> {
        if !(1..=LIMIT_MAX).contains(&self.limit) {
            return Err(invalid(format!("`limit` must be 1 to {LIMIT_MAX}")));
        }
        if let Some(after) = &self.after {
            checked_text("after", after, 1, CURSOR_MAX)?;
        }
        Ok(self)
    }
}
