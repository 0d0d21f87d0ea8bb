//! Reading tasks, events and counts.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Row, ToSql};

use super::super::placing::{Classes, mark_unplaceable, open_to};
use super::super::{Result, StoreError};
use super::node;
use super::value::Json;
use crate::domain::{
    Counts, Event, EventKind, Filter, NodeProfile, Position, Status, Task, TaskId, Timestamp, TreeEdge,
    TreeTask,
};

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

/// Conditions of a list, with their values.
struct Conditions<'v> {
    sql: Vec<&'static str>,
    values: Vec<&'v dyn ToSql>,
}

impl<'v> Conditions<'v> {
    /// Adds a condition on a value, if there is one.
    fn when<T: ToSql>(&mut self, value: Option<&'v T>, condition: &'static str) {
        if let Some(value) = value {
            self.values.push(value);
            self.sql.push(condition);
        }
    }
}

/// Only the conditions that are asked for, as each has an index of its own. Ids come first: what is sorted or passed over is then
/// read from an index alone where that is possible.
pub(super) fn tasks(db: &Connection, filter: &Filter, limit: usize) -> Result<Vec<Task>> {
    // No name goes beyond this letter, which is none.
    let last = filter.name.as_ref().map(|name| format!("{name}\u{10FFFF}"));
    let mut conditions = Conditions { sql: vec!["true"], values: Vec::new() };
    conditions.when(filter.status.as_ref(), "status = ?");
    conditions.when(filter.executor.as_ref(), "executor = ?");
    conditions.when(filter.name.as_ref(), "name >= ?");
    conditions.when(last.as_ref(), "name < ?");
    conditions.when(filter.tree.as_ref(), "tree_id = ?");
    conditions.when(filter.before.as_ref(), "id < ?");
    if filter.roots {
        conditions.sql.push("id = tree_id");
    }
    conditions.values.push(&limit);
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks WHERE id IN (
             SELECT id FROM tasks WHERE {} ORDER BY id DESC LIMIT ?) ORDER BY id DESC",
        conditions.sql.join(" AND ")
    );
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement.query_map(&conditions.values[..], record)?.collect::<rusqlite::Result<_>>()?;
    placed(db, found)
}

/// All tasks of a tree, oldest first.
pub(super) fn tree(db: &Connection, tree: TaskId) -> Result<Vec<Task>> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE tree_id = ?1 ORDER BY id");
    let found: Vec<(Task, i32)> =
        db.prepare_cached(&sql)?.query_map([tree], record)?.collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().map(|(task, _)| task).collect())
}

/// The tree that a task belongs to, archived or not.
pub(super) fn tree_of(db: &Connection, task: TaskId) -> Result<TaskId> {
    let sql =
        "SELECT tree_id FROM tasks WHERE id = ?1 UNION ALL SELECT tree_id FROM task_archive WHERE id = ?1";
    let tree = db.query_row(sql, [task], |row| row.get(0)).optional()?;
    tree.ok_or(StoreError::UnknownTask(task))
}

/// All tasks of the tree of a task, with what they wait for.
pub(super) fn whole_tree(db: &Connection, task: TaskId) -> Result<Vec<TreeTask>> {
    let tree = tree_of(db, task)?;
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE tree_id = ?1 ORDER BY id");
    let found: Vec<(Task, i32)> =
        db.prepare_cached(&sql)?.query_map([tree], record)?.collect::<rusqlite::Result<_>>()?;
    let tasks = if found.is_empty() { archived_tree(db, tree)? } else { placed(db, found)? };
    let mut edges = edges(db, tree)?;
    let with_edges = |task: Task| TreeTask { depends_on: edges.remove(&task.id).unwrap_or_default(), task };
    Ok(tasks.into_iter().map(with_edges).collect())
}

