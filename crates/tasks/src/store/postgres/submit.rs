//! What people ask for: trees, cancels, retries.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use serde_json::Value;
use uuid::Uuid;

use super::super::{Result, StoreError, Submitted};
use super::settle::{COUNTED, settle, write_events};
use super::{message, read, to_json};
use crate::domain::{Cause, EventKind, NewEvent, NewTree, Status, TaskId};

pub(super) async fn submit(tx: &Transaction<'_>, tree: &NewTree) -> Result<Submitted> {
    if let Some(key) = &tree.key {
        // Submissions with one key take turns; the unique index would only make the second one fail.
        tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", &[key]).await?;
        let sql = "SELECT id, submission_digest FROM tasks WHERE idempotency_key = $1";
        if let Some(row) = tx.query_opt(sql, &[key]).await? {
            let (task, digest): (Uuid, String) = (row.get(0), row.get(1));
            if digest != tree.digest {
                return Err(StoreError::IdempotencyConflict { key: key.clone(), task: TaskId(task) });
            }
            return Ok(Submitted { tree: TaskId(task), is_new: false });
        }
    }
    insert_tasks(tx, tree).await?;
    insert_dependencies(tx, tree).await?;
    if let Some(sent) = &tree.message {
        message::insert(tx, tree.id(), sent).await?;
    }
    Ok(Submitted { tree: tree.id(), is_new: true })
}

async fn insert_tasks(tx: &Transaction<'_>, tree: &NewTree) -> Result<()> {
    let classes = placement_classes(tx, tree).await?;
    let sql = format!(
        "WITH moved AS (INSERT INTO tasks (id, tree_id, parent_id, name, executor, status, priority, run_at, placement_id,
                 unmet_deps, max_attempts, timeout_seconds, backoff, idempotency_key, submission_digest, inputs, created_at)
             SELECT t.id, $1, t.parent, t.name, t.executor, 0, t.priority, coalesce(at_ms(t.run_at), clock_timestamp()),
                 t.class, t.unmet, t.attempts, t.timeout, t.backoff, CASE WHEN t.id = $1 THEN $2 END, $3, t.inputs,
                 clock_timestamp()
             FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::smallint[], $9::bigint[], $10::int[],
                 $11::int[], $12::int[], $13::int[], $14::jsonb[], $15::jsonb[])
                 AS t(id, parent, name, executor, priority, run_at, class, unmet, attempts, timeout, backoff, inputs)
             RETURNING id, NULL::smallint AS before, 0::smallint AS after),
         {COUNTED}
         INSERT INTO task_events (task_id, event_type) SELECT id, 'created' FROM moved"
    );
    let statement = tx.prepare_cached(&sql).await?;
    let tasks = || tree.tasks.iter();
    let ids: Vec<Uuid> = tasks().map(|task| task.id.0).collect();
    let parents: Vec<Option<Uuid>> = tasks().map(|task| task.parent.map(|parent| parent.0)).collect();
    let names: Vec<&str> = tasks().map(|task| task.spec.name.as_str()).collect();
    let executors: Vec<&str> = tasks().map(|task| task.spec.executor.as_str()).collect();
    let priorities: Vec<i16> = tasks().map(|task| i16::from(task.spec.priority.get())).collect();
    let times: Vec<Option<i64>> = tasks().map(|task| task.spec.run_at.map(|time| time.0)).collect();
    let numbers: Vec<i32> = tasks().map(|task| classes[&task.placement.digest()]).collect();
    let unmet: Vec<i32> =
        tasks().map(|task| i32::try_from(task.dependencies.len()).unwrap_or(i32::MAX)).collect();
    let attempts: Vec<i32> = tasks().map(|task| task.spec.max_attempts.cast_signed()).collect();
    let timeouts: Vec<Option<i32>> =
        tasks().map(|task| task.spec.timeout_seconds.map(u32::cast_signed)).collect();
    let backoffs: Vec<Value> = tasks().map(|task| to_json(&task.spec.backoff)).collect();
    let inputs: Vec<&Value> = tasks().map(|task| &task.spec.inputs).collect();
    tx.execute(
        &statement,
        &[
            &tree.id().0,
            &tree.key,
            &tree.digest,
            &ids,
            &parents,
            &names,
            &executors,
            &priorities,
            &times,
            &numbers,
            &unmet,
            &attempts,
            &timeouts,
            &backoffs,
            &inputs,
        ],
    )
    .await?;
    Ok(())
}

