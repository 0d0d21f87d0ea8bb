//! Errors of the API: one table of codes, and what travels with each.
//!
//! JSON-RPC reserves -32700 and -32603 to -32600; tasks have codes from -32040 on, jobs and clusters those from -32050
//! on. A code is never given to another error, so that old clients and new servers understand each other.

use std::time::Duration;

use hyperscale_types::{ExitCode, Token};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Every error that a server of ours reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The body is not JSON.
    ParseError,
    /// JSON, but not a request.
    InvalidRequest,
    /// No such method, or not at this node.
    MethodNotFound,
    /// Parameters that the method does not take.
    InvalidParams,
    /// A bug in the server.
    InternalError,
    /// No such job, or it is forgotten.
    UnknownJob,
    /// The job or the node does not do that now; `data.reason` says why in a word of its own.
    Refused,
    /// Another node leads the job: `data.leader`. Nothing was done.
    Moved,
    /// Too few voters are reachable: `data.reachable`, `data.needed`. Nothing was done.
    QuorumUnavailable,
    /// No majority responded in time. The request may still be carried out.
    QuorumTimeout,
    /// The quorum failed several times a moment ago. Nothing was done.
    QuorumCircuitOpen,
    /// The node has too much to do: `data.retry_after_ms`. Nothing was done.
    Overloaded,
    /// The queue of jobs is full: `data.retry_after_ms`. Nothing was done.
    CapacityExceeded,
    /// The node, or the request, holds a token that is no longer in force: another node leads the job.
    StaleToken,
    /// The plan has errors: `data.problems`.
    PlanInvalid,
    /// The job has ended; nothing can be changed any more.
    AlreadyEnded,
    /// The job has not ended; there is no final result yet.
    NotEnded,
    /// A token is missing or wrong.
    Unauthorized,
    /// Too many requests from this address: `data.retry_after_ms`. Nothing was done.
    RateLimited,
    /// A body, plan or file beyond its limit.
    TooLarge,
    /// A submission names a blob that this node does not have; upload it here and submit again.
    UnknownBlob,
    /// The request did not arrive in time.
    RequestTimeout,
    /// No such path, or not with this HTTP method.
    NotFound,
}

/// What a client may do after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Nothing was done; another server may be able to.
    Elsewhere,
    /// The request may have been carried out: repeat it, at any server, only if repeating is harmless.
    IfRepeatable,
    /// Nothing was done; ask the named leader.
    AtLeader,
    /// Nothing was done; the same request may succeed after `retry_after_ms`.
    Later,
    /// Repeating it changes nothing.
    Never,
}

/// One row of the table of codes.
struct Row {
    number: i64,
    reason: &'static str,
    http: u16,
    exit: ExitCode,
    retry: Retry,
}

const fn row(number: i64, reason: &'static str, http: u16, exit: ExitCode, retry: Retry) -> Row {
    Row { number, reason, http, exit, retry }
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 23] = [
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::InternalError,
        Self::UnknownJob,
        Self::Refused,
        Self::Moved,
        Self::QuorumUnavailable,
        Self::QuorumTimeout,
        Self::QuorumCircuitOpen,
        Self::Overloaded,
        Self::CapacityExceeded,
        Self::StaleToken,
        Self::PlanInvalid,
        Self::AlreadyEnded,
        Self::NotEnded,
        Self::Unauthorized,
        Self::RateLimited,
        Self::TooLarge,
        Self::UnknownBlob,
        Self::RequestTimeout,
        Self::NotFound,
    ];

    /// The table: number, reason word, HTTP status outside of `/rpc`, exit code of a command, what a client may do.
    const fn row(self) -> Row {
        use ExitCode::{Error, PlanInvalid, Refused, Unreachable};
        use Retry::{AtLeader, Elsewhere, IfRepeatable, Later, Never};
        match self {
            Self::ParseError => row(-32700, "parse_error", 400, Error, Never),
            Self::InvalidRequest => row(-32600, "invalid_request", 400, Error, Never),
            Self::MethodNotFound => row(-32601, "method_not_found", 404, Error, Never),
            Self::InvalidParams => row(-32602, "invalid_params", 400, Refused, Never),
            Self::InternalError => row(-32603, "internal_error", 500, Error, Never),
            Self::UnknownJob => row(-32050, "unknown_job", 404, Refused, Never),
            Self::Refused => row(-32051, "refused", 409, Refused, Never),
            Self::Moved => row(-32052, "moved", 421, Unreachable, AtLeader),
            Self::QuorumUnavailable => row(-32053, "quorum_unavailable", 503, Refused, Elsewhere),
            Self::QuorumTimeout => row(-32054, "quorum_timeout", 503, Refused, IfRepeatable),
            Self::QuorumCircuitOpen => row(-32055, "quorum_circuit_open", 503, Refused, Elsewhere),
            Self::Overloaded => row(-32056, "overloaded", 503, Refused, Later),
            Self::CapacityExceeded => row(-32057, "capacity_exceeded", 503, Refused, Later),
            Self::StaleToken => row(-32058, "stale_token", 409, Refused, IfRepeatable),
            Self::PlanInvalid => row(-32059, "plan_invalid", 422, PlanInvalid, Never),
            Self::AlreadyEnded => row(-32060, "already_ended", 409, Refused, Never),
            Self::NotEnded => row(-32061, "not_ended", 409, Refused, Never),
            Self::Unauthorized => row(-32062, "unauthorized", 401, Refused, Never),
            Self::RateLimited => row(-32063, "rate_limited", 429, Refused, Later),
            Self::TooLarge => row(-32064, "too_large", 413, Refused, Never),
            Self::UnknownBlob => row(-32065, "unknown_blob", 409, Refused, Never),
            Self::RequestTimeout => row(-32066, "request_timeout", 408, Unreachable, IfRepeatable),
            Self::NotFound => row(-32067, "not_found", 404, Error, Never),
        }
    }

    /// The code with this number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }

    /// Its number in JSON-RPC.
    pub const fn number(self) -> i64 {
        self.row().number
    }

    /// The word for programs, `data.reason`.
    pub const fn reason(self) -> &'static str {
        self.row().reason
    }

    /// The HTTP status on routes that are not JSON-RPC.
    pub const fn http_status(self) -> u16 {
        self.row().http
    }

    /// What a command that fails with it returns to its caller.
    pub const fn exit_code(self) -> ExitCode {
        self.row().exit
    }

    /// What a client may do about it.
    pub const fn retry(self) -> Retry {
        self.row().retry
    }
}

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

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let mut members = match self.data.take().map(|data| *data) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        members.insert(key.to_owned(), value.into());
        self.data = Some(Box::new(Value::Object(members)));
        self
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_a_number_and_a_word_of_its_own() {
        let numbers: BTreeSet<i64> = ErrorCode::ALL.map(ErrorCode::number).into();
        let words: BTreeSet<&str> = ErrorCode::ALL.map(ErrorCode::reason).into();
        assert_eq!((numbers.len(), words.len()), (ErrorCode::ALL.len(), ErrorCode::ALL.len()));
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_number(code.number()), Some(code));
        }
        assert_eq!(ErrorCode::from_number(-32049), None);
    }

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
    fn details_of_another_shape_are_left_out() {
        let data = json!({"reason": 7, "leader": "m2", "fix": "wait"});
        let error = RpcError { code: -1, message: String::new(), data: Some(Box::new(data)) };
        assert_eq!(error.details(), Details { fix: Some("wait".into()), ..Details::default() });
    }
}
