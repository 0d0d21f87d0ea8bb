//! A tree as a task of A2A.

use hyperscale_api::RpcError;
use hyperscale_tasks::domain::{
    Status, Task, TaskId, Timestamp, TreeCounts, TreeMessage, TreeOverview, TreeTask, updated_at,
};
use hyperscale_tasks::store::Store;
use serde_json::{Value, json};

use super::errors;
use super::message::{Content, Message, Part};
use crate::tasks::refusals;

/// Artifacts, and bytes of them, in one response.
const ARTIFACTS_MAX: usize = 1_000;
pub(super) const ARTIFACT_BYTES_MAX: usize = 8 << 20;
/// Parts of a task whose errors are told.
const ERRORS_MAX: usize = 3;

/// A task of A2A.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentTask {
    pub(super) id: TaskId,
    pub(super) context: String,
    pub(super) status: Status,
    pub(super) updated_at: Timestamp,
    counts: TreeCounts,
    /// Part of its work that is done, 0 to 1.
    progress: f32,
    /// What is to be said about its state.
    note: Option<String>,
    /// Results of its parts; none if they were not asked for.
    pub(super) artifacts: Option<Vec<Artifact>>,
    left_out: usize,
    /// The message that it was made from, where it is asked for.
    pub(super) history: Vec<Message>,
}

/// The result of one task of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Artifact {
    pub(super) task: TaskId,
    pub(super) name: String,
    pub(super) executor: String,
    pub(super) part: Part,
}

impl Artifact {
    /// The artifact of a task that left something.
    pub(super) fn of(task: &Task) -> Option<Self> {
        let result = task.result.as_ref().filter(|result| !result.is_null())?;
        let part = Content::Data(result.clone()).into();
        Some(Self { task: task.id, name: task.name.clone(), executor: task.executor.clone(), part })
    }
}

impl AgentTask {
    /// Reads a task with everything it has.
    pub(super) async fn read(store: &dyn Store, id: TaskId) -> Result<Self, RpcError> {
        let mut budget = ARTIFACT_BYTES_MAX;
        Self::read_within(store, id, Some(&mut budget)).await
    }

    /// Reads a task whose artifacts may have so many bytes, and takes what they have off; without artifacts if there is no budget.
    pub(super) async fn read_within(
        store: &dyn Store,
        id: TaskId,
        budget: Option<&mut usize>,
    ) -> Result<Self, RpcError> {
        let tree = store.tree(id).await.map_err(refusals::store)?;
        let root = tree.first().map_or(id, |first| first.task.tree);
        if root != id {
            return Err(errors::part_of(id, root));
        }
        let message = store.message(id).await.map_err(refusals::store)?;
        Ok(Self::of(id, &tree, message, budget))
    }

    fn of(id: TaskId, tree: &[TreeTask], message: Option<TreeMessage>, budget: Option<&mut usize>) -> Self {
        let counts = TreeCounts::of(tree);
        let (artifacts, left_out) = budget.map(|budget| artifacts(tree, budget)).unzip();
        let history = message.as_ref().and_then(|message| sent(id, message)).into_iter().collect();
        Self {
            id,
            context: message.map_or_else(|| id.to_string(), |message| message.context),
            status: counts.status(),
            updated_at: updated_at(tree),
            counts,
            progress: progress(tree),
            note: note(tree, counts.status()),
            artifacts,
            left_out: left_out.unwrap_or(0),
            history,
        }
    }

    /// A task that was just submitted.
    pub(super) fn submitted(id: TaskId, tasks: u32, at: Timestamp, message: &TreeMessage) -> Self {
        let counts = TreeCounts { waiting: tasks, ..TreeCounts::default() };
        let overview = TreeOverview { tree: id, context: message.context.clone(), counts, updated_at: at };
        Self::of_overview(&overview, Some(message))
    }

