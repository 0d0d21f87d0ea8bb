//! Messages that trees were submitted with.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::Result;
use super::Tx;
use super::value::Json;
use crate::domain::{TaskId, TreeCounts, TreeMessage, TreeOverview};

pub(super) fn insert(tx: &Tx<'_>, tree: TaskId, message: &TreeMessage) -> Result<()> {
    let sql = "INSERT INTO task_messages (tree_id, context_id, message) VALUES (?1, ?2, ?3)";
    tx.db.prepare_cached(sql)?.execute((tree, &message.context, Json(&message.content)))?;
    Ok(())
}

pub(super) fn of_tree(db: &Connection, tree: TaskId) -> Result<Option<TreeMessage>> {
    let read = |row: &Row<'_>| {
        let Json(content) = row.get(1)?;
        Ok(TreeMessage { context: row.get(0)?, content })
    };
    let sql = "SELECT context_id, message FROM task_messages WHERE tree_id = ?1";
    Ok(db.prepare_cached(sql)?.query_row([tree], read).optional()?)
}

pub(super) fn overviews(db: &Connection, context: Option<&str>, limit: usize) -> Result<Vec<TreeOverview>> {
    let mut statement = db.prepare_cached(
        "SELECT m.tree_id, m.context_id, max(coalesce(t.completed_at, t.started_at, t.created_at)),
             count(*) FILTER (WHERE t.status = 0 AND t.attempt_id = 0),
             count(*) FILTER (WHERE t.status = 1 OR t.status = 0 AND t.attempt_id > 0),
             count(*) FILTER (WHERE t.status = 2),
             count(*) FILTER (WHERE t.status = 3 AND NOT t.is_tolerated),
             count(*) FILTER (WHERE t.status = 4 AND NOT t.is_tolerated),
             count(*) FILTER (WHERE t.status IN (3, 4) AND t.is_tolerated)
         FROM (SELECT tree_id, context_id FROM task_messages WHERE ?1 IS NULL OR context_id = ?1
               ORDER BY tree_id DESC LIMIT ?2) AS m
         JOIN (SELECT tree_id, status, attempt_id, created_at, started_at, completed_at,
                   status IN (3, 4) AND coalesce((SELECT NOT max(e.required) FROM task_dependencies AS e
                       WHERE e.depends_on = tasks.id), 0) AS is_tolerated FROM tasks) AS t ON t.tree_id = m.tree_id
         GROUP BY m.tree_id, m.context_id ORDER BY m.tree_id DESC",
    )?;
    Ok(statement.query_map((context, limit), overview)?.collect::<rusqlite::Result<_>>()?)
}

fn overview(row: &Row<'_>) -> rusqlite::Result<TreeOverview> {
    let counts = TreeCounts {
        waiting: row.get(3)?,
        running: row.get(4)?,
        completed: row.get(5)?,
        failed: row.get(6)?,
        cancelled: row.get(7)?,
        tolerated: row.get(8)?,
    };
    Ok(TreeOverview { tree: row.get(0)?, context: row.get(1)?, updated_at: row.get(2)?, counts })
}
