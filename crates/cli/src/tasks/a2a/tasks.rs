//! Looking at a task, cancelling it, following it.

use std::time::Duration;

use hyperscale_api::rpc::Id;
use hyperscale_api::{A2aVersion, EventFrame, RpcError};
use hyperscale_tasks::domain::TaskId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::task::AgentTask;
use super::updates::{self, Updates};
use super::{errors, shape};
use crate::tasks::backend::{Plane, TaskBackend};
use crate::tasks::refusals;

/// How long a cancel waits for what runs to stop, so that its response mostly says that it has.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// Parameters that name a task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfTask {
    id: String,
    history_length: Option<i64>,
}

pub(super) async fn get(
    plane: &Plane,
    version: A2aVersion,
    given: Map<String, Value>,
) -> Result<Value, RpcError> {
    let OfTask { id, history_length } = params(given)?;
    let history = history(history_length)?;
    let task = AgentTask::read(&*plane.store, task_id(&id)?).await?;
    Ok(shape::task(version, &task.with_history(history)))
}

/// Cancels everything of the task that has not ended.
pub(super) async fn cancel(
    plane: &Plane,
    version: A2aVersion,
    given: Map<String, Value>,
) -> Result<Value, RpcError> {
    plane.worker()?;
    let OfTask { id, .. } = params(given)?;
    let id = task_id(&id)?;
    let task = AgentTask::read(&*plane.store, id).await?;
    if task.status.is_terminal() {
        return Err(errors::has_ended(id, task.status));
    }
    plane.store.cancel_tree(id).await.map_err(refusals::store)?;
    updates::wait_for_end(&*plane.store, id, Instant::now() + CANCEL_WAIT).await?;
    Ok(shape::task(version, &AgentTask::read(&*plane.store, id).await?))
}

pub(super) async fn subscribe(
    backend: &TaskBackend,
    plane: &Plane,
    version: A2aVersion,
    given: Map<String, Value>,
    id: Id,
) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
    let OfTask { id: task, .. } = params(given)?;
    // Before the task is read: what happens in between is told twice rather than not at all.
    let after = plane.store.events_end().await.map_err(refusals::store)?;
    let task = AgentTask::read(&*plane.store, task_id(&task)?).await?;
    if task.status.is_terminal() {
        return Err(errors::nothing_to_follow(task.id, task.status));
    }
    Updates::open(backend, plane, version, id, &task, after)
}

/// Reads parameters. Members that are not known are left out, as the specification wants it (section 5.7).
pub(super) fn params<T: DeserializeOwned>(given: Map<String, Value>) -> Result<T, RpcError> {
    serde_json::from_value(given.into())
        .map_err(|error| errors::invalid(format!("wrong parameters: {error}")))
}

/// Ids of tasks are opaque to clients: one that is none names no task.
pub(super) fn task_id(text: &str) -> Result<TaskId, RpcError> {
    text.parse().map_err(|_| errors::task_not_found(text))
}

/// How many messages are asked for; none for all.
pub(super) fn history(length: Option<i64>) -> Result<Option<usize>, RpcError> {
    let negative = |_| errors::invalid("`historyLength` must not be negative");
    length.map(usize::try_from).transpose().map_err(negative)
}
