//! What follows from the end of an attempt: the task's new state, its events, and the tasks that waited for it.

use rusqlite::OptionalExtension as _;

use super::super::Result;
use super::Tx;
use super::value::Json;
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::domain::{Budget, EventKind, NewEvent, Status, TaskId, Verdict};

/// Writes an event.
pub(super) fn write_event(tx: &Tx<'_>, event: &NewEvent) -> Result<()> {
    tx.db
        .prepare_cached(
            "INSERT INTO task_events (task_id, event_type, node_id, attempt_id, fence, epoch, details, timestamp)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            event.task,
            event.kind.as_str(),
            &event.node,
            event.attempt,
            event.fence,
            event.epoch,
            event.details.as_ref().map(Json),
            tx.now,
        ))?;
    Ok(())
}

/// What a leased task has used up.
pub(super) fn budget(tx: &Tx<'_>, task: TaskId, cancel_requested: bool) -> Result<Option<Budget>> {
    let found = tx
        .db
        .prepare_cached(
            "SELECT failures, crashes, max_attempts, backoff FROM tasks WHERE id = ?1 AND status = 1",
        )?
        .query_row([task], |row| {
            let Json(backoff) = row.get(3)?;
            Ok(Budget {
                failures: row.get(0)?,
                crashes: row.get(1)?,
                max_attempts: row.get(2)?,
                backoff,
                cancel_requested,
            })
        })
        .optional()?;
    Ok(found)
}

/// Carries a verdict out. The lease is consumed already; `event` says under which right.
pub(super) fn apply(tx: &Tx<'_>, verdict: &Verdict, event: NewEvent) -> Result<()> {
    let is_pending = verdict.status == Status::Pending;
    tx.db
        .prepare_cached(
            "UPDATE tasks SET status = ?2, failures = ?3, crashes = ?4, result = ?5, error = CASE WHEN ?2 = 2 THEN NULL ELSE coalesce(?6, error) END,
                 run_at = coalesce(?7, run_at), completed_at = ?8
             WHERE id = ?1 AND status = 1",
        )?
        .execute((
            event.task,
            verdict.status,
            verdict.failures,
            verdict.crashes,
            verdict.result.as_ref().map(Json),
            &verdict.error,
            is_pending.then(|| tx.now.plus(verdict.delay)),
            (!is_pending).then_some(tx.now),
        ))?;
    let task = event.task;
    write_event(tx, &NewEvent { kind: verdict.event, details: verdict.error.clone(), ..event })?;
    if is_pending { Ok(()) } else { settle(tx, task, verdict.status) }
}

/// Tells those who waited for a task that it has ended. What required it fails with it, and so on.
pub(super) fn settle(tx: &Tx<'_>, task: TaskId, status: Status) -> Result<()> {
    let mut ended = vec![(task, status)];
    while let Some((task, status)) = ended.pop() {
        meet_edges(tx, task, status == Status::Completed)?;
        if status != Status::Completed {
            for dependant in fail_dependants(tx, task, status)? {
                ended.push((dependant, Status::Failed));
            }
        }
    }
    Ok(())
}

fn meet_edges(tx: &Tx<'_>, task: TaskId, completed: bool) -> Result<()> {
    #[cfg(feature = "bugs")]
    if !completed && tx.bugs.has(Bug::WaitForFailedOptional) {
        return Ok(());
    }
    let mut statement = tx.db.prepare_cached(
        "UPDATE task_dependencies SET met = 1 WHERE depends_on = ?1 AND met = 0 AND (?2 OR NOT required)
         RETURNING task_id",
    )?;
    let freed: Vec<TaskId> =
        statement.query_map((task, completed), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut statement = tx.db.prepare_cached("UPDATE tasks SET unmet_deps = unmet_deps - 1 WHERE id = ?1")?;
    for dependant in freed {
        statement.execute([dependant])?;
    }
    Ok(())
}

fn fail_dependants(tx: &Tx<'_>, task: TaskId, status: Status) -> Result<Vec<TaskId>> {
    let error = format!("dependency: task {task} is {}", status.as_str());
    let mut statement = tx.db.prepare_cached(
        "UPDATE tasks SET status = 3, error = ?2, completed_at = ?3
         WHERE status = 0 AND id IN (SELECT task_id FROM task_dependencies WHERE depends_on = ?1 AND required)
         RETURNING id",
    )?;
    let failed: Vec<TaskId> =
        statement.query_map((task, &error, tx.now), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for dependant in &failed {
        let event = NewEvent { details: Some(error.clone()), ..NewEvent::new(*dependant, EventKind::Failed) };
        write_event(tx, &event)?;
    }
    Ok(failed)
}