/// The numbers of the placement classes of a tree, by digest; new ones are stored.
async fn placement_classes(tx: &Transaction<'_>, tree: &NewTree) -> Result<BTreeMap<String, i32>> {
    let classes: BTreeMap<String, Value> =
        tree.tasks.iter().map(|task| (task.placement.digest(), to_json(&task.placement))).collect();
    let (digests, constraints): (Vec<String>, Vec<Value>) = classes.into_iter().unzip();
    let select = tx.prepare_cached("SELECT digest, id FROM placement_classes WHERE digest = ANY($1)").await?;
    let known = tx.query(&select, &[&digests]).await?;
    if known.len() == digests.len() {
        return Ok(known.iter().map(|row| (row.get(0), row.get(1))).collect());
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO placement_classes (digest, constraints) SELECT * FROM unnest($1::text[], $2::jsonb[])
             ON CONFLICT (digest) DO NOTHING",
        )
        .await?;
    tx.execute(&insert, &[&digests, &constraints]).await?;
    Ok(tx.query(&select, &[&digests]).await?.iter().map(|row| (row.get(0), row.get(1))).collect())
}

async fn insert_dependencies(tx: &Transaction<'_>, tree: &NewTree) -> Result<()> {
    let (mut tasks, mut on, mut required) = (Vec::new(), Vec::new(), Vec::new());
    for task in &tree.tasks {
        for dependency in &task.dependencies {
            tasks.push(task.id.0);
            on.push(dependency.on.0);
            required.push(dependency.required);
        }
    }
    if tasks.is_empty() {
        return Ok(());
    }
    let statement = tx
        .prepare_cached(
            "INSERT INTO task_dependencies (task_id, depends_on, required)
             SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::boolean[])",
        )
        .await?;
    tx.execute(&statement, &[&tasks, &on, &required]).await?;
    Ok(())
}

pub(super) async fn cancel(tx: &Transaction<'_>, task: TaskId) -> Result<bool> {
    // The lease before the task, in the order in which attempts end.
    let sql = "UPDATE task_leases SET cancel_requested = true WHERE task_id = $1 AND NOT cancel_requested";
    if tx.execute(sql, &[&task.0]).await? == 1 {
        tx.execute("UPDATE tasks SET cancel_requested_at = clock_timestamp() WHERE id = $1", &[&task.0])
            .await?;
        write_events(tx, &[NewEvent::new(task, EventKind::CancelRequested)]).await?;
        return Ok(true);
    }
    if cancel_pending(tx, "id = $1", task).await?.len() == 1 {
        write_events(tx, &[NewEvent::new(task, EventKind::Cancelled)]).await?;
        settle(tx, vec![(task, Status::Cancelled)]).await?;
        return Ok(true);
    }
    let sql =
        "SELECT t.status, EXISTS (SELECT 1 FROM task_leases l WHERE l.task_id = t.id AND l.cancel_requested)
               FROM tasks t WHERE t.id = $1";
    let row = tx.query_opt(sql, &[&task.0]).await?.ok_or(StoreError::UnknownTask(task))?;
    match (Status::from_code(row.get(0)), row.get(1)) {
        (Some(Status::Cancelled), _) | (Some(Status::InProgress), true) => Ok(false),
        (Some(status), _) if status.is_terminal() => {
            Ok(status.become_by(Cause::Cancel, Status::Cancelled).map(|_| true)?)
        }
        // It was claimed or given back in between.
        _ => Err(StoreError::Contended(format!("task {task} changed while it was cancelled"))),
    }
}

