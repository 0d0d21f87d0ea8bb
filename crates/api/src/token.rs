//! The bearer token of the API.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::constant_time::verify_slices_are_equal;

/// Bytes of a token at most.
const BYTES_MAX: usize = 512;

/// A secret that a client has to know. Compared in constant time, never shown.
#[derive(Clone)]
pub struct ApiToken(String);

/// Why a text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiTokenError {
    /// Empty, or too long for a header.
    #[error("an API token has 1 to {BYTES_MAX} characters, this one has {0}")]
    Length(usize),
    /// Characters that do not fit into a header.
    #[error("an API token has only visible ASCII characters and no spaces")]
    Characters,
}

impl ApiToken {
    /// Whether a client has named this token. Takes equally long for every text of one length.
    pub fn matches(&self, text: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), text.as_bytes()).is_ok()
    }

    /// The value of the `authorization` header.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl FromStr for ApiToken {
    type Err = ApiTokenError;
    fn from_str(text: &str) -> Result<Self, ApiTokenError> {
        if !(1..=BYTES_MAX).contains(&text.len()) {
            return Err(ApiTokenError::Length(text.len()));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ApiTokenError::Characters);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiToken(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_matches_itself_only_and_is_never_shown() {
        let token: ApiToken = "0123456789abcdef".parse().unwrap();
        assert!(token.matches("0123456789abcdef"));
        for other in ["", "0123456789abcdeF", "0123456789abcdef0", "0123456789abcde"] {
            assert!(!token.matches(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "ApiToken(***)");
    }

    #[test]
    fn empty_long_and_unprintable_tokens_are_refused() {
        assert_eq!("".parse::<ApiToken>().unwrap_err(), ApiTokenError::Length(0));
        assert_eq!("x".repeat(513).parse::<ApiToken>().unwrap_err(), ApiTokenError::Length(513));
        for text in ["0123456789 abcdef", "0123456789\nabcdef", "0123456789abcdeä"] {
            assert_eq!(text.parse::<ApiToken>().unwrap_err(), ApiTokenError::Characters);
        }
    }
}
