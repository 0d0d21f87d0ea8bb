//! Events for those that follow them: the tree of a task until it has ended, or all tasks for ever.
//!
//! Each stream is a task of its own that reads what is new whenever the store says that something changed, and now and then besides. It
//! ends with its client, which the number of connections limits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyperscale_api::{ErrorCode, EventFrame, EventId, RpcError};
use hyperscale_tasks::domain::{Event, EventKind, Position, Status, Task, TaskId};
use hyperscale_tasks::store::{Store, StoreError};
use hyperscale_types::Token;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::a2a::Updates;
use super::refusals;

/// What stands for all tasks in the place of one.
const ALL: &str = "tasks";
/// Streams of one node.
const STREAMS_MAX: usize = 256;
/// Events that wait for one client.
const WAITING_MAX: usize = 256;
/// Events that are read at a time.
const PAGE: usize = 200;
/// Pause after a change, so that changes that follow it are read together.
const GATHER: Duration = Duration::from_millis(30);
/// How often is looked without a change: claims are not announced.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The streams of a node. They end with this value.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<JoinSet<()>>);

/// What is followed.
#[derive(Clone, Copy, Debug)]
enum Scope {
    All,
    Tree(TaskId),
}

impl Streams {
    /// Opens a stream after an event. That of a tree begins with its first event, that of all tasks with what happens from now on.
    pub(super) async fn open(
        &self,
        store: &Arc<dyn Store>,
        text: &str,
        after: Option<EventId>,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        let scope = scope(store, text).await?;
        let after = match (after, scope) {
            (Some(id), _) => position(id)?,
            (None, Scope::Tree(_)) => Position::default(),
            (None, Scope::All) => store.events_end().await.map_err(refusals::store)?,
        };
        self.spawn(Arc::clone(store), scope, after, (None, Writer::Events))
    }

    /// Opens a stream of a tree after an event, which begins with a frame.
    pub(super) fn follow(
        &self,
        store: Arc<dyn Store>,
        tree: TaskId,
        after: Position,
        (first, writer): (EventFrame, Writer),
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        self.spawn(store, Scope::Tree(tree), after, (Some(first), writer))
    }

    fn spawn(
        &self,
        store: Arc<dyn Store>,
        scope: Scope,
        after: Position,
        (first, writer): (Option<EventFrame>, Writer),
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let follower = Follower { store, scope, after, sender, writer };
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while streams.try_join_next().is_some() {}
        if streams.len() >= STREAMS_MAX {
            let message = format!("this node serves {STREAMS_MAX} streams already");
            return Err(RpcError::new(ErrorCode::Overloaded, message).retry_after(Duration::from_secs(5)));
        }
        streams.spawn(follower.run(first));
        Ok(receiver)
    }
}

/// Waits until it is worth looking again: something has changed, or some time has passed.
pub(super) async fn look_again(changes: &mut watch::Receiver<u64>) {
    tokio::select! {
        Ok(()) = changes.changed() => sleep(GATHER).await,
        () = sleep(LOOK_EVERY) => {}
    }
}

async fn scope(store: &Arc<dyn Store>, text: &str) -> Result<Scope, RpcError> {
    if text == ALL {
        return Ok(Scope::All);
    }
    let wrong = |_| {
        let message = format!("`{text}` is not the id of a task");
        RpcError::new(ErrorCode::UnknownTask, message).fix("open /events/{task}, or /events/tasks for all")
    };
    let task: TaskId = text.parse().map_err(wrong)?;
    Ok(Scope::Tree(store.task(task).await.map_err(refusals::store)?.tree))
}

fn position(id: EventId) -> Result<Position, RpcError> {
    let number = |number: u64| i64::try_from(number);
    match (number(id.token.0), number(id.sequence)) {
        (Ok(transaction), Ok(event)) => Ok(Position { transaction, event }),
        _ => Err(RpcError::new(ErrorCode::InvalidRequest, "`Last-Event-ID` is not of an event of tasks")),
    }
}

/// One stream.
struct Follower {
    store: Arc<dyn Store>,
    scope: Scope,
    /// The last event that was sent.
    after: Position,
    sender: mpsc::Sender<EventFrame>,
    writer: Writer,
}

/// How events are written.
pub(super) enum Writer {
    /// Each as it is.
    Events,
    /// As updates of a task of A2A.
    Agent(Updates),
}

