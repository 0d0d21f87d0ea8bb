//! The shared secret: how it is read, when it is refused, how it is kept from being seen.
//!
//! A secret is 32 bytes or more, written in hexadecimal digits or base64, or a passphrase, which is stretched with
//! Argon2id (salted with the cluster's name, so that all nodes of a cluster get the same key). What a text is meant to be
//! follows from how it looks; a prefix `hex:`, `base64:` or `passphrase:` says it instead. Words can look like base64
//! (letters and digits are enough), so base64 is a key only with its prefix or its padding; anything else is stretched,
//! which is the safe side and costs a random key nothing but the time.

#[cfg(test)]
mod tests;
mod text;

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::{constant_time, digest, hkdf, hmac};
use zeroize::Zeroizing;

use self::text::{Written, classify, refuse_well_known};
use crate::entropy::Entropy;

/// Bytes of randomness that a secret must have.
pub const SECRET_BYTES_MIN: usize = 32;
/// Characters of a passphrase.
pub const PASSPHRASE_CHARS_MIN: usize = 16;
/// Different characters of a passphrase.
pub const PASSPHRASE_DISTINCT_MIN: usize = 8;
/// Bytes of the text of a secret.
pub const SECRET_TEXT_MAX: usize = 4_096;

/// RFC 9106, second recommended option (64 MiB, three passes), on one lane.
const ARGON2_MEMORY_KIB: u32 = 64 << 10;
const ARGON2_PASSES: u32 = 3;

const DEVELOPMENT: &[u8] = b"hyperscale development secret: on loopback only, known to everybody";

/// Why a text is not taken as a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing was given.
    #[error("the secret is empty; make one with `hyperscale secret`")]
    Empty,
    /// Fewer bytes than needed.
    #[error("a secret of {0} bytes is too short, at least 32 are needed; make one with `hyperscale secret`")]
    TooShort(usize),
    /// A passphrase with too few characters.
    #[error(
        "a passphrase of {0} characters is too short, at least 16 are needed; make a secret with `hyperscale secret`"
    )]
    PassphraseTooShort(usize),
    /// A passphrase or key that repeats itself.
    #[error("the secret repeats itself; make one with `hyperscale secret`")]
    Repetitive,
    /// One that everybody knows.
    #[error("the secret is a well-known one; make one with `hyperscale secret`")]
    WellKnown,
    /// Digits that do not decode after a prefix that promised it.
    #[error("the secret is not the {0} its prefix says")]
    NotEncoded(&'static str),
    /// Longer than any secret needs to be.
    #[error("the secret is longer than 4096 bytes")]
    TooLong,
    /// Argon2id failed, which means that its memory could not be had.
    #[error("the passphrase could not be stretched")]
    Stretch,
}

/// A key that all nodes of a cluster share. Wiped when dropped, never shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<[u8; 32]>);

impl PartialEq for Secret {
    /// Takes the same time wherever two keys differ.
    fn eq(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(&*self.0, &*other.0).is_ok()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The secrets of a node: the one it uses and, while keys rotate, the one it still (or already) accepts.
#[derive(Clone, Debug)]
pub struct Secrets {
    /// Used for what we begin.
    pub current: Secret,
    /// Accepted too; every use is counted.
    pub previous: Option<Secret>,
}

/// Which of the two secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretChoice {
    /// `HYPERSCALE_AUTH_SECRET`.
    Current,
    /// `HYPERSCALE_AUTH_SECRET_PREVIOUS`.
    Previous,
}

impl Secrets {
    /// The chosen secret, if there is one.
    pub fn get(&self, choice: SecretChoice) -> Option<&Secret> {
        match choice {
            SecretChoice::Current => Some(&self.current),
            SecretChoice::Previous => self.previous.as_ref(),
        }
    }

