//! The table of error codes.
//!
//! JSON-RPC reserves -32700 and -32603 to -32600, A2A has -32009 to -32001; tasks have codes from -32040 on, jobs and clusters
//! those from -32050 on. A code is never given to another error, so that old clients and new servers understand each other.

use hyperscale_types::ExitCode;

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
    /// A2A: no such task.
    TaskNotFound,
    /// A2A: the task has ended.
    TaskNotCancelable,
    /// A2A: nothing is pushed to anybody.
    PushNotificationNotSupported,
    /// A2A: the agent does not do that, or not with this task.
    UnsupportedOperation,
    /// A2A: a part of the message is neither text nor data.
    ContentTypeNotSupported,
    /// A2A 0.3: there is no other card than the public one.
    ExtendedCardNotConfigured,
    /// A2A: the version that the request names is not spoken: `data.supported_versions`.
    VersionNotSupported,
    /// The lease was taken away, consumed or never held. The result is dropped.
    LeaseLost,
    /// The leadership under which it was to be done is over. Nothing was done.
    StaleEpoch,
    /// Only the leader of the task plane does that: `data.leader`. Nothing was done.
    NotLeader,
    /// The task cannot do that in its state.
    BadTransition,
    /// Tasks of a tree wait for each other. Nothing was stored.
    DependencyCycle,
    /// A task names an executor that does not exist. Nothing was stored.
    UnknownExecutor,
    /// A tree, a schedule or the inputs of a task are not valid: `data.task`. Nothing was stored.
    InvalidInputs,
    /// The idempotency key was used for another submission.
    IdempotencyConflict,
    /// No live node can run the task.
    Unplaceable,
    /// No such task.
    UnknownTask,
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
    pub const ALL: [Self; 40] = [
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::InternalError,
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::ExtendedCardNotConfigured,
        Self::VersionNotSupported,
        Self::LeaseLost,
        Self::StaleEpoch,
        Self::NotLeader,
        Self::BadTransition,
        Self::DependencyCycle,
        Self::UnknownExecutor,
        Self::InvalidInputs,
        Self::IdempotencyConflict,
        Self::Unplaceable,
        Self::UnknownTask,
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
            Self::TaskNotFound => row(-32001, "task_not_found", 404, Refused, Never),
            Self::TaskNotCancelable => row(-32002, "task_not_cancelable", 400, Refused, Never),
            Self::PushNotificationNotSupported => {
                row(-32003, "push_notification_not_supported", 400, Refused, Never)
            }
            Self::UnsupportedOperation => row(-32004, "unsupported_operation", 400, Refused, Never),
            Self::ContentTypeNotSupported => row(-32005, "content_type_not_supported", 400, Refused, Never),
            Self::ExtendedCardNotConfigured => {
                row(-32007, "extended_agent_card_not_configured", 400, Refused, Never)
            }
            Self::VersionNotSupported => row(-32009, "version_not_supported", 400, Refused, Never),
            Self::LeaseLost => row(-32040, "lease_lost", 409, Refused, Never),
            Self::StaleEpoch => row(-32041, "stale_epoch", 409, Refused, Never),
            Self::NotLeader => row(-32042, "not_leader", 421, Refused, Elsewhere),
            Self::BadTransition => row(-32043, "bad_transition", 409, Refused, Never),
            Self::DependencyCycle => row(-32044, "dependency_cycle", 422, Refused, Never),
            Self::UnknownExecutor => row(-32045, "unknown_executor", 422, Refused, Never),
            Self::InvalidInputs => row(-32046, "invalid_inputs", 422, Refused, Never),
            Self::IdempotencyConflict => row(-32047, "idempotency_conflict", 409, Refused, Never),
            Self::Unplaceable => row(-32048, "unplaceable", 409, Refused, Never),
            Self::UnknownTask => row(-32049, "unknown_task", 404, Refused, Never),
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
        assert_eq!(ErrorCode::from_number(-32039), None);
    }
}
