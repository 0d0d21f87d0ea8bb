//! Why something cannot be imported at all. What only cannot be imported in part is a note.

use hyperscale_types::limits::PLAN_BYTES_MAX;

use crate::read::ReadError;
use crate::{INPUT_BYTES_MAX, Origin, REQUESTS_MAX};

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// More than [`INPUT_BYTES_MAX`].
    #[error("it has {0} bytes; at most {INPUT_BYTES_MAX} are read")]
    TooLarge(u64),
    /// Not UTF-8.
    #[error("it is not UTF-8 text: byte {0} does not begin or continue a character")]
    NotText(usize),
    /// Broken syntax.
    #[error(transparent)]
    Syntax(#[from] ReadError),
    /// Nothing that is known.
    #[error("it looks like none of curl, HAR, OpenAPI and Postman")]
    Unknown,
    /// Not what it was said to be.
    #[error("it looks like {seen} and not like {wanted}")]
    Other {
        /// What was said.
        wanted: Origin,
        /// What it is.
        seen: Origin,
    },
    /// Known, but not this version of it.
    #[error("{0} is not supported")]
    Version(String),
    /// A part that must be there is not, or is something else.
    #[error("`{0}` is missing or is something else than it should be")]
    Missing(&'static str),
    /// A quote that is never closed, and similar.
    #[error("{0}")]
    Shell(String),
    /// There is nothing to send in it.
    #[error("there is no request in it{0}")]
    Empty(String),
    /// More than [`REQUESTS_MAX`].
    #[error("it has more than {REQUESTS_MAX} requests")]
    TooMany,
    /// The plan would be larger than plans may be.
    #[error("the plan would have {0} bytes; a plan has at most {PLAN_BYTES_MAX}")]
    PlanTooLarge(u64),
}
