//! Texts and files of a submission: in the request, or named by the blobs that hold them.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::checked_count;
use super::request_id::hex;
use crate::error::RpcError;

/// Blobs of one file.
const BLOBS_MAX: usize = 1_024;

/// The plan of a submission.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawPlan", into = "RawPlan")]
pub struct PlanText {
    /// What problems call it; its extension says how it is written.
    pub name: String,
    /// At most 1 MiB.
    pub content: Content,
}

/// A file of a submission.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawFile", into = "RawFile")]
pub struct PlanFile {
    /// As the plan names it.
    pub path: String,
    /// At most 1 GiB.
    pub content: Content,
}

/// Bytes in the request, or the blobs that hold them, in order.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// In the request.
    Inline(Bytes),
    /// Uploaded before.
    Blobs(Vec<BlobHash>),
}

/// SHA-256 of a blob, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobHash(pub [u8; 32]);

/// The text is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a blob is named by 64 hexadecimal digits")]
pub struct BlobHashError;

impl Content {
    pub(super) fn checked(&self) -> Result<(), RpcError> {
        match self {
            Self::Inline(_) => Ok(()),
            Self::Blobs(blobs) => checked_count("blobs", blobs.len(), BLOBS_MAX),
        }
    }
}

/// A plan as JSON: exactly one of `text` and `blobs`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlan {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blobs: Option<Vec<BlobHash>>,
}

/// A file as JSON: exactly one of `base64` and `blobs`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blobs: Option<Vec<BlobHash>>,
}

fn decode(base64: &str) -> Result<Content, String> {
    let bytes = STANDARD.decode(base64).map_err(|error| format!("`base64` is not base64: {error}"))?;
    Ok(Content::Inline(bytes.into()))
}

impl TryFrom<RawPlan> for PlanText {
    type Error = String;
    fn try_from(raw: RawPlan) -> Result<Self, String> {
        let content = match (raw.text, raw.base64, raw.blobs) {
            (Some(text), None, None) => Content::Inline(text.into()),
            (None, Some(base64), None) => decode(&base64)?,
            (None, None, Some(blobs)) => Content::Blobs(blobs),
            _ => return Err("a plan has one of `text`, `base64` and `blobs`".to_owned()),
        };
        Ok(Self { name: raw.name, content })
    }
}

impl From<PlanText> for RawPlan {
    fn from(plan: PlanText) -> Self {
        let mut raw = Self { name: plan.name, text: None, base64: None, blobs: None };
        match plan.content {
            Content::Inline(bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => raw.text = Some(text.to_owned()),
                // The server says what is wrong with it, and where.
                Err(_) => raw.base64 = Some(STANDARD.encode(&bytes)),
            },
            Content::Blobs(blobs) => raw.blobs = Some(blobs),
        }
        raw
    }
}

impl TryFrom<RawFile> for PlanFile {
    type Error = String;
    fn try_from(raw: RawFile) -> Result<Self, String> {
        let content = match (raw.base64, raw.blobs) {
            (Some(base64), None) => decode(&base64)?,
            (None, Some(blobs)) => Content::Blobs(blobs),
            _ => return Err("a file has one of `base64` and `blobs`".to_owned()),
        };
        Ok(Self { path: raw.path, content })
    }
}

impl From<PlanFile> for RawFile {
    fn from(file: PlanFile) -> Self {
        match file.content {
            Content::Inline(bytes) => {
                Self { path: file.path, base64: Some(STANDARD.encode(&bytes)), blobs: None }
            }
            Content::Blobs(blobs) => Self { path: file.path, base64: None, blobs: Some(blobs) },
        }
    }
}

impl FromStr for BlobHash {
    type Err = BlobHashError;
    fn from_str(text: &str) -> Result<Self, BlobHashError> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(BlobHashError);
        }
        let mut hash = [0; 32];
        for (at, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| BlobHashError)?;
        }
        Ok(Self(hash))
    }
}

impl TryFrom<String> for BlobHash {
    type Error = BlobHashError;
    fn try_from(text: String) -> Result<Self, BlobHashError> {
        text.parse()
    }
}

impl From<BlobHash> for String {
    fn from(hash: BlobHash) -> Self {
        hash.to_string()
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobHash({self})")
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Blobs(blobs) => write!(f, "{} blobs", blobs.len()),
        }
    }
}

impl fmt::Debug for PlanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.content)
    }
}

impl fmt::Debug for PlanFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.path, self.content)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn file(value: Value) -> Result<PlanFile, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn contents_are_read_as_they_were_written() {
        let hash = BlobHash([0xab; 32]);
        for content in
            [Content::Inline("ä".into()), Content::Inline(vec![0xff, 0].into()), Content::Blobs(vec![hash])]
        {
            let plan = PlanText { name: "p.yaml".into(), content: content.clone() };
            assert_eq!(serde_json::from_value::<PlanText>(json!(plan)).unwrap(), plan);
            let one = PlanFile { path: "f".into(), content };
            assert_eq!(file(json!(one)).unwrap(), one);
        }
    }

    #[test]
    fn exactly_one_kind_of_content_is_given() {
        assert!(file(json!({"path": "f"})).is_err());
        assert!(file(json!({"path": "f", "base64": "", "blobs": []})).is_err());
        assert!(file(json!({"path": "f", "base64": "%"})).is_err());
        assert!(file(json!({"path": "f", "text": "x"})).is_err());
        assert!(serde_json::from_value::<PlanText>(json!({"name": "p", "text": "", "base64": ""})).is_err());
    }

    #[test]
    fn hashes_are_64_digits() {
        let text = "ab".repeat(32);
        assert_eq!(text.parse(), Ok(BlobHash([0xab; 32])));
        assert_eq!(BlobHash([0xab; 32]).to_string(), text);
        for wrong in ["", "ab", &"zz".repeat(32), &"+1".repeat(32), &"ä".repeat(32)] {
            assert_eq!(wrong.parse::<BlobHash>(), Err(BlobHashError), "{wrong}");
        }
    }
}
