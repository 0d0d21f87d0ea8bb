//! Errors of the API: which one ([`ErrorCode`]), and what travels with it.

mod code;

use std::time::Duration;

use hyperscale_types::Token;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use code::{ErrorCode, Retry};

/// What the details of an error are in A2A 1.0.
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// Why a request got no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The number of an [`ErrorCode`], or of one that this version does not know.
    pub code: i64,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What programs need to know about it; see [`Details`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<Value>>,
}

/// The known members of `data`. Those that do not apply are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// A word for programs.
    pub reason: Option<String>,
    /// What to do about it.
    pub fix: Option<String>,
    /// When the same request may succeed.
    pub retry_after_ms: Option<u64>,
    /// Who leads the job, for `moved`.
    pub leader: Option<Leader>,
    /// What is wrong with the plan, for `plan_invalid`.
    pub problems: Vec<PlanProblem>,
    /// Voters that can be reached, for quorum errors.
    pub reachable: Option<u32>,
    /// Voters that are needed, for quorum errors.
    pub needed: Option<u32>,
}

/// The node that leads a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// Its id.
    pub node: String,
    /// Where its API listens, `host:port`; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// Its token for the job.
    pub token: Token,
}

/// Something wrong with a plan, at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanProblem {
    /// `error` or `warning`.
    pub severity: String,
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 if it is not about a line.
    pub line: usize,
    /// The column in characters, from 1; 0 if it is not about a line.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

impl RpcError {
    /// An error with its reason word as data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.number(),
            message: message.into(),
            data: Some(Box::new(json!({ "reason": code.reason() }))),
        }
    }

    /// The job or the node does not do that now, with a word for programs and advice for people.
    pub fn refused(message: impl Into<String>, reason: &str, fix: &str) -> Self {
        Self::new(ErrorCode::Refused, message).with("reason", reason).fix(fix)
    }

    /// There is no such method, or not at this node.
    pub fn unsupported(method: &str) -> Self {
        Self::new(ErrorCode::MethodNotFound, format!("method `{method}` does not exist at this node"))
            .fix("`system.methods` lists the methods of a node")
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn fix(self, fix: impl Into<String>) -> Self {
        self.with("fix", fix.into())
    }

    /// Adds when the same request may succeed.
    #[must_use]
    pub fn retry_after(self, after: Duration) -> Self {
        self.with("retry_after_ms", u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
    }

    /// Adds who leads the job.
    #[must_use]
    pub fn leader(self, leader: &Leader) -> Self {
        self.with("leader", json!(leader))
    }

    /// Adds what is wrong with the plan.
    #[must_use]
    pub fn problems(self, problems: &[PlanProblem]) -> Self {
        self.with("problems", json!(problems))
    }

    /// Adds how many voters are reachable, and how many are needed.
    #[must_use]
    pub fn reach(self, reachable: u32, needed: u32) -> Self {
        self.with("reachable", reachable).with("needed", needed)
    }

    /// Adds a member to its data, or replaces it.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let mut members = match self.data.take().map(|data| *data) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        members.insert(key.to_owned(), value.into());
        self.data = Some(Box::new(Value::Object(members)));
        self
    }

    /// The same with its data as A2A 1.0 has it: a list of typed objects (specification, section 9.5).
    #[must_use]
    pub fn in_a2a(mut self) -> Self {
        let mut metadata = match self.data.take().map(|data| *data) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let reason = metadata.remove("reason");
        let reason = reason.as_ref().and_then(Value::as_str).unwrap_or("unknown").to_ascii_uppercase();
        // The values of `ErrorInfo` are texts.
        for value in metadata.values_mut().filter(|value| !value.is_string()) {
            *value = value.to_string().into();
        }
        let domain = if self.is_of_a2a() { "a2a-protocol.org" } else { "hyperscale" };
        let info = json!({ "@type": ERROR_INFO, "reason": reason, "domain": domain, "metadata": metadata });
        self.data = Some(Box::new(json!([info])));
        self
    }

    fn is_of_a2a(&self) -> bool {
        matches!(self.code, -32_039..=-32_001 | -32_700..=-32_600)
    }

    /// Which error it is; `None` if this version does not know the number.
    pub fn kind(&self) -> Option<ErrorCode> {
        ErrorCode::from_number(self.code)
    }

    /// Whether it is this error.
    pub fn is(&self, code: ErrorCode) -> bool {
        self.code == code.number()
    }

    /// A text in its data.
    pub fn detail(&self, key: &str) -> Option<&str> {
        self.data.as_ref()?.get(key)?.as_str()
    }

    /// Its data as far as it is known; members of another shape are left out.
    pub fn details(&self) -> Details {
        let Some(Value::Object(members)) = self.data.as_deref() else { return Details::default() };
        Details {
            reason: part(members, "reason"),
            fix: part(members, "fix"),
            retry_after_ms: part(members, "retry_after_ms"),
            leader: part(members, "leader"),
            problems: part(members, "problems").unwrap_or_default(),
            reachable: part(members, "reachable"),
            needed: part(members, "needed"),
        }
    }
}

fn part<T: DeserializeOwned>(members: &Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(members.get(key)?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_read_as_they_were_added() {
        let leader = Leader { node: "m2".into(), http: Some("10.0.0.2:9000".into()), token: Token(7) };
        let error = RpcError::new(ErrorCode::Moved, "m2 leads the job")
            .fix("ask there")
            .leader(&leader)
            .reach(1, 2)
            .retry_after(Duration::from_millis(500));
        let details = error.details();
        assert_eq!(error.kind(), Some(ErrorCode::Moved));
        assert_eq!((details.reason.as_deref(), details.leader), (Some("moved"), Some(leader)));
        assert_eq!((details.reachable, details.needed), (Some(1), Some(2)));
        assert_eq!((details.retry_after_ms, details.fix.as_deref()), (Some(500), Some("ask there")));
    }

    #[test]
    fn details_are_typed_texts_in_a2a() {
        let error = RpcError::new(ErrorCode::TaskNotFound, "no").fix("look").with("count", 3).in_a2a();
        let info = json!({
            "@type": ERROR_INFO, "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org",
            "metadata": { "fix": "look", "count": "3" },
        });
        assert_eq!(error.data.as_deref(), Some(&json!([info])));
        let ours = RpcError::new(ErrorCode::Overloaded, "no").in_a2a();
        assert_eq!(ours.data.unwrap()[0]["domain"], "hyperscale");
        let of_json_rpc = RpcError::new(ErrorCode::InvalidParams, "no").in_a2a();
        assert_eq!(of_json_rpc.data.unwrap()[0]["domain"], "a2a-protocol.org");
    }

    #[test]
    fn details_of_another_shape_are_left_out() {
        let data = json!({"reason": 7, "leader": "m2", "fix": "wait"});
        let error = RpcError { code: -1, message: String::new(), data: Some(Box::new(data)) };
        assert_eq!(error.details(), Details { fix: Some("wait".into()), ..Details::default() });
    }
}