fn archived_tree(db: &Connection, tree: TaskId) -> Result<Vec<Task>> {
    let mut statement =
        db.prepare_cached("SELECT record FROM task_archive WHERE tree_id = ?1 ORDER BY id")?;
    let rows = statement.query_map([tree], |row| row.get(0).map(|Json(task)| task))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn edges(db: &Connection, tree: TaskId) -> Result<BTreeMap<TaskId, Vec<TreeEdge>>> {
    let mut statement = db.prepare_cached(
        "SELECT e.task_id, e.depends_on, e.required FROM tasks t JOIN task_dependencies e ON e.task_id = t.id
         WHERE t.tree_id = ?1 ORDER BY e.depends_on",
    )?;
    let rows = statement
        .query_map([tree], |row| Ok((row.get(0)?, TreeEdge { task: row.get(1)?, required: row.get(2)? })))?;
    let mut edges: BTreeMap<TaskId, Vec<TreeEdge>> = BTreeMap::new();
    for row in rows {
        let (task, edge) = row?;
        edges.entry(task).or_default().push(edge);
    }
    Ok(edges)
}

/// Due tasks of some classes, most urgent first.
pub(super) fn executable(
    db: &Connection,
    node: &NodeProfile,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Task>> {
    let open: Vec<i32> = open_to(&classes(db)?, node).iter().map(|open| open.class).collect();
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks
         WHERE status = 0 AND unmet_deps = 0 AND run_at <= ?1
             AND placement_id IN (SELECT value FROM json_each(?2))
         ORDER BY priority, run_at, id LIMIT ?3"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map((now, Json(open), limit), record)?;
    rows.map(|row| Ok(row?.0)).collect()
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
    let sql = format!(
        "SELECT {EVENT} FROM task_events
         WHERE event_id > ?1 AND (?2 IS NULL OR task_id = ?2) ORDER BY event_id LIMIT ?3"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map((after.event, task, limit), event)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn tree_events(
    db: &Connection,
    tree: TaskId,
    after: Position,
    limit: usize,
) -> Result<Vec<Event>> {
    let sql = format!(
        "SELECT {EVENT} FROM task_events WHERE event_id > ?1 AND task_id IN ({TREE})
         ORDER BY event_id LIMIT ?3"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map((after.event, tree, limit), event)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn tree_end(db: &Connection, tree: TaskId) -> Result<Option<Position>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tasks WHERE tree_id = ?1 AND status < 2)";
    if db.prepare_cached(sql)?.query_row([tree], |row| row.get(0))? {
        return Ok(None);
    }
    // The first parameter has the place it has in all queries over a tree.
    let sql = format!("SELECT coalesce(max(event_id), ?1) FROM task_events WHERE task_id IN ({TREE})");
    let event = db.prepare_cached(&sql)?.query_row((0, tree), |row| row.get(0))?;
    Ok(Some(Position { transaction: 0, event }))
}

const EVENT: &str = "event_id, task_id, event_type, node_id, attempt_id, fence, epoch, details, timestamp";

/// Tasks of the tree in the second parameter.
const TREE: &str =
    "SELECT id FROM tasks WHERE tree_id = ?2 UNION ALL SELECT id FROM task_archive WHERE tree_id = ?2";

fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
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
}

pub(super) fn events_end(db: &Connection) -> Result<Position> {
    let sql = "SELECT coalesce(max(event_id), 0) FROM task_events";
    Ok(Position { transaction: 0, event: db.query_row(sql, [], |row| row.get(0))? })
}

/// What triggers have counted.
pub(super) fn counts(db: &Connection) -> Result<Counts> {
    let sql = "SELECT max(count) FILTER (WHERE status = 0), max(count) FILTER (WHERE status = 1),
                   max(count) FILTER (WHERE status = 2), max(count) FILTER (WHERE status = 3),
                   max(count) FILTER (WHERE status = 4), (SELECT count(*) FROM task_leases) FROM task_counts";
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
    Ok(db.prepare_cached(sql)?.query_row([], read)?)
}