    /// A task as lists show it.
    pub(super) fn of_overview(overview: &TreeOverview, message: Option<&TreeMessage>) -> Self {
        let counts = overview.counts;
        let TreeCounts { waiting, running, completed, failed, cancelled, tolerated } = counts;
        let ended = completed + failed + cancelled + tolerated;
        Self {
            id: overview.tree,
            context: overview.context.clone(),
            status: counts.status(),
            updated_at: overview.updated_at,
            counts,
            progress: ended as f32 / (ended + waiting + running).max(1) as f32,
            note: None,
            artifacts: None,
            left_out: 0,
            history: message.and_then(|message| sent(overview.tree, message)).into_iter().collect(),
        }
    }

    /// The same with at most so many messages; none asks for no limit.
    #[must_use]
    pub(super) fn with_history(mut self, length: Option<usize>) -> Self {
        self.history.truncate(length.unwrap_or(usize::MAX));
        self
    }

    /// What the agent says about its state.
    pub(super) fn said(&self) -> Option<Message> {
        let id = format!("{}-{}", self.id, self.status.as_str());
        let note = self.note.clone()?;
        let (context, task) = (Some(self.context.clone()), Some(self.id.to_string()));
        Some(Message { context, task, ..Message::from_agent(id, note) })
    }

    pub(super) fn metadata(&self) -> Value {
        let mut metadata = json!({ "tasks": self.counts, "progress": self.progress });
        if self.left_out > 0 {
            metadata["artifactsLeftOut"] = json!(self.left_out);
        }
        metadata
    }
}

/// Results of a tree as far as there is room, and how many are left out.
fn artifacts(tree: &[TreeTask], budget: &mut usize) -> (Vec<Artifact>, usize) {
    let mut left_out = 0;
    let mut kept = Vec::new();
    for artifact in tree.iter().filter_map(|task| Artifact::of(&task.task)) {
        let Content::Data(result) = &artifact.part.content else { continue };
        let bytes = result.to_string().len();
        if kept.len() < ARTIFACTS_MAX && bytes <= *budget {
            *budget -= bytes;
            kept.push(artifact);
        } else {
            left_out += 1;
        }
    }
    (kept, left_out)
}

/// The message that a tree was made from, as it belongs to its task.
fn sent(id: TaskId, message: &TreeMessage) -> Option<Message> {
    // What was stored was written here; what cannot be read is not worth an error.
    let sent = Message::read(hyperscale_api::A2aVersion::V1_0, message.content.clone()).ok()?;
    Some(Message { context: Some(message.context.clone()), task: Some(id.to_string()), ..sent })
}

fn progress(tree: &[TreeTask]) -> f32 {
    let done = |TreeTask { task, .. }: &TreeTask| match task.status {
        status if status.is_terminal() => 1.0,
        _ => task.progress.unwrap_or(0.0),
    };
    tree.iter().map(done).sum::<f32>() / tree.len().max(1) as f32
}

/// What is to be said about a state: why it failed, why it cannot begin, that it is being stopped.
fn note(tree: &[TreeTask], status: Status) -> Option<String> {
    let tasks = || tree.iter().map(|task| &task.task);
    let told: Vec<String> = match status {
        Status::Failed => {
            let failed = tasks().filter(|task| task.status == Status::Failed);
            failed
                .map(|task| format!("{}: {}", task.name, task.error.as_deref().unwrap_or("failed")))
                .collect()
        }
        Status::Pending | Status::InProgress => {
            let stuck = |task: &Task| task.unplaceable.as_ref().map(|why| format!("{}: {why}", task.name));
            let is_stopping =
                tasks().any(|task| task.cancel_requested_at.is_some() && !task.status.is_terminal());
            let stopping = is_stopping.then(|| "cancellation was requested".to_owned());
            stopping.into_iter().chain(tasks().filter_map(stuck)).collect()
        }
        Status::Completed | Status::Cancelled => Vec::new(),
    };
    let more = told.len().saturating_sub(ERRORS_MAX);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    (!told.is_empty()).then(|| format!("{}{more}", told[..told.len().min(ERRORS_MAX)].join("; ")))
}
