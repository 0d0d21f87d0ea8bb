//! Parameters of `jobs.submit`: a plan with everything it names.
//!
//! ```json
//! {"plan": {"name": "plan.yaml", "text": "…"},
//!  "files": [{"path": "users.csv", "base64": "…"}, {"path": "big.csv", "blobs": ["<hash>", "<hash>"]}],
//!  "environment": {"HOST": "…"}, "variables": {"user": "ada"}, "options": {"timeout": "10m"},
//!  "datacenters": [], "idempotency_key": "…"}
//! ```
//! What does not fit into a body is uploaded with `PUT /blobs` before, at the same server, and named by its hashes.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyperscale_types::limits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request_id::hex;
use super::{RequestId, checked_text, invalid};
use crate::error::{ErrorCode, RpcError};

/// Files of one plan.
pub const FILES_MAX: usize = 1_000;
/// Blobs of one file.
const BLOBS_MAX: usize = 1_024;
/// Bytes of a plan's name and of a file's path.
const PATH_MAX: usize = 4_096;
/// Environment variables, and variables, of one submission.
const VARIABLES_MAX: usize = 1_000;
/// Datacenters of one submission.
const DATACENTERS_MAX: usize = 1_024;

/// A plan to run. Variables and texts may be secret: `Debug` shows sizes only.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The plan.
    pub plan: PlanText,
    /// Files that the plan names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PlanFile>,
    /// Environment variables that the plan refers to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Variables that replace those of the plan.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Job options; they win over those of the plan.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Exactly these datacenters; for gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datacenters: Vec<String>,
    /// Submitting twice under the same key makes one job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<RequestId>,
}

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

impl Submit {
    /// A submission of a plan that names nothing else.
    pub fn new(name: impl Into<String>, text: impl Into<Bytes>) -> Self {
        Self {
            plan: PlanText { name: name.into(), content: Content::Inline(text.into()) },
            files: Vec::new(),
            environment: BTreeMap::new(),
            variables: BTreeMap::new(),
            options: Map::new(),
            datacenters: Vec::new(),
            idempotency_key: None,
        }
    }

    pub(super) fn checked(self) -> Result<Self, RpcError> {
        checked_text("plan.name", &self.plan.name, 1, PATH_MAX)?;
        match &self.plan.content {
            Content::Inline(text) if text.len() as u64 > limits::PLAN_BYTES_MAX => {
                let message = format!("the plan has more than {} bytes", limits::PLAN_BYTES_MAX);
                return Err(RpcError::new(ErrorCode::TooLarge, message).fix("move data into files"));
            }
            content => content.checked()?,
        }
        checked_count("files", self.files.len(), FILES_MAX)?;
        for file in &self.files {
            checked_text("path", &file.path, 1, PATH_MAX)?;
            file.content.checked()?;
        }
        checked_count("environment", self.environment.len(), VARIABLES_MAX)?;
        checked_count("variables", self.variables.len(), VARIABLES_MAX)?;
        checked_count("datacenters", self.datacenters.len(), DATACENTERS_MAX)?;
        Ok(self)
    }
}

fn checked_count(name: &str, count: usize, max: usize) -> Result<(), RpcError> {
    if count <= max { Ok(()) } else { Err(invalid(format!("`{name}` has at most {max} entries"))) }
}

impl Content {
    fn checked(&self) -> Result<(), RpcError> {
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

impl fmt::Debug for Submit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submit")
            .field("plan", &self.plan)
            .field("files", &self.files)
            .field("environment", &self.environment.len())
            .field("variables", &self.variables.len())
            .field("idempotency_key", &self.idempotency_key)
            .finish_non_exhaustive()
    }
}
