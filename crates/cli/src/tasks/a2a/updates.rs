//! Events of a tree as updates of a task: the same stream that `GET /events/{task}` has.

use std::sync::Arc;

use hyperscale_api::rpc::{Id, write_response};
use hyperscale_api::{A2aVersion, EventFrame, RpcError};
use hyperscale_tasks::domain::{Event, EventKind, Position, Status, TaskId};
use hyperscale_tasks::store::{Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::message::Message;
use super::shape::{self, Update};
use super::task::{AgentTask, Artifact};
use crate::tasks::backend::{Plane, TaskBackend};
use crate::tasks::refusals;
use crate::tasks::streams::{Writer, look_again};

/// Writes the updates of one task as responses to one request.
pub(crate) struct Updates {
    version: A2aVersion,
    id: Id,
    task: TaskId,
    context: String,
}

/// Waits until a tree has ended, at most until then.
pub(super) async fn wait_for_end(store: &dyn Store, tree: TaskId, until: Instant) -> Result<(), RpcError> {
    let mut changes = store.changes();
    loop {
        changes.mark_unchanged();
        if store.tree_end(tree).await.map_err(refusals::store)?.is_some() {
            return Ok(());
        }
        tokio::select! {
            () = look_again(&mut changes) => {}
            () = sleep_until(until) => return Ok(()),
        }
    }
}

impl Updates {
    /// Opens the stream of a task: the task as it is, then what happens to it, until it has ended.
    pub(super) fn open(
        backend: &TaskBackend,
        plane: &Plane,
        version: A2aVersion,
        id: Id,
        task: &AgentTask,
        after: Position,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        let updates = Self { version, id, task: task.id, context: task.context.clone() };
        let first = updates.frame(Update::Task, shape::task(version, task), task.status.is_terminal());
        let store = Arc::clone(&plane.store);
        backend.streams.follow(store, task.id, after, (first, Writer::Agent(updates)))
    }

    /// What is told about an event. After the last one the stream ends with the state of the task.
    pub(crate) async fn event(
        &self,
        store: &dyn Store,
        event: &Event,
        is_final: bool,
    ) -> Result<Vec<EventFrame>, StoreError> {
        let mut frames = Vec::new();
        // That a task exists was told with the tree, and that it was claimed is told when it starts.
        if !matches!(event.kind, EventKind::Created | EventKind::Assigned) {
            let part = store.task(event.task).await?;
            if event.kind == EventKind::Completed {
                frames.extend(Artifact::of(&part).map(|artifact| self.artifact(&artifact)));
            }
            if !is_final {
                frames.push(self.happened(event, &part.name));
            }
        }
        if is_final {
            frames.push(self.end(store).await?);
        }
        Ok(frames)
    }

    /// The state that the task ended in.
    pub(crate) async fn end(&self, store: &dyn Store) -> Result<EventFrame, StoreError> {
        let task = AgentTask::read_within(store, self.task, None).await;
        let task = task.map_err(|error| StoreError::Unavailable(error.message))?;
        let said = task.said();
        let status = shape::status(self.version, task.status, task.updated_at, said.as_ref());
        let of = (self.task, self.context.as_str());
        let update = shape::status_update(self.version, of, &status, Some(task.metadata()), true);
        Ok(self.frame(Update::Status, update, true))
    }

    /// The database failed: the last response says so.
    pub(crate) fn failed(&self, error: StoreError) -> EventFrame {
        let error = refusals::store(error);
        let error = if self.version == A2aVersion::V1_0 { error.in_a2a() } else { error };
        EventFrame::response(&write_response(&self.id, Err(error)), true)
    }

    fn artifact(&self, artifact: &Artifact) -> EventFrame {
        let update = shape::artifact_update(self.version, (self.task, &self.context), artifact);
        self.frame(Update::Artifact, update, false)
    }

    fn happened(&self, event: &Event, name: &str) -> EventFrame {
        let node = event.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
        let details = event.details.as_ref().and_then(Value::as_str).map(|text| format!(": {text}"));
        let happened = event.kind.as_str().replace('_', " ");
        let text = format!("{name} {happened}{node}{}", details.unwrap_or_default());
        let id = format!("{}-{}.{}", self.task, event.position.transaction, event.position.event);
        let (context, task) = (Some(self.context.clone()), Some(self.task.to_string()));
        let said = Message { context, task, ..Message::from_agent(id, text) };
        let status = shape::status(self.version, Status::InProgress, event.at, Some(&said));
        let update = shape::status_update(self.version, (self.task, &self.context), &status, None, false);
        self.frame(Update::Status, update, false)
    }

    fn frame(&self, update: Update, value: Value, is_final: bool) -> EventFrame {
        let response = write_response(&self.id, Ok(shape::streamed(self.version, update, value)));
        EventFrame::response(&response, is_final)
    }
}
