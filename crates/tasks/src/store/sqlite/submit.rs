//! What people ask for: trees, cancels, retries.

use rusqlite::OptionalExtension as _;

use super::super::{Result, StoreError, Submitted};
use super::settle::{settle, write_event};
use super::value::Json;
use super::{Tx, message, read};
use crate::domain::{Cause, EventKind, NewEvent, NewTask, NewTree, Placement, Status, TaskId};

pub(super) fn submit(tx: &Tx<'_>, tree: &NewTree) -> Result<Submitted> {
    if let Some(key) = &tree.key
        && let Some((task, digest)) = find_key(tx, key)?
    {
        if digest != tree.digest {
            return Err(StoreError::IdempotencyConflict { key: key.clone(), task });
        }
        return Ok(Submitted { tree: task, is_new: false });
    }
    for (index, task) in tree.tasks.iter().enumerate() {
        let key = tree.key.as_ref().filter(|_| index == 0);
        insert_task(tx, tree, task, key)?;
    }
    if let Some(sent) = &tree.message {
        message::insert(tx, tree.id(), sent)?;
    }
    Ok(Submitted { tree: tree.id(), is_new: true })
}

fn find_key(tx: &Tx<'_>, key: &str) -> Result<Option<(TaskId, String)>> {
    let found = tx
        .db
        .prepare_cached("SELECT id, submission_digest FROM tasks WHERE idempotency_key = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found)
}

fn insert_task(tx: &Tx<'_>, tree: &NewTree, task: &NewTask, key: Option<&String>) -> Result<()> {
    let spec = &task.spec;
    tx.db
        .prepare_cached(
            "INSERT INTO tasks (id, tree_id, parent_id, name, executor, status, priority, run_at, placement_id,
                 unmet_deps, max_attempts, timeout_seconds, backoff, idempotency_key, submission_digest, inputs,
                 created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute((
            task.id,
            tree.id(),
            task.parent,
            &spec.name,
            &spec.executor,
            spec.priority.get(),
            spec.run_at.unwrap_or(tx.now),
            placement_class(tx, &task.placement)?,
            task.dependencies.len(),
            spec.max_attempts,
            spec.timeout_seconds,
            Json(&spec.backoff),
            key,
            &tree.digest,
            Json(&spec.inputs),
            tx.now,
        ))?;
    let mut statement = tx.db.prepare_cached(
        "INSERT INTO task_dependencies (task_id, depends_on, required) VALUES (?1, ?2, ?3)",
    )?;
    for dependency in &task.dependencies {
        statement.execute((task.id, dependency.on, dependency.required))?;
    }
    write_event(tx, &NewEvent::new(task.id, EventKind::Created))
}

/// The number of a placement class; it is stored if it is new.
fn placement_class(tx: &Tx<'_>, placement: &Placement) -> Result<i32> {
    let digest = placement.digest();
    let known = tx
        .db
        .prepare_cached("SELECT id FROM placement_classes WHERE digest = ?1")?
        .query_row([&digest], |row| row.get(0))
        .optional()?;
    if let Some(class) = known {
        return Ok(class);
    }
    let sql = "INSERT INTO placement_classes (digest, constraints) VALUES (?1, ?2) RETURNING id";
    Ok(tx.db.query_row(sql, (&digest, Json(placement)), |row| row.get(0))?)
}

pub(super) fn cancel(tx: &Tx<'_>, task: TaskId) -> Result<bool> {
    match status_of(tx, task)? {
        Status::Pending => {
            let sql =
                "UPDATE tasks SET status = 4, cancel_requested_at = ?2, completed_at = ?2 WHERE id = ?1";
            tx.db.execute(sql, (task, tx.now))?;
            write_event(tx, &NewEvent::new(task, EventKind::Cancelled))?;
            settle(tx, task, Status::Cancelled)?;
            Ok(true)
        }
        Status::InProgress => {
            let sql =
                "UPDATE task_leases SET cancel_requested = 1 WHERE task_id = ?1 AND NOT cancel_requested";
            if tx.db.execute(sql, [task])? == 0 {
                return Ok(false);
            }
            tx.db.execute("UPDATE tasks SET cancel_requested_at = ?2 WHERE id = ?1", (task, tx.now))?;
            write_event(tx, &NewEvent::new(task, EventKind::CancelRequested))?;
            Ok(true)
        }
        Status::Cancelled => Ok(false),
        ended => Ok(ended.become_by(Cause::Cancel, Status::Cancelled).map(|_| true)?),
    }
}

/// Cancels what has not ended of a tree. Pending tasks are all cancelled before their dependants are told, so that none of them fails.
pub(super) fn cancel_tree(tx: &Tx<'_>, task: TaskId) -> Result<u64> {
    let tree = read::tree_of(tx.db, task)?;
    let mut statement = tx.db.prepare_cached(
        "UPDATE tasks SET status = 4, cancel_requested_at = ?2, completed_at = ?2 WHERE tree_id = ?1 AND status = 0
         RETURNING id",
    )?;
    let pending: Vec<TaskId> =
        statement.query_map((tree, tx.now), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for task in &pending {
        write_event(tx, &NewEvent::new(*task, EventKind::Cancelled))?;
    }
    for task in &pending {
        settle(tx, *task, Status::Cancelled)?;
    }
    let mut statement = tx.db.prepare_cached(
        "UPDATE task_leases SET cancel_requested = 1
         WHERE NOT cancel_requested AND task_id IN (SELECT id FROM tasks WHERE tree_id = ?1)
         RETURNING task_id",
    )?;
    let running: Vec<TaskId> =
        statement.query_map([tree], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for task in &running {
        tx.db.execute("UPDATE tasks SET cancel_requested_at = ?2 WHERE id = ?1", (task, tx.now))?;
        write_event(tx, &NewEvent::new(*task, EventKind::CancelRequested))?;
    }
    Ok((pending.len() + running.len()) as u64)
}

pub(super) fn retry(tx: &Tx<'_>, task: TaskId) -> Result<()> {
    status_of(tx, task)?.become_by(Cause::Retry, Status::Pending)?;
    if let Some(on) = failed_dependency(tx, task)? {
        return Err(StoreError::BlockedByDependency { task, on });
    }
    let mut revived = vec![task];
    while let Some(task) = revived.pop() {
        make_pending(tx, task)?;
        revived.extend(revivable_dependants(tx, task)?);
    }
    Ok(())
}

fn status_of(tx: &Tx<'_>, task: TaskId) -> Result<Status> {
    let status =
        tx.db.query_row("SELECT status FROM tasks WHERE id = ?1", [task], |row| row.get(0)).optional()?;
    status.ok_or(StoreError::UnknownTask(task))
}

/// A required dependency that will not complete unless it is retried.
fn failed_dependency(tx: &Tx<'_>, task: TaskId) -> Result<Option<TaskId>> {
    let sql = "SELECT d.id FROM task_dependencies e JOIN tasks d ON d.id = e.depends_on
               WHERE e.task_id = ?1 AND e.required AND d.status IN (3, 4) LIMIT 1";
    Ok(tx.db.query_row(sql, [task], |row| row.get(0)).optional()?)
}

fn make_pending(tx: &Tx<'_>, task: TaskId) -> Result<()> {
    tx.db.execute(
        "UPDATE tasks SET status = 0, failures = 0, crashes = 0, error = NULL, progress = NULL, completed_at = NULL,
             cancel_requested_at = NULL, run_at = max(run_at, ?2) WHERE id = ?1",
        (task, tx.now),
    )?;
    write_event(tx, &NewEvent::new(task, EventKind::Retried))
}

/// Tasks that failed only because this one had: they still have unmet dependencies, and none of those has failed.
fn revivable_dependants(tx: &Tx<'_>, task: TaskId) -> Result<Vec<TaskId>> {
    let mut statement = tx.db.prepare_cached(
        "SELECT t.id FROM task_dependencies e JOIN tasks t ON t.id = e.task_id
         WHERE e.depends_on = ?1 AND e.required AND t.status = 3 AND t.unmet_deps > 0",
    )?;
    let failed: Vec<TaskId> =
        statement.query_map([task], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut revivable = Vec::new();
    for dependant in failed {
        if failed_dependency(tx, dependant)?.is_none() {
            revivable.push(dependant);
        }
    }
    Ok(revivable)
}
