//! Reading tasks, events and counts.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::placing::{Classes, mark_unplaceable};
use super::super::{Result, StoreError};
use super::node;
use super::value::Json;
use crate::domain::{Counts, Event, EventKind, Filter, Position, Status, Task, TaskId};

const COLUMNS: &str = "id, tree_id, parent_id, name, executor, status, priority, run_at, unmet_deps, attempt_id, failures,
    crashes, max_attempts, timeout_seconds, idempotency_key, inputs, result, error, progress, cancel_requested_at,
    last_assigned_node, created_at, started_at, completed_at, placement_id";

pub(super) fn task(db: &Connection, task: TaskId) -> Result<Task> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1");
    if let Some(found) = db.prepare_cached(&sql)?.query_row([task], record).optional()? {
        return Ok(placed(db, vec![found])?.remove(0));
    }
    let sql = "SELECT record FROM task_archive WHERE id = ?1";
    let archived: Option<Json<Task>> = db.query_row(sql, [task], |row| row.get(0)).optional()?;
    archived.map(|Json(task)| task).ok_or(StoreError::UnknownTask(task))
}

pub(super) fn tasks(db: &Connection, filter: &Filter, limit: usize) -> Result<Vec<Task>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks
         WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR executor = ?2) AND (?3 IS NULL OR name = ?3)
             AND (?4 IS NULL OR tree_id = ?4) AND (?5 IS NULL OR id < ?5)
         ORDER BY id DESC LIMIT ?6"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let values = (filter.status, &filter.executor, &filter.name, filter.tree, filter.before, limit);
    let found = statement.query_map(values, record)?.collect::<rusqlite::Result<_>>()?;
    placed(db, found)
}

/// All tasks of a tree, oldest first.
pub(super) fn tree(db: &Connection, tree: TaskId) -> Result<Vec<Task>> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE tree_id = ?1 ORDER BY id");
    let found: Vec<(Task, i32)> =
        db.prepare_cached(&sql)?.query_map([tree], record)?.collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().map(|(task, _)| task).collect())
}

fn placed(db: &Connection, mut tasks: Vec<(Task, i32)>) -> Result<Vec<Task>> {
    if tasks.iter().any(|(task, _)| task.status == Status::Pending) {
        mark_unplaceable(&mut tasks, &classes(db)?, &node::all(db)?);
    }
    Ok(tasks.into_iter().map(|(task, _)| task).collect())
}

/// All placement classes. There are as many as people wrote different constraints: a few.
pub(super) fn classes(db: &Connection) -> Result<Classes> {
    let mut statement = db.prepare_cached("SELECT id, constraints FROM placement_classes")?;
    let rows = statement.query_map([], |row| {
        let Json(placement) = row.get(1)?;
        Ok((row.get(0)?, placement))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn record(row: &Row<'_>) -> rusqlite::Result<(Task, i32)> {
    let Json(inputs) = row.get(15)?;
    let result: Option<Json<_>> = row.get(16)?;
    let progress: Option<f64> = row.get(18)?;
    let task = Task {
        id: row.get(0)?,
        tree: row.get(1)?,
        parent: row.get(2)?,
        name: row.get(3)?,
        executor: row.get(4)?,
        status: row.get(5)?,
        priority: row.get(6)?,
        run_at: row.get(7)?,
        unmet_deps: row.get(8)?,
        attempt: row.get(9)?,
        failures: row.get(10)?,
        crashes: row.get(11)?,
        max_attempts: row.get(12)?,
        timeout_seconds: row.get(13)?,
        idempotency_key: row.get(14)?,
        inputs,
        result: result.map(|Json(value)| value),
        error: row.get(17)?,
        progress: progress.map(|part| part as f32),
        cancel_requested_at: row.get(19)?,
        last_assigned_node: row.get(20)?,
        created_at: row.get(21)?,
        started_at: row.get(22)?,
        completed_at: row.get(23)?,
        unplaceable: None,
    };
    Ok((task, row.get(24)?))
}

pub(super) fn events(
    db: &Connection,
    task: Option<TaskId>,
    after: Position,
    limit: usize,
) -> Result<Vec<Event>> {
    let mut statement = db.prepare_cached(
        "SELECT event_id, task_id, event_type, node_id, attempt_id, fence, epoch, details, timestamp FROM task_events
         WHERE event_id > ?1 AND (?2 IS NULL OR task_id = ?2) ORDER BY event_id LIMIT ?3",
    )?;
    let rows = statement.query_map((after.event, task, limit), |row| {
        let kind: String = row.get(2)?;
        let details: Option<Json<_>> = row.get(7)?;
        Ok(Event {
            position: Position { transaction: 0, event: row.get(0)? },
            task: row.get(1)?,
            kind: EventKind::parse(&kind).ok_or(rusqlite::Error::InvalidQuery)?,
            node: row.get(3)?,
            attempt: row.get(4)?,
            fence: row.get(5)?,
            epoch: row.get(6)?,
            details: details.map(|Json(value)| value),
            at: row.get(8)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn events_end(db: &Connection) -> Result<Position> {
    let sql = "SELECT coalesce(max(event_id), 0) FROM task_events";
    Ok(Position { transaction: 0, event: db.query_row(sql, [], |row| row.get(0))? })
}

pub(super) fn counts(db: &Connection) -> Result<Counts> {
    let sql = "SELECT count(*) FILTER (WHERE status = 0), count(*) FILTER (WHERE status = 1),
                   count(*) FILTER (WHERE status = 2), count(*) FILTER (WHERE status = 3),
                   count(*) FILTER (WHERE status = 4), (SELECT count(*) FROM task_leases) FROM tasks";
    let read = |row: &Row<'_>| {
        Ok(Counts {
            pending: row.get(0)?,
            in_progress: row.get(1)?,
            completed: row.get(2)?,
            failed: row.get(3)?,
            cancelled: row.get(4)?,
            leases: row.get(5)?,
        })
    };
    Ok(db.query_row(sql, [], read)?)
}
