//! `tasks.*`: submitting, looking, cancelling, retrying.

use hyperscale_api::server::to_result;
use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_tasks::domain::{Filter, Position, Status, TreeSpec};
use serde_json::{Map, Value};

use super::backend::{Plane, TaskBackend};
use super::refusals::{self, params};
use super::view::{
    Cancel, Cancelled, Create, Created, CreatedTask, EventList, Events, LIMIT_MAX, List, Nothing, OfTask,
    TaskList, Tree, without_contents,
};

type Params = Map<String, Value>;

pub(super) async fn create(backend: &TaskBackend, plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let Create { tasks, task, idempotency_key } = params(given)?;
    let tasks = match (tasks, task) {
        (Some(tasks), None) => tasks,
        (None, Some(task)) => vec![task],
        _ => {
            let message = "wrong parameters: give either `tasks`, a list, or `task`, a single one";
            return Err(RpcError::new(ErrorCode::InvalidParams, message));
        }
    };
    to_result(&submit(backend, plane, TreeSpec { tasks, idempotency_key }).await?)
}

/// Checks and stores a tree.
pub(super) async fn submit(
    backend: &TaskBackend,
    plane: &Plane,
    spec: TreeSpec,
) -> Result<Created, RpcError> {
    let tree = backend.executors.prepare(spec).map_err(|error| refusals::tree(&error))?;
    let line = |id, name: &str| CreatedTask { id, name: name.to_owned() };
    let mut tasks: Vec<CreatedTask> = tree.tasks.iter().map(|task| line(task.id, &task.spec.name)).collect();
    let submitted = plane.store.submit(tree).await.map_err(refusals::store)?;
    if !submitted.is_new {
        let known = plane.store.tree(submitted.tree).await.map_err(refusals::store)?;
        tasks = known.iter().map(|known| line(known.task.id, &known.task.name)).collect();
    }
    Ok(Created { tree: submitted.tree, is_new: submitted.is_new, tasks })
}

pub(super) async fn get(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let OfTask { task } = params(given)?;
    to_result(&plane.store.task(task).await.map_err(refusals::store)?)
}

pub(super) async fn list(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let List { status, executor, name, tree, roots, limit, after } = params(given)?;
    let limit = checked_limit(limit)?;
    let filter = Filter { status, executor, name, tree, roots, before: after };
    // One more than is shown says whether there is another page.
    let mut tasks = plane.store.tasks(&filter, limit + 1).await.map_err(refusals::store)?;
    let has_more = tasks.len() > limit;
    tasks.truncate(limit);
    let next = tasks.last().filter(|_| has_more).map(|task| task.id);
    to_result(&TaskList { tasks: tasks.iter().map(without_contents).collect(), next })
}

pub(super) async fn tree(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let OfTask { task } = params(given)?;
    let tasks = plane.store.tree(task).await.map_err(refusals::store)?;
    let tree = tasks.first().map_or(task, |first| first.task.tree);
    to_result(&Tree { tree, tasks })
}

pub(super) async fn cancel(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let Cancel { task, tree } = params(given)?;
    let requested = if tree {
        plane.store.cancel_tree(task).await
    } else {
        plane.store.cancel(task).await.map(u64::from)
    };
    let requested = requested.map_err(refusals::store)?;
    let status: Status = plane.store.task(task).await.map_err(refusals::store)?.status;
    to_result(&Cancelled { task, status, requested })
}

pub(super) async fn retry(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let OfTask { task } = params(given)?;
    plane.store.retry(task).await.map_err(refusals::store)?;
    to_result(&plane.store.task(task).await.map_err(refusals::store)?)
}

pub(super) async fn events(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let Events { task, after, limit } = params(given)?;
    let limit = checked_limit(limit)?;
    if let Some(task) = task {
        // Without it a task that does not exist would look like one to which nothing happened.
        plane.store.task(task).await.map_err(refusals::store)?;
    }
    let after = after.unwrap_or(Position::default());
    let events = plane.store.events(task, after, limit).await.map_err(refusals::store)?;
    let next = events.last().filter(|_| events.len() == limit).map(|event| event.position);
    to_result(&EventList { events, next })
}

pub(super) async fn counts(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let Nothing {} = params(given)?;
    to_result(&plane.store.counts().await.map_err(refusals::store)?)
}

/// Streams are not responses.
pub(super) fn subscribe() -> RpcError {
    RpcError::refused(
        "JSON-RPC over HTTP has one response per request",
        "use_stream",
        "open GET /events/{task} for the events of a tree, or GET /events/tasks for all",
    )
}

pub(super) fn checked_limit(limit: u32) -> Result<usize, RpcError> {
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(limit as usize);
    }
    Err(RpcError::new(ErrorCode::InvalidParams, format!("`limit` must be 1 to {LIMIT_MAX}")))
}