/// Cancels what has not ended of a tree. Leases before tasks, in the order in which attempts end.
pub(super) async fn cancel_tree(tx: &Transaction<'_>, task: TaskId) -> Result<u64> {
    let tree = read::tree_of(tx, task).await?;
    let sql = "UPDATE task_leases l SET cancel_requested = true FROM tasks t
               WHERE t.id = l.task_id AND t.tree_id = $1 AND NOT l.cancel_requested RETURNING l.task_id";
    let running: Vec<Uuid> = tx.query(sql, &[&tree.0]).await?.iter().map(|row| row.get(0)).collect();
    let sql = "UPDATE tasks SET cancel_requested_at = clock_timestamp() WHERE id = ANY($1)";
    tx.execute(sql, &[&running]).await?;
    // Locked in the order of their ids, as completions lock them.
    let sql = "SELECT id FROM tasks WHERE tree_id = $1 AND status = 0 ORDER BY id FOR NO KEY UPDATE";
    tx.query(sql, &[&tree.0]).await?;
    let pending = cancel_pending(tx, "tree_id = $1", tree).await?;
    let event = |kind: EventKind| move |task: &Uuid| NewEvent::new(TaskId(*task), kind);
    let mut events: Vec<NewEvent> = running.iter().map(event(EventKind::CancelRequested)).collect();
    events.extend(pending.iter().map(event(EventKind::Cancelled)));
    write_events(tx, &events).await?;
    settle(tx, pending.iter().map(|task| (TaskId(*task), Status::Cancelled)).collect()).await?;
    Ok(events.len() as u64)
}

/// Cancels what is pending among the tasks that a condition on an id names.
async fn cancel_pending(tx: &Transaction<'_>, which: &str, id: TaskId) -> Result<Vec<Uuid>> {
    let sql = format!(
        "WITH moved AS (UPDATE tasks SET status = 4, cancel_requested_at = clock_timestamp(), completed_at = clock_timestamp()
             WHERE {which} AND status = 0 RETURNING id, 0::smallint AS before, 4::smallint AS after),
         {COUNTED} SELECT id FROM moved"
    );
    Ok(tx.query(&sql, &[&id.0]).await?.iter().map(|row| row.get(0)).collect())
}

pub(super) async fn retry(tx: &Transaction<'_>, task: TaskId) -> Result<()> {
    let row = tx.query_opt("SELECT status FROM tasks WHERE id = $1 FOR UPDATE", &[&task.0]).await?;
    let status = Status::from_code(row.ok_or(StoreError::UnknownTask(task))?.get(0));
    let status = status.ok_or_else(|| StoreError::Corrupt(format!("status of task {task}")))?;
    status.become_by(Cause::Retry, Status::Pending)?;
    if let Some(on) = failed_dependency(tx, task).await? {
        return Err(StoreError::BlockedByDependency { task, on });
    }
    let mut revived = vec![task];
    while let Some(task) = revived.pop() {
        make_pending(tx, task).await?;
        revived.extend(revivable_dependants(tx, task).await?);
    }
    Ok(())
}

/// A required dependency that will not complete unless it is retried.
async fn failed_dependency(tx: &Transaction<'_>, task: TaskId) -> Result<Option<TaskId>> {
    let sql = "SELECT d.id FROM task_dependencies e JOIN tasks d ON d.id = e.depends_on
               WHERE e.task_id = $1 AND e.required AND d.status IN (3, 4) LIMIT 1";
    Ok(tx.query_opt(sql, &[&task.0]).await?.map(|row| TaskId(row.get(0))))
}

async fn make_pending(tx: &Transaction<'_>, task: TaskId) -> Result<()> {
    let sql = format!(
        "WITH moved AS (UPDATE tasks SET status = 0, failures = 0, crashes = 0, error = NULL, progress = NULL,
                 completed_at = NULL, cancel_requested_at = NULL, run_at = greatest(run_at, clock_timestamp())
             WHERE id = $1 AND status = 3 RETURNING 3::smallint AS before, 0::smallint AS after),
         {COUNTED} SELECT 1"
    );
    tx.execute(&sql, &[&task.0]).await?;
    write_events(tx, &[NewEvent::new(task, EventKind::Retried)]).await
}

/// Tasks that failed only because this one had: they still have unmet dependencies, and none of those has failed.
async fn revivable_dependants(tx: &Transaction<'_>, task: TaskId) -> Result<Vec<TaskId>> {
    let sql = "SELECT t.id FROM task_dependencies e JOIN tasks t ON t.id = e.task_id
               WHERE e.depends_on = $1 AND e.required AND t.status = 3 AND t.unmet_deps > 0 ORDER BY t.id FOR UPDATE OF t";
    let mut revivable = Vec::new();
    for row in tx.query(sql, &[&task.0]).await? {
        let dependant = TaskId(row.get(0));
        if failed_dependency(tx, dependant).await?.is_none() {
            revivable.push(dependant);
        }
    }
    Ok(revivable)
}
