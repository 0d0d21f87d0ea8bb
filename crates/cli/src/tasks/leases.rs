//! Leases for workers without a database. Every write shows the token of its lease; the store checks the fence in it again.

use std::time::Duration;

use hyperscale_api::server::to_result;
use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_tasks::domain::{BootId, LeaseToken, Outcome, Report, TaskId};
use hyperscale_tasks::store::{Claim, Claimed, Held};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::backend::{Plane, TaskBackend, Worker};
use super::nodes;
use super::refusals::{self, params};
use super::trees::checked_limit;
use super::view::{LIMIT_MAX, Nothing, without_contents};

type Params = Map<String, Value>;

/// A worker that wants tasks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    node: String,
    boot: BootId,
    #[serde(default = "one")]
    limit: u32,
    /// Only this one, for `acquire_lease`.
    #[serde(default)]
    task: Option<TaskId>,
}

fn one() -> u32 {
    1
}

/// One lease or several, and how far each is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Renewal {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    tokens: Vec<String>,
    #[serde(default)]
    progress: Option<f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfLease {
    token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Completion {
    token: String,
    #[serde(default)]
    result: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureReport {
    token: String,
    error: String,
    /// Whether another attempt may succeed.
    #[serde(default = "yes")]
    retry: bool,
    /// Whether it stopped because it was asked to.
    #[serde(default)]
    cancelled: bool,
}

fn yes() -> bool {
    true
}

pub(super) async fn find(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let Wanted { node, boot, limit, .. } = params(given)?;
    let (limit, profile) = (checked_limit(limit)?, nodes::profile(plane, &node, boot).await?);
    let tasks = plane.store.executable(&profile, limit).await.map_err(refusals::store)?;
    Ok(json!({ "tasks": tasks.iter().map(without_contents).collect::<Vec<_>>(), "next": null }))
}

pub(super) async fn claim(backend: &TaskBackend, plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let wanted: Wanted = params(given)?;
    if wanted.task.is_some() {
        let message = "wrong parameters: `task` belongs to `acquire_lease`";
        return Err(RpcError::new(ErrorCode::InvalidParams, message));
    }
    let claim = claim_of(backend, plane, &wanted).await?;
    let claimed = plane.store.claim(&claim).await.map_err(refusals::store)?;
    Ok(begun(plane.worker()?, claimed, claim.lease))
}

pub(super) async fn acquire(backend: &TaskBackend, plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let wanted: Wanted = params(given)?;
    let missing = || RpcError::new(ErrorCode::InvalidParams, "wrong parameters: `task` is missing");
    let task = wanted.task.ok_or_else(missing)?;
    let claim = claim_of(backend, plane, &wanted).await?;
    let claimed = plane.store.acquire(&claim, task).await.map_err(refusals::store)?;
    let Some(claimed) = claimed else { return Err(not_acquired(plane, task).await?) };
    Ok(begun(plane.worker()?, vec![claimed], claim.lease))
}

/// Why a task could not be leased to a worker.
async fn not_acquired(plane: &Plane, task: TaskId) -> Result<RpcError, RpcError> {
    let task = plane.store.task(task).await.map_err(refusals::store)?;
    if let Some(missing) = task.unplaceable {
        return Ok(RpcError::new(ErrorCode::Unplaceable, missing).fix("start a node that has it"));
    }
    let message =
        format!("task {} is {}, not due, or this worker may not run it", task.id, task.status.as_str());
    Ok(RpcError::new(ErrorCode::BadTransition, message).fix("claim another one with `claim_tasks`"))
}

async fn claim_of(backend: &TaskBackend, plane: &Plane, wanted: &Wanted) -> Result<Claim, RpcError> {
    plane.worker()?;
    let limit = checked_limit(wanted.limit)?;
    let node = nodes::profile(plane, &wanted.node, wanted.boot).await?;
    Ok(Claim { node, boot: wanted.boot, limit, lease: backend.settings.lease })
}

/// Hands out the tokens of claimed tasks.
fn begun(worker: &Worker, claimed: Vec<Claimed>, lease: Duration) -> Value {
    worker.node.counters().claims.add(claimed.len());
    let line = |claimed: Claimed| {
        let Held { task, fence } = claimed.held;
        json!({
            "task": task,
            "token": worker.key.sign(LeaseToken { task, fence }),
            "name": claimed.name,
            "executor": claimed.executor,
            "attempt": claimed.attempt,
            "inputs": claimed.inputs,
            "dependencies": claimed.dependencies,
            "timeout_seconds": claimed.timeout.map(|timeout| timeout.as_secs()),
        })
    };
    let tasks: Vec<Value> = claimed.into_iter().map(line).collect();
    json!({ "tasks": tasks, "lease_seconds": lease.as_secs_f64() })
}

pub(super) async fn renew(backend: &TaskBackend, plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let worker = plane.worker()?;
    let Renewal { token, tokens, progress } = params(given)?;
    let tokens: Vec<String> = token.into_iter().chain(tokens).collect();
    if tokens.is_empty() || tokens.len() > LIMIT_MAX as usize {
        let message = format!("wrong parameters: give `token`, or 1 to {LIMIT_MAX} `tokens`");
        return Err(RpcError::new(ErrorCode::InvalidParams, message));
    }
    let held = tokens.iter().map(|token| verified(worker, token)).collect::<Result<Vec<Held>, _>>()?;
    let renewed = plane.store.renew(&held, backend.settings.lease).await.map_err(refusals::store)?;
    worker.node.counters().renewals.add(renewed.len());
    if let Some(part) = progress {
        for held in held.iter().filter(|held| renewed.iter().any(|renewed| renewed.task == held.task)) {
            plane.store.progress(*held, part.clamp(0.0, 1.0)).await.map_err(refusals::store)?;
        }
    }
    let is_lost = |held: &&Held| renewed.iter().all(|renewed| renewed.task != held.task);
    let lost: Vec<TaskId> = held.iter().filter(is_lost).map(|held| held.task).collect();
    worker.node.counters().leases_lost.add(lost.len());
    let lines: Vec<Value> =
        renewed.iter().map(|renewed| json!({ "task": renewed.task, "cancel": renewed.cancel })).collect();
    Ok(json!({
        "renewed": lines,
        "lost": lost,
        "lease_seconds": backend.settings.lease.as_secs_f64(),
    }))
}

pub(super) async fn release(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let worker = plane.worker()?;
    let OfLease { token } = params(given)?;
    let held = verified(worker, &token)?;
    let released = plane.store.release(&[held]).await.map_err(refusals::store)?;
    if released.is_empty() {
        return Err(lost(worker, held));
    }
    task_now(plane, held.task).await
}

pub(super) async fn complete(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let Completion { token, result } = params(given)?;
    report(plane, &token, Outcome::Completed(result)).await
}

pub(super) async fn fail(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let FailureReport { token, error, retry, cancelled } = params(given)?;
    let outcome = match (cancelled, retry) {
        (true, _) => Outcome::Cancelled,
        (false, true) => Outcome::Failed(error),
        (false, false) => Outcome::FailedForGood(error),
    };
    report(plane, &token, outcome).await
}

async fn report(plane: &Plane, token: &str, outcome: Outcome) -> Result<Value, RpcError> {
    let worker = plane.worker()?;
    let held = verified(worker, token)?;
    let report = Report { task: held.task, fence: held.fence, outcome };
    let finished = plane.store.finish(vec![report]).await.map_err(refusals::store)?;
    if finished.is_empty() {
        worker.node.counters().stale_reports.add(1);
        return Err(lost(worker, held));
    }
    worker.node.counters().finished.add(1);
    task_now(plane, held.task).await
}

/// Takes leases that are over. Only the leader does that.
pub(super) async fn recover(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let Nothing {} = params(given)?;
    let worker = plane.worker()?;
    if let Some(recovered) = worker.node.recover().await.map_err(refusals::store)? {
        return Ok(json!({ "recovered": recovered }));
    }
    let leader = plane.store.leader().await.map_err(refusals::store)?.filter(|leader| leader.is_current);
    let nodes = plane.store.nodes().await.map_err(refusals::store)?;
    let address = leader.as_ref().and_then(|leader| {
        nodes.iter().find(|node| node.boot == leader.boot).and_then(|node| node.address.clone())
    });
    let error = RpcError::new(ErrorCode::NotLeader, "this node does not lead").fix("ask the node that leads");
    Err(match leader {
        Some(leader) => error.with("leader", json!({ "node": leader.node, "http": address })),
        None => error,
    })
}

fn verified(worker: &Worker, token: &str) -> Result<Held, RpcError> {
    let LeaseToken { task, fence } = worker.key.verify(token).map_err(refusals::token)?;
    Ok(Held { task, fence })
}

fn lost(worker: &Worker, held: Held) -> RpcError {
    worker.node.counters().leases_lost.add(1);
    refusals::lease_lost(format!("the lease of task {} is lost", held.task))
}

async fn task_now(plane: &Plane, task: TaskId) -> Result<Value, RpcError> {
    to_result(&without_contents(&plane.store.task(task).await.map_err(refusals::store)?))
}
