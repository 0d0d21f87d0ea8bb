//! What was refused, in the words of A2A.

use hyperscale_api::{A2aVersion, ErrorCode, RpcError};
use hyperscale_tasks::domain::{Status, TaskId};

/// An error of the task plane as the one of A2A that means the same. What went wrong in the task plane stays in `data.problem`.
pub(super) fn in_words_of_a2a(error: RpcError) -> RpcError {
    let code = match error.kind() {
        Some(ErrorCode::UnknownTask) => ErrorCode::TaskNotFound,
        Some(
            ErrorCode::DependencyCycle
            | ErrorCode::UnknownExecutor
            | ErrorCode::InvalidInputs
            | ErrorCode::IdempotencyConflict,
        ) => ErrorCode::InvalidParams,
        Some(ErrorCode::Refused) => ErrorCode::UnsupportedOperation,
        _ => return error,
    };
    let problem = error.detail("reason").unwrap_or_default().to_owned();
    let error = RpcError { code: code.number(), ..error };
    error.with("reason", code.reason()).with("problem", problem)
}

/// Parameters that cannot be used.
pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(ErrorCode::InvalidParams, message)
}

pub(super) fn task_not_found(id: &str) -> RpcError {
    let shown: String = id.chars().take(64).collect();
    RpcError::new(ErrorCode::TaskNotFound, format!("there is no task {shown}"))
        .fix("use the `id` of a task that a message returned")
}

/// A task of the task plane that is a part of a task of A2A.
pub(super) fn part_of(id: TaskId, tree: TaskId) -> RpcError {
    RpcError::new(ErrorCode::TaskNotFound, format!("{id} is a part of task {tree}"))
        .fix(format!("ask for {tree}; its artifacts have the results of its parts"))
}

pub(super) fn has_ended(id: TaskId, status: Status) -> RpcError {
    let message = format!("task {id} has ended: {}", status.as_str());
    RpcError::new(ErrorCode::TaskNotCancelable, message)
}

pub(super) fn nothing_to_follow(id: TaskId, status: Status) -> RpcError {
    let message = format!("task {id} has ended: {}; there are no updates to follow", status.as_str());
    RpcError::new(ErrorCode::UnsupportedOperation, message).fix("look at the task instead")
}

pub(super) fn takes_no_messages(id: TaskId) -> RpcError {
    RpcError::new(ErrorCode::UnsupportedOperation, format!("task {id} takes no further messages"))
        .fix("send a message without `taskId`; it becomes a task of the same `contextId`")
}

pub(super) fn no_push_notifications() -> RpcError {
    RpcError::new(ErrorCode::PushNotificationNotSupported, "push notifications are not supported")
        .fix("stream the updates of the task, or look at it from time to time")
}

pub(super) fn no_extended_card(version: A2aVersion) -> RpcError {
    // 1.0 reserves the other code for agents that promise such a card (section 3.3.4); 0.3 has no other.
    let code = match version {
        A2aVersion::V1_0 => ErrorCode::UnsupportedOperation,
        A2aVersion::V0_3 => ErrorCode::ExtendedCardNotConfigured,
    };
    RpcError::new(code, "there is no other card than the public one")
}

pub(super) fn content_type(part: usize) -> RpcError {
    let message = format!("`message.parts[{part}]` is a file; only text and data are read");
    RpcError::new(ErrorCode::ContentTypeNotSupported, message).fix("send the content as text or as data")
}

pub(super) fn streams_only() -> RpcError {
    RpcError::new(ErrorCode::InternalError, "an operation that streams was not asked for a stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_task_plane_become_those_of_a2a() {
        let become_of = |code: ErrorCode| in_words_of_a2a(RpcError::new(code, "no").fix("yes"));
        let unknown = become_of(ErrorCode::UnknownTask);
        assert!(unknown.is(ErrorCode::TaskNotFound));
        assert_eq!(unknown.detail("reason"), Some("task_not_found"));
        let invalid = become_of(ErrorCode::InvalidInputs);
        assert!(invalid.is(ErrorCode::InvalidParams));
        assert_eq!((invalid.detail("problem"), invalid.detail("fix")), (Some("invalid_inputs"), Some("yes")));
        assert!(become_of(ErrorCode::Overloaded).is(ErrorCode::Overloaded), "the database is away");
    }
}
