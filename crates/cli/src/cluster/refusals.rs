//! What a manager did not do, as errors of the API: why, and what to do about it.

use std::time::Duration;

use hyperscale_api::error::{Leader, PlanProblem};
use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_cluster::manager::{Rejection, Response};
use hyperscale_consensus::register::{JobId, JobIdError};
use hyperscale_node::manager::Stopped;
use hyperscale_plan::Problem;
use hyperscale_types::{NodeId, Token};

use super::backend::ManagerBackend;
use super::view;

impl ManagerBackend {
    /// The error for a response that is none of those that were hoped for.
    pub(super) async fn refusal(&self, response: Response) -> RpcError {
        match response {
            Response::Moved { leader, token } => self.moved(leader, token).await,
            Response::Rejected(rejection) => self.rejected(rejection).await,
            Response::Starting => {
                RpcError::new(ErrorCode::Overloaded, "the job has no leader yet, or is being opened")
                    .retry_after(Duration::from_millis(500))
            }
            Response::Ended(_) => RpcError::new(ErrorCode::AlreadyEnded, "the job has ended"),
            other => RpcError::new(ErrorCode::InternalError, format!("the manager answered {other:?}")),
        }
    }

    async fn moved(&self, leader: NodeId, token: Token) -> RpcError {
        let known =
            self.manager.look(move |seen| (view::name_of(seen.names, leader), view::api_of(&seen, leader)));
        let (node, http) = known.await.unwrap_or_else(|_| (leader.to_string(), None));
        RpcError::new(ErrorCode::Moved, format!("{node} leads the job")).leader(&Leader { node, http, token })
    }

    async fn rejected(&self, rejection: Rejection) -> RpcError {
        let message = rejection.to_string();
        match rejection {
            Rejection::Plan(problems) => {
                let problems: Vec<PlanProblem> = problems.iter().map(plan_problem).collect();
                RpcError::new(ErrorCode::PlanInvalid, message).problems(&problems)
            }
            Rejection::UnknownJob => RpcError::new(ErrorCode::UnknownJob, message)
                .fix("see the jobs that are kept with `hyperscale jobs`"),
            Rejection::UnknownWorker => RpcError::new(ErrorCode::Refused, message),
            Rejection::AlreadyEnded => RpcError::new(ErrorCode::AlreadyEnded, message),
            Rejection::CapacityExceeded { retry_after } => {
                RpcError::new(ErrorCode::CapacityExceeded, message).retry_after(retry_after)
            }
            Rejection::Overloaded { retry_after } => {
                RpcError::new(ErrorCode::Overloaded, message).retry_after(retry_after)
            }
            Rejection::Draining => RpcError::new(ErrorCode::Overloaded, message)
                .retry_after(Duration::from_millis(200))
                .fix("name several managers with --server"),
            Rejection::Refused(_) => RpcError::new(ErrorCode::Refused, message),
            Rejection::Unavailable(_) => self.without_quorum(ErrorCode::QuorumUnavailable, message).await,
            Rejection::QuorumTimeout(_) => self.without_quorum(ErrorCode::QuorumTimeout, message).await,
            Rejection::QuorumCircuitOpen(_) => {
                self.without_quorum(ErrorCode::QuorumCircuitOpen, message).await
            }
        }
    }

    /// An error that says how many voters are in reach.
    async fn without_quorum(&self, code: ErrorCode, message: String) -> RpcError {
        let error = RpcError::new(code, message);
        match self.status().await {
            Ok(status) => error.reach(status.quorum.reachable, status.quorum.needed),
            Err(_) => error,
        }
    }
}

/// The job that a text names.
pub(super) fn job_id(text: &str) -> Result<JobId, RpcError> {
    text.parse().map_err(|error: JobIdError| {
        RpcError::new(ErrorCode::UnknownJob, format!("there is no job `{text}`: {error}"))
            .fix("see the jobs that are kept with `hyperscale jobs`")
    })
}

/// The manager ends.
pub(super) fn stopped(error: Stopped) -> RpcError {
    RpcError::new(ErrorCode::Overloaded, error.to_string()).retry_after(Duration::from_secs(1))
}

fn plan_problem(problem: &Problem) -> PlanProblem {
    // The type that travels has the same fields.
    serde_json::to_value(problem)
        .and_then(serde_json::from_value)
        .unwrap_or_else(|_| PlanProblem { message: problem.message.clone(), ..PlanProblem::default() })
}