    /// Both, the current one first.
    pub fn iter(&self) -> impl Iterator<Item = (SecretChoice, &Secret)> {
        let previous = self.previous.iter().map(|secret| (SecretChoice::Previous, secret));
        std::iter::once((SecretChoice::Current, &self.current)).chain(previous)
    }
}

impl Secret {
    /// Keying material that both ends of a TLS connection exported (RFC 5705).
    pub fn exported(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Reads a secret as a person wrote it. `cluster` salts passphrases.
    pub fn parse(text: &str, cluster: &str) -> Result<Self, SecretError> {
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(SecretError::Empty);
        }
        if text.len() > SECRET_TEXT_MAX {
            return Err(SecretError::TooLong);
        }
        refuse_well_known(text)?;
        match classify(text)? {
            Written::Key(bytes) => Self::from_key(&bytes),
            Written::Passphrase(phrase) => Self::stretch(phrase, cluster),
        }
    }

    /// The secret that is used on loopback when none is given. Everybody knows it.
    pub fn development() -> Self {
        Self::extract(DEVELOPMENT)
    }

    /// Whether it is the one that everybody knows.
    pub fn is_development(&self) -> bool {
        *self == Self::development()
    }

    fn from_key(bytes: &[u8]) -> Result<Self, SecretError> {
        if bytes.len() < SECRET_BYTES_MIN {
            return Err(SecretError::TooShort(bytes.len()));
        }
        let counts = bytes.windows(3).all(|run| run[1].wrapping_sub(run[0]) == run[2].wrapping_sub(run[1]));
        if repeats(bytes) || counts {
            return Err(SecretError::Repetitive);
        }
        if bytes == DEVELOPMENT {
            return Err(SecretError::WellKnown);
        }
        Ok(Self::extract(bytes))
    }

    fn stretch(phrase: &str, cluster: &str) -> Result<Self, SecretError> {
        let chars = phrase.chars().count();
        if chars < PASSPHRASE_CHARS_MIN {
            return Err(SecretError::PassphraseTooShort(chars));
        }
        let distinct = phrase.char_indices().filter(|(at, char)| !phrase[..*at].contains(*char)).count();
        if distinct < PASSPHRASE_DISTINCT_MIN || repeats(phrase.as_bytes()) {
            return Err(SecretError::Repetitive);
        }
        if phrase.as_bytes() == DEVELOPMENT {
            return Err(SecretError::WellKnown);
        }
        let salt = digest::digest(&digest::SHA256, format!("hyperscale passphrase\0{cluster}").as_bytes());
        let params =
            Params::new(ARGON2_MEMORY_KIB, ARGON2_PASSES, 1, Some(32)).map_err(|_| SecretError::Stretch)?;
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(phrase.as_bytes(), salt.as_ref(), &mut *key)
            .map_err(|_| SecretError::Stretch)?;
        Ok(Self(key))
    }

    /// HKDF-Extract: whatever its length, 32 bytes come out.
    fn extract(bytes: &[u8]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"hyperscale secret v1");
        let mut key_bytes = Zeroizing::new([0; 32]);
        key_bytes.copy_from_slice(hmac::sign(&key, bytes).as_ref());
        Self(key_bytes)
    }

    /// A key for one purpose, derived with HKDF. The parts are written with their lengths, so that no two lists of parts
    /// mean the same.
    pub(crate) fn derive(&self, purpose: &str, parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
        let mut info = Vec::new();
        for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
            info.extend_from_slice(&(part.len() as u32).to_be_bytes());
            info.extend_from_slice(part);
        }
        let mut key = Zeroizing::new([0; 32]);
        hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &*self.0)
            .expand(&[&info], hkdf::HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut *key))
            .expect("32 bytes are one block of HKDF-SHA256");
        key
    }
}

/// A fresh secret, as `hyperscale secret` prints it.
pub fn make_secret(entropy: &mut dyn Entropy) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new([0; SECRET_BYTES_MIN]);
    entropy.fill(&mut *bytes);
    let mut text = Zeroizing::new(String::with_capacity(2 * SECRET_BYTES_MIN));
    for byte in bytes.iter() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).expect("a nibble is a hexadecimal digit"));
        }
    }
    text
}

/// Whether the whole is a repetition of at most half of it.
fn repeats(bytes: &[u8]) -> bool {
    (1..=bytes.len() / 2).any(|period| bytes.iter().zip(&bytes[period..]).all(|(a, b)| a == b))
}
