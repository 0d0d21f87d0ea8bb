//! The id by which a server recognises a request that is repeated.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::{digest, rand};
use serde::{Deserialize, Serialize};

/// Bytes of an id, the limit of idempotency keys in the log.
const BYTES_MAX: usize = 256;

/// A text that names one request: repeating it under the same id never carries it out twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestId(String);

/// The text is empty, too long, or has control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key or request id has 1 to {BYTES_MAX} bytes and no control characters")]
pub struct RequestIdError;

impl RequestId {
    /// A fresh one from the operating system's randomness.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        rand::fill(&mut bytes).expect("the system has randomness");
        Self(hex(&bytes))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Sixteen bytes that stand for it where ids have a fixed size: the beginning of its SHA-256.
    pub fn digest(&self) -> [u8; 16] {
        let digest = digest::digest(&digest::SHA256, self.0.as_bytes());
        digest.as_ref()[..16].try_into().expect("SHA-256 has 32 bytes")
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0'));
    bytes.iter().flat_map(digits).collect()
}

impl FromStr for RequestId {
    type Err = RequestIdError;
    fn from_str(text: &str) -> Result<Self, RequestIdError> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for RequestId {
    type Error = RequestIdError;
    fn try_from(text: String) -> Result<Self, RequestIdError> {
        let fits = (1..=BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control);
        if fits { Ok(Self(text)) } else { Err(RequestIdError) }
    }
}

impl From<RequestId> for String {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_differ_and_digests_are_fixed() {
        let (one, other) = (RequestId::random(), RequestId::random());
        assert_ne!(one, other);
        assert_eq!(one.as_str().len(), 32);
        let known: RequestId = "abc".parse().unwrap();
        assert_eq!(hex(&known.digest()), "ba7816bf8f01cfea414140de5dae2223");
    }

    #[test]
    fn empty_overlong_and_control_texts_are_refused() {
        for text in [String::new(), "x".repeat(BYTES_MAX + 1), "a\nb".to_owned()] {
            assert_eq!(RequestId::try_from(text), Err(RequestIdError));
        }
    }
}
