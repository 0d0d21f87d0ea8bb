//! Messages that become tasks.

use std::time::Duration;

use hyperscale_api::rpc::Id;
use hyperscale_api::{A2aVersion, EventFrame, RpcError};
use hyperscale_tasks::domain::{TaskId, TreeMessage};
use hyperscale_tasks::store::Submitted;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::message::Message;
use super::shape::{self, Update};
use super::task::AgentTask;
use super::tasks::{history, params, task_id};
use super::updates::{self, Updates};
use super::{errors, submission};
use crate::tasks::backend::{Plane, TaskBackend};
use crate::tasks::refusals;

/// Bytes of the name of a context.
const CONTEXT_MAX: usize = 256;

/// A message and what is to become of it.
#[derive(Deserialize)]
struct Sent {
    message: Value,
    configuration: Option<Configuration>,
}

/// What a client wants beside the task. 0.3 has `blocking` and `pushNotificationConfig`, 1.0 the other two.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    history_length: Option<i64>,
    return_immediately: Option<bool>,
    task_push_notification_config: Option<Value>,
    blocking: Option<bool>,
    push_notification_config: Option<Value>,
}

impl Configuration {
    /// Both versions wait for the end unless they are told not to.
    fn waits(&self, version: A2aVersion) -> bool {
        match version {
            A2aVersion::V1_0 => !self.return_immediately.unwrap_or(false),
            A2aVersion::V0_3 => self.blocking.unwrap_or(true),
        }
    }

    fn wants_pushes(&self) -> bool {
        self.task_push_notification_config.is_some() || self.push_notification_config.is_some()
    }
}

/// What a message became.
struct Submission {
    id: TaskId,
    is_new: bool,
    tasks: u32,
    message: TreeMessage,
    wanted: Configuration,
}

/// Submits what a message asks for, and waits for its end if that is wanted, as long as a response may be held back.
pub(super) async fn send(
    backend: &TaskBackend,
    plane: &Plane,
    version: A2aVersion,
    given: Map<String, Value>,
    hold_max: Duration,
) -> Result<Value, RpcError> {
    let until = Instant::now() + hold_max;
    let Submission { id, wanted, .. } = submit(backend, plane, version, given).await?;
    if wanted.waits(version) {
        updates::wait_for_end(&*plane.store, id, until).await?;
    }
    let task = AgentTask::read(&*plane.store, id).await?.with_history(history(wanted.history_length)?);
    Ok(shape::streamed(version, Update::Task, shape::task(version, &task)))
}

/// Submits what a message asks for, and follows it. A new task is told as it was submitted, so that the stream has everything that
/// happened to it.
pub(super) async fn stream(
    backend: &TaskBackend,
    plane: &Plane,
    version: A2aVersion,
    given: Map<String, Value>,
    id: Id,
) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
    let after = plane.store.events_end().await.map_err(refusals::store)?;
    let sent = submit(backend, plane, version, given).await?;
    let task = if sent.is_new {
        let now = plane.store.now().await.map_err(refusals::store)?;
        AgentTask::submitted(sent.id, sent.tasks, now, &sent.message)
    } else {
        AgentTask::read(&*plane.store, sent.id).await?
    };
    let task = task.with_history(history(sent.wanted.history_length)?);
    Updates::open(backend, plane, version, id, &task, after)
}

async fn submit(
    backend: &TaskBackend,
    plane: &Plane,
    version: A2aVersion,
    given: Map<String, Value>,
) -> Result<Submission, RpcError> {
    plane.worker()?;
    let Sent { message, configuration } = params(given)?;
    let wanted = configuration.unwrap_or_default();
    if wanted.wants_pushes() {
        return Err(errors::no_push_notifications());
    }
    history(wanted.history_length)?;
    let message = Message::read(version, message)?.checked()?;
    if let Some(task) = &message.task {
        let task = AgentTask::read_within(&*plane.store, task_id(task)?, None).await?;
        return Err(errors::takes_no_messages(task.id));
    }
    if message.context.as_ref().is_some_and(|context| context.len() > CONTEXT_MAX) {
        return Err(errors::invalid(format!("`message.contextId` must have at most {CONTEXT_MAX} bytes")));
    }
    let spec = submission::tree(&message, &backend.executors.names())?;
    let mut tree = backend.executors.prepare(spec).map_err(|error| refusals::tree(&error))?;
    let tasks = u32::try_from(tree.tasks.len()).unwrap_or(u32::MAX);
    let context = message.context.clone().unwrap_or_else(|| tree.id().to_string());
    let message = TreeMessage { context, content: message.write(A2aVersion::V1_0) };
    tree.message = Some(message.clone());
    let Submitted { tree: id, is_new } = plane.store.submit(tree).await.map_err(refusals::store)?;
    Ok(Submission { id, is_new, tasks, message, wanted })
}
