//! Names of workflows, steps, variables, data and metrics.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A name that matches `[A-Za-z][A-Za-z0-9_-]*` and is at most [`Name::LEN_MAX`] bytes long.
/// Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing was written.
    #[error("a name is empty")]
    Empty,
    /// It does not begin with a letter or has a character outside `[A-Za-z0-9_-]`.
    #[error("`{0}` is not a name; use a letter, then letters, digits, `_` or `-`")]
    BadCharacter(String),
    /// Longer than [`Name::LEN_MAX`].
    #[error("a name of {0} characters is too long; at most 128 are allowed")]
    TooLong(usize),
}

impl Name {
    /// The longest name, in bytes.
    pub const LEN_MAX: usize = 128;

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JsonSchema for Name {
    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A letter, then letters, digits, `_` or `-`.",
            "type": "string",
            "pattern": "^[A-Za-z][A-Za-z0-9_-]*$",
            "maxLength": Self::LEN_MAX,
        })
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let mut chars = text.chars();
        let first = chars.next().ok_or(NameError::Empty)?;
        if !first.is_ascii_alphabetic() || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return Err(NameError::BadCharacter(text.to_owned()));
        }
        if text.len() > Self::LEN_MAX {
            return Err(NameError::TooLong(text.len()));
        }
        Ok(Name(text.into()))
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.as_str().to_owned()
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_a_letter() {
        assert!("login".parse::<Name>().is_ok());
        assert!("A-b_9".parse::<Name>().is_ok());
        assert_eq!("".parse::<Name>(), Err(NameError::Empty));
        for bad in ["9lives", "_x", "a b", "a.b", "ä"] {
            assert_eq!(bad.parse::<Name>(), Err(NameError::BadCharacter(bad.into())));
        }
        assert_eq!("x".repeat(129).parse::<Name>(), Err(NameError::TooLong(129)));
    }
}
