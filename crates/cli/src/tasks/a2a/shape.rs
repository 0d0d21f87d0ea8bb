//! Objects as each version writes them: 1.0 as ProtoJSON does, 0.3 with the `kind` of each.

use hyperscale_api::A2aVersion;
use hyperscale_tasks::domain::{Status, TaskId, Timestamp};
use serde_json::{Value, json};

use super::message::Message;
use super::task::{AgentTask, Artifact};

/// States of A2A that no task here has, as 1.0 writes them. Nothing asks for input, and what is wrong with a message is an error before
/// there is a task.
pub(super) const STATES_NEVER_HAD: [&str; 3] =
    ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED", "TASK_STATE_REJECTED"];

/// What a stream brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    Task,
    Status,
    Artifact,
}

/// The state of a task.
pub(super) fn state(version: A2aVersion, status: Status) -> &'static str {
    match (version, status) {
        (A2aVersion::V1_0, Status::Pending) => "TASK_STATE_SUBMITTED",
        (A2aVersion::V1_0, Status::InProgress) => "TASK_STATE_WORKING",
        (A2aVersion::V1_0, Status::Completed) => "TASK_STATE_COMPLETED",
        (A2aVersion::V1_0, Status::Failed) => "TASK_STATE_FAILED",
        (A2aVersion::V1_0, Status::Cancelled) => "TASK_STATE_CANCELED",
        (A2aVersion::V0_3, Status::Pending) => "submitted",
        (A2aVersion::V0_3, Status::InProgress) => "working",
        (A2aVersion::V0_3, Status::Completed) => "completed",
        (A2aVersion::V0_3, Status::Failed) => "failed",
        (A2aVersion::V0_3, Status::Cancelled) => "canceled",
    }
}

/// A time as A2A writes it: UTC, to the millisecond.
pub(super) fn time(time: Timestamp) -> Option<String> {
    jiff::Timestamp::from_millisecond(time.0).ok().map(|time| format!("{time:.3}"))
}

/// A state with its time, and what is to be said about it.
pub(super) fn status(version: A2aVersion, status: Status, at: Timestamp, said: Option<&Message>) -> Value {
    let mut value = json!({ "state": state(version, status) });
    if let Some(time) = time(at) {
        value["timestamp"] = json!(time);
    }
    if let Some(said) = said {
        value["message"] = said.write(version);
    }
    value
}

/// A task. `artifacts` and `history` are left out where they were not asked for.
pub(super) fn task(version: A2aVersion, task: &AgentTask) -> Value {
    let said = task.said();
    let mut value = json!({
        "id": task.id,
        "contextId": task.context,
        "status": status(version, task.status, task.updated_at, said.as_ref()),
        "metadata": task.metadata(),
    });
    if let Some(artifacts) = &task.artifacts {
        value["artifacts"] = artifacts.iter().map(|one| artifact(version, one)).collect();
    }
    if !task.history.is_empty() {
        value["history"] = task.history.iter().map(|message| message.write(version)).collect();
    }
    with_kind(version, "task", value)
}

fn artifact(version: A2aVersion, artifact: &Artifact) -> Value {
    json!({
        "artifactId": artifact.task,
        "name": artifact.name,
        "parts": [artifact.part.write(version)],
        "metadata": { "executor": artifact.executor },
    })
}

/// That the state of a task changed, or that something happened in it.
pub(super) fn status_update(
    version: A2aVersion,
    (task, context): (TaskId, &str),
    status: &Value,
    metadata: Option<Value>,
    is_final: bool,
) -> Value {
    let mut value = json!({ "taskId": task, "contextId": context, "status": status });
    if let Some(metadata) = metadata {
        value["metadata"] = metadata;
    }
    if version == A2aVersion::V0_3 {
        value["final"] = json!(is_final);
    }
    with_kind(version, "status-update", value)
}

/// That a task has a further artifact, which is whole.
pub(super) fn artifact_update(version: A2aVersion, (task, context): (TaskId, &str), one: &Artifact) -> Value {
    let artifact = artifact(version, one);
    let value = json!({ "taskId": task, "contextId": context, "artifact": artifact, "lastChunk": true });
    with_kind(version, "artifact-update", value)
}

/// An update as a stream brings it: 1.0 names it by the member that holds it.
pub(super) fn streamed(version: A2aVersion, update: Update, value: Value) -> Value {
    match (version, update) {
        (A2aVersion::V0_3, _) => value,
        (A2aVersion::V1_0, Update::Task) => json!({ "task": value }),
        (A2aVersion::V1_0, Update::Status) => json!({ "statusUpdate": value }),
        (A2aVersion::V1_0, Update::Artifact) => json!({ "artifactUpdate": value }),
    }
}

fn with_kind(version: A2aVersion, kind: &str, mut value: Value) -> Value {
    if version == A2aVersion::V0_3 {
        value["kind"] = json!(kind);
    }
    value
}
