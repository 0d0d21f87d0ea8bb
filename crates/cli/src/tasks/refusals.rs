//! What a store or a check did not do, as errors of the API: what, why, what to do.

use std::time::Duration;

use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_tasks::domain::{ScheduleError, TokenError, TreeError};
use hyperscale_tasks::store::StoreError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// When a client may ask again after the database was not available.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Reads the parameters of a method.
pub(super) fn params<T: DeserializeOwned>(params: Map<String, Value>) -> Result<T, RpcError> {
    serde_json::from_value(Value::Object(params)).map_err(|error| {
        RpcError::new(ErrorCode::InvalidParams, format!("wrong parameters: {error}"))
            .fix("`system.methods` describes the parameters of every method")
    })
}

/// The database cannot be used now.
pub(super) fn unavailable(why: &str) -> RpcError {
    RpcError::new(ErrorCode::Overloaded, why)
        .with("reason", "database_unavailable")
        .retry_after(RETRY_AFTER)
        .fix("wait until the database is back; the node reconnects by itself")
}

/// A node that only reads was asked to write.
pub(super) fn observer() -> RpcError {
    RpcError::refused(
        "this node is an observer and changes nothing",
        "observer",
        "ask a node with another role; `nodes.list` names them",
    )
}

pub(super) fn store(error: StoreError) -> RpcError {
    let message = error.to_string();
    let new = |code: ErrorCode| RpcError::new(code, message.clone());
    match error {
        StoreError::Unavailable(_) | StoreError::Contended(_) => unavailable(&message),
        StoreError::Corrupt(_) | StoreError::Migration(_) => new(ErrorCode::InternalError),
        StoreError::ReadOnly => observer(),
        StoreError::UnknownTask(_) => {
            new(ErrorCode::UnknownTask).fix("see the tasks that are kept with `hyperscale tasks list`")
        }
        StoreError::UnknownSchedule(schedule) => unknown_schedule(&schedule.to_string()),
        StoreError::BadTransition(_) => {
            new(ErrorCode::BadTransition).fix("see its state with `hyperscale tasks get TASK`")
        }
        StoreError::IdempotencyConflict { task, .. } => new(ErrorCode::IdempotencyConflict)
            .with("task", task.to_string())
            .fix("use a new key, or submit the same tasks again"),
        StoreError::BlockedByDependency { on, .. } => new(ErrorCode::BadTransition)
            .with("task", on.to_string())
            .fix(format!("retry it with `hyperscale tasks retry {on}`")),
        StoreError::LeaseLost(_) => lease_lost(message),
        StoreError::StaleEpoch(_) => new(ErrorCode::StaleEpoch).fix("ask the node that leads"),
        StoreError::Schedule(error) => schedule(&error),
    }
}

pub(super) fn lease_lost(message: String) -> RpcError {
    RpcError::new(ErrorCode::LeaseLost, message).fix("drop the result and claim other tasks")
}

pub(super) fn token(error: TokenError) -> RpcError {
    let message = error.to_string();
    RpcError::new(ErrorCode::LeaseLost, message)
        .fix("use the token that `claim_tasks` returned for this lease")
}

pub(super) fn tree(error: &TreeError) -> RpcError {
    let message = error.to_string();
    let (code, task, fix) = match error {
        TreeError::Cycle(tasks) => {
            (ErrorCode::DependencyCycle, tasks.first(), "remove one of these dependencies")
        }
        TreeError::UnknownExecutor { task, .. } => {
            (ErrorCode::UnknownExecutor, Some(task), "use one of the executors that exist")
        }
        TreeError::MissingReference { task, .. } | TreeError::Invalid { task, .. } => {
            (ErrorCode::InvalidInputs, Some(task), "correct the task and submit the tree again")
        }
        TreeError::Duplicate(task) => (ErrorCode::InvalidInputs, Some(task), "rename one of them"),
        TreeError::Empty | TreeError::TooLarge(_) | TreeError::BadName(_) => {
            (ErrorCode::InvalidInputs, None, "correct the tree and submit it again")
        }
    };
    let error = RpcError::new(code, message).fix(fix);
    match task {
        Some(task) => error.with("task", task.clone()),
        None => error,
    }
}

pub(super) fn schedule(error: &ScheduleError) -> RpcError {
    RpcError::new(ErrorCode::InvalidInputs, error.to_string()).fix("correct the trigger of the schedule")
}

pub(super) fn unknown_schedule(schedule: &str) -> RpcError {
    RpcError::refused(
        format!("there is no schedule {schedule}"),
        "unknown_schedule",
        "see the schedules with `hyperscale schedules list`",
    )
}
