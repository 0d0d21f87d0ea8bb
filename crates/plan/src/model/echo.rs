//! A call of the protocol that exists for tests only.

use crate::template::Template;

/// What comes back.
#[derive(Clone, Debug)]
pub struct Echo {
    /// The body of the response.
    pub text: Template,
}
