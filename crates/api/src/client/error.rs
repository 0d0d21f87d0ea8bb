//! Why a call has no result: what happened, why, what to do, and the exit code of a command that fails with it.

use std::time::Duration;

use hyperscale_types::ExitCode;

use crate::error::{ErrorCode, RpcError};
use crate::event::EventId;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nothing listens there. The request was not sent.
    #[error("{server} is unreachable: {why}")]
    Unreachable {
        /// The server, or several.
        server: String,
        /// What the system said.
        why: String,
    },
    /// The server's certificate is not trusted, or it does not speak TLS. The request was not sent.
    #[error("{server} is not trusted: {why}")]
    Untrusted {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// No whole response came. The request may have been carried out.
    #[error("the connection was lost before the response: {0}")]
    Lost(String),
    /// A response that is none; the other side is something else, or another version.
    #[error("the response cannot be understood: {0}")]
    Malformed(String),
    /// The server refused. Except for `quorum_timeout` nothing was done.
    #[error(transparent)]
    Refused(#[from] RpcError),
    /// A plan or file beyond its limit. Nothing was sent.
    #[error("{what} has {bytes} bytes, more than {bytes_max}")]
    TooLarge {
        /// The plan, or the file.
        what: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// No server has served the stream of a job for a long time. The job may still run.
    #[error("{job} is orphaned: no server has served its events for {} s: {why}", after.as_secs())]
    Orphaned {
        /// The job.
        job: String,
        /// For how long.
        after: Duration,
        /// The last event that was seen.
        last: Option<EventId>,
        /// What the last server said.
        why: String,
    },
}

impl CallError {
    /// What a command that fails with it returns.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Unreachable { .. } | Self::Untrusted { .. } | Self::Lost(_) | Self::Orphaned { .. } => {
                ExitCode::Unreachable
            }
            Self::Malformed(_) => ExitCode::Error,
            Self::Refused(error) => error.kind().map_or(ExitCode::Refused, ErrorCode::exit_code),
            Self::TooLarge { .. } => ExitCode::Refused,
        }
    }

    /// What happened, as a fragment of a sentence.
    pub fn what(&self) -> String {
        match self {
            Self::Unreachable { server, .. } => format!("{server} is unreachable"),
            Self::Untrusted { server, .. } => format!("{server} is not trusted"),
            Self::Lost(_) => "the connection was lost before the response".to_owned(),
            Self::Malformed(_) => "the response cannot be understood".to_owned(),
            Self::Refused(error) => match error.kind() {
                Some(code) => format!("the server refused the request ({})", code.reason()),
                None => "the server refused the request".to_owned(),
            },
            Self::TooLarge { what, .. } => format!("{what} is too large"),
            Self::Orphaned { job, .. } => format!("{job} is orphaned"),
        }
    }

    /// Why, as far as it is known.
    pub fn why(&self) -> String {
        match self {
            Self::Unreachable { why, .. } | Self::Untrusted { why, .. } => why.clone(),
            Self::Lost(why) | Self::Malformed(why) => why.clone(),
            Self::Refused(error) => error.to_string(),
            Self::TooLarge { bytes, bytes_max, .. } => format!("{bytes} bytes are more than {bytes_max}"),
            Self::Orphaned { after, why, .. } => {
                format!("no server has served its events for {} s: {why}", after.as_secs())
            }
        }
    }

    /// What to do about it.
    pub fn fix(&self) -> String {
        match self {
            Self::Unreachable { .. } => {
                "check --server (or HYPERSCALE_SERVER) and that the servers run".to_owned()
            }
            Self::Untrusted { .. } => {
                "name the file with the authority of the servers with --ca, or use http://".to_owned()
            }
            Self::Lost(_) => "check with `hyperscale jobs` whether it was carried out".to_owned(),
            Self::Malformed(_) => "use the same version of hyperscale as the servers".to_owned(),
            Self::Refused(error) => {
                let fix = error.detail("fix").map(str::to_owned);
                fix.unwrap_or_else(|| refusal_fix(error.kind()).to_owned())
            }
            Self::TooLarge { .. } => "make it smaller, or split it".to_owned(),
            Self::Orphaned { job, .. } => {
                format!("resume with `hyperscale watch {job}` when a server is back")
            }
        }
    }

    /// How much it says: of several errors of one round the greatest is reported.
    pub(super) fn weight(&self) -> u8 {
        match self {
            Self::Unreachable { .. } => 0,
            Self::Untrusted { .. } => 1,
            Self::Lost(_) => 2,
            _ => 3,
        }
    }
}
/// What to do about a refusal that does not say it itself.
fn refusal_fix(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::QuorumUnavailable | ErrorCode::QuorumCircuitOpen) => {
            "start the managers that are away or connect to others with --server, then repeat the command"
        }
        Some(ErrorCode::QuorumTimeout) => {
            "check with `hyperscale jobs` whether it was carried out; with the same --idempotency-key it can be repeated"
        }
        Some(ErrorCode::Overloaded | ErrorCode::CapacityExceeded | ErrorCode::RateLimited) => {
            "try again later"
        }
        Some(ErrorCode::Unauthorized) => {
            "set HYPERSCALE_API_TOKEN to the token of the servers, or pass --token"
        }
        Some(ErrorCode::TooLarge) => "make it smaller, or split it",
        Some(ErrorCode::UnknownJob) => "see the jobs that are kept with `hyperscale jobs`",
        Some(ErrorCode::AlreadyEnded | ErrorCode::NotEnded) => "see where it is with `hyperscale status JOB`",
        Some(ErrorCode::MethodNotFound | ErrorCode::NotFound | ErrorCode::InternalError) => {
            "use the same version of hyperscale as the servers, and see their logs"
        }
        _ => "correct the request; the servers' logs say more",
    }
}
