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

use bytes::Bytes;
use hyperscale_types::limits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Content, PlanFile, PlanText, RequestId, checked_count, checked_text};
use crate::error::{ErrorCode, RpcError};

/// Files of one plan.
pub const FILES_MAX: usize = 1_000;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::ErrorCode;
    use crate::method::{BlobHash, Method};

    fn submit(params: Value) -> Result<Submit, RpcError> {
        let Value::Object(params) = params else { panic!("not an object") };
        match Method::read("jobs.submit", params)? {
            Method::JobsSubmit(submit) => Ok(*submit),
            other => panic!("{other:?}"),
        }
    }

    fn full() -> Submit {
        let mut full = Submit::new("p.yaml", "workflows: {}");
        full.files.push(PlanFile { path: "f".into(), content: Content::Blobs(vec![BlobHash([1; 32])]) });
        full.environment.insert("HOST".into(), "secret-host".into());
        full.variables.insert("user".into(), "ada".into());
        full.options.insert("timeout".into(), json!("10m"));
        full.datacenters.push("a".into());
        full.idempotency_key = Some("k".parse().unwrap());
        full
    }

    #[test]
    fn submission_is_read_as_it_was_written_and_shows_no_secrets() {
        assert_eq!(submit(json!(full())).unwrap(), full());
        let shown = format!("{:?}", full());
        assert!(!shown.contains("secret-host") && !shown.contains("ada"), "{shown}");
    }

    #[test]
    fn submissions_beyond_their_limits_are_refused() {
        let mut large = Submit::new("p.yaml", vec![b'#'; limits::PLAN_BYTES_MAX as usize + 1]);
        assert!(submit(json!(large)).unwrap_err().is(ErrorCode::TooLarge));
        large = full();
        large.files = vec![large.files[0].clone(); FILES_MAX + 1];
        assert!(submit(json!(large)).unwrap_err().is(ErrorCode::InvalidParams));
        for wrong in [
            json!({}),
            json!({"plan": "text"}),
            json!({"plan": {"name": "", "text": ""}}),
            json!({"plan": {"name": "p", "text": ""}, "options": 7}),
            json!({"plan": {"name": "p", "text": ""}, "idempotency_key": ""}),
            json!({"plan": {"name": "p", "text": ""}, "unknown": 7}),
            json!({"plan": {"name": "p", "text": ""}, "files": [{"path": "", "base64": ""}]}),
        ] {
            assert!(submit(wrong.clone()).unwrap_err().is(ErrorCode::InvalidParams), "{wrong}");
        }
    }
}
