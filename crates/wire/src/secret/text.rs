//! The text of a secret: what it is meant to be, and whether everybody knows it.

use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine};
use zeroize::Zeroizing;

use super::SecretError;

/// What everybody tries first, in lower case. A secret made of repetitions of one of them is refused as well.
const WELL_KNOWN: &[&str] = &[
    "password",
    "passw0rd",
    "passphrase",
    "secret",
    "changeme",
    "changeit",
    "letmein",
    "welcome",
    "admin",
    "administrator",
    "default",
    "hyperscale",
    "hyperscale-secret",
    "example",
    "test",
    "testing",
    "development",
    "qwerty",
    "qwertyuiop",
    "iloveyou",
    "correct horse battery staple",
    "correcthorsebatterystaple",
    "correct-horse-battery-staple",
    "supersecret",
    "topsecret",
    "mysecret",
    "your-secret-here",
    "replace-me",
    "thisisasecret",
    "abcdefghijklmnopqrstuvwxyz",
    "1234567890",
    "0123456789abcdef",
    "deadbeef",
];

const TOLERANT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, TOLERANT);
pub(super) const BASE64_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, TOLERANT);

/// What a text is meant to be.
pub(super) enum Written<'a> {
    Key(Zeroizing<Vec<u8>>),
    Passphrase(&'a str),
}

pub(super) fn classify(text: &str) -> Result<Written<'_>, SecretError> {
    if let Some(digits) = text.strip_prefix("hex:") {
        return decode_hex(digits).map(Written::Key).ok_or(SecretError::NotEncoded("hexadecimal digits"));
    }
    if let Some(letters) = text.strip_prefix("base64:") {
        return decode_base64(letters).map(Written::Key).ok_or(SecretError::NotEncoded("base64"));
    }
    if let Some(phrase) = text.strip_prefix("passphrase:") {
        return Ok(Written::Passphrase(phrase));
    }
    if let Some(bytes) = decode_hex(text) {
        return Ok(Written::Key(bytes));
    }
    match decode_base64(text) {
        Some(bytes) if text.ends_with('=') => Ok(Written::Key(bytes)),
        _ => Ok(Written::Passphrase(text)),
    }
}

// Both decoders fill a buffer that is large enough from the start and wiped whatever happens: one that grows, or one of
// a decoding that failed half-way, would leave bytes of the key in freed memory.

pub(super) fn decode_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = Zeroizing::new(Vec::with_capacity(pairs.len()));
    for pair in pairs {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        bytes.push((high? << 4 | low?) as u8);
    }
    Some(bytes)
}

pub(super) fn decode_base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    [BASE64, BASE64_URL].iter().find_map(|alphabet| {
        let mut bytes = Zeroizing::new(vec![0; base64::decoded_len_estimate(text.len())]);
        let length = alphabet.decode_slice(text, &mut bytes).ok()?;
        bytes.truncate(length);
        Some(bytes)
    })
}

/// Refuses what everybody tries first, whatever prefix it has.
pub(super) fn refuse_well_known(text: &str) -> Result<(), SecretError> {
    let text = ["hex:", "base64:", "passphrase:"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    let lower = Zeroizing::new(text.to_lowercase());
    let is = |known: &&str| {
        lower.split(*known).all(|rest| rest.chars().all(|c| c.is_ascii_digit() || "-_ !.".contains(c)))
    };
    let only_known = WELL_KNOWN.iter().any(|known| lower.contains(known) && is(known));
    if only_known { Err(SecretError::WellKnown) } else { Ok(()) }
}