impl Writer {
    /// What is sent for an event of a tree.
    async fn event(
        &self,
        store: &dyn Store,
        event: &Event,
        is_final: bool,
    ) -> Result<Vec<EventFrame>, StoreError> {
        match self {
            Self::Events => Ok(vec![frame(event, is_final)]),
            Self::Agent(updates) => updates.event(store, event, is_final).await,
        }
    }

    /// Says once more what happened last, to one that has seen it without knowing that it was the last.
    async fn end(&self, store: &dyn Store, tree: TaskId, end: Position) -> Result<EventFrame, StoreError> {
        if let Self::Agent(updates) = self {
            return updates.end(store).await;
        }
        let before = Position { event: end.event - 1, ..end };
        let last = store.tree_events(tree, before, 1).await?;
        Ok(match last.first() {
            Some(event) => frame(event, true),
            // Events of a tree that ended long ago are not kept.
            None => summary(&store.task(tree).await?),
        })
    }
}

/// Why a stream ends.
enum Ended {
    /// The last event was sent, or the client has left.
    Over,
    /// The database failed. The client connects again.
    Failed(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl Follower {
    async fn run(mut self, first: Option<EventFrame>) {
        if let Some(first) = first
            && self.send(first).await.is_err()
        {
            return;
        }
        let mut changes = self.store.changes();
        let ended = loop {
            changes.mark_unchanged();
            if let Err(ended) = self.send_new().await {
                break ended;
            }
            tokio::select! {
                () = self.sender.closed() => return,
                () = look_again(&mut changes) => {}
            }
        };
        if let Ended::Failed(error) = ended {
            tracing::warn!(%error, "a stream of events ends early");
            if let Writer::Agent(updates) = &self.writer {
                drop(self.send(updates.failed(error)).await);
            }
        }
    }

    /// Sends what is new.
    async fn send_new(&mut self) -> Result<(), Ended> {
        loop {
            // Before the events are read: what is written later is not before the end.
            let (end, events) = match self.scope {
                Scope::All => (None, self.store.events(None, self.after, PAGE).await?),
                Scope::Tree(tree) => {
                    let end = self.store.tree_end(tree).await?;
                    (end, self.store.tree_events(tree, self.after, PAGE).await?)
                }
            };
            let is_last_page = events.len() < PAGE;
            for event in events {
                self.after = event.position;
                let is_final = end == Some(event.position);
                for frame in self.writer.event(&*self.store, &event, is_final).await? {
                    self.send(frame).await?;
                }
            }
            if is_last_page {
                return match (self.scope, end) {
                    (Scope::Tree(tree), Some(end)) if self.after >= end => {
                        self.send(self.writer.end(&*self.store, tree, end).await?).await
                    }
                    _ => Ok(()),
                };
            }
        }
    }

    async fn send(&self, frame: EventFrame) -> Result<(), Ended> {
        let is_final = frame.is_final;
        match self.sender.send(frame).await {
            Ok(()) if !is_final => Ok(()),
            _ => Err(Ended::Over),
        }
    }
}

fn frame(event: &Event, is_final: bool) -> EventFrame {
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let Position { transaction, event: sequence } = event.position;
    let id = EventId { token: Token(number(transaction)), sequence: number(sequence) };
    let mut data = serde_json::to_value(event).unwrap_or_default();
    data["status"] = json!(status_after(event.kind));
    data["progress"] = if event.kind == EventKind::Completed { json!(1.0) } else { Value::Null };
    data["final"] = json!(is_final);
    EventFrame::new(id, event.kind.as_str(), &data, is_final)
}

/// The end of a task whose events are not kept any more.
fn summary(task: &Task) -> EventFrame {
    let kind = task.status.as_str();
    let data = json!({
        "position": Position::default(), "task": task.id, "kind": kind, "at": task.completed_at,
        "status": task.status, "progress": task.progress, "final": true,
    });
    EventFrame::new(EventId::default(), kind, &data, true)
}

/// The state that an event leaves its task in.
fn status_after(kind: EventKind) -> Status {
    match kind {
        EventKind::Created | EventKind::Retried | EventKind::Reassigned => Status::Pending,
        EventKind::Assigned | EventKind::Started | EventKind::CancelRequested => Status::InProgress,
        EventKind::Completed => Status::Completed,
        EventKind::Failed => Status::Failed,
        EventKind::Cancelled => Status::Cancelled,
    }
}
