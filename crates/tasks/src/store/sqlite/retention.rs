//! What is put away: trees that ended long ago, old events and effects.

use super::super::{Leadership, Result, Retained, Retention};
use super::value::Json;
use super::{Tx, leader, read};
use crate::domain::TaskId;

pub(super) fn retain(tx: &Tx<'_>, leadership: &Leadership, retention: Retention) -> Result<Retained> {
    leader::guard(tx, leadership)?;
    let trees = ended_trees(tx, retention)?;
    let mut retained = Retained { has_more: trees.len() == retention.limit, ..Retained::default() };
    for tree in trees {
        retained.tasks += archive(tx, tree)?;
    }
    let oldest = tx.now.minus(retention.events);
    let sql = "DELETE FROM task_events WHERE event_id IN (
                   SELECT event_id FROM task_events WHERE timestamp < ?1 ORDER BY timestamp LIMIT ?2)";
    retained.events = tx.db.execute(sql, (oldest, retention.limit))? as u64;
    let sql = "DELETE FROM execution_idempotency WHERE scope_key IN (
                   SELECT scope_key FROM execution_idempotency WHERE created_at < ?1
                       AND task_id NOT IN (SELECT id FROM tasks) LIMIT ?2)";
    let effects = tx.db.execute(sql, (oldest, retention.limit))? as u64;
    retained.has_more |= retained.events.max(effects) >= retention.limit as u64;
    Ok(retained)
}

/// Nothing to do: counts are kept by triggers, and events are deleted one by one.
pub(super) fn maintain(tx: &Tx<'_>, leadership: &Leadership) -> Result<()> {
    leader::guard(tx, leadership)
}

/// Trees of which every task ended before the time that is kept.
fn ended_trees(tx: &Tx<'_>, retention: Retention) -> Result<Vec<TaskId>> {
    let mut statement = tx.db.prepare_cached(
        "SELECT DISTINCT t.tree_id FROM tasks t WHERE t.completed_at < ?1 AND NOT EXISTS (
             SELECT 1 FROM tasks o WHERE o.tree_id = t.tree_id AND (o.completed_at IS NULL OR o.completed_at >= ?1))
         LIMIT ?2",
    )?;
    let rows = statement.query_map((tx.now.minus(retention.tasks), retention.limit), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn archive(tx: &Tx<'_>, tree: TaskId) -> Result<u64> {
    let tasks = read::tree(tx.db, tree)?;
    for task in &tasks {
        let sql = "INSERT INTO task_archive (id, tree_id, archived_at, record) VALUES (?1, ?2, ?3, ?4)";
        tx.db.execute(sql, (task.id, tree, tx.now, Json(task)))?;
        tx.db.execute("DELETE FROM task_dependencies WHERE task_id = ?1", [task.id])?;
    }
    tx.db.execute("DELETE FROM tasks WHERE tree_id = ?1", [tree])?;
    Ok(tasks.len() as u64)
}
