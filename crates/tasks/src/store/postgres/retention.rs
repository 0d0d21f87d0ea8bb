//! What is put away: trees that ended long ago, old events and effects.

use deadpool_postgres::Transaction;
use uuid::Uuid;

use super::super::{Leadership, Result, Retained, Retention};
use super::{leader, millis, read, rows_max, to_json};
use crate::domain::TaskId;

pub(super) async fn retain(
    tx: &Transaction<'_>,
    leadership: &Leadership,
    retention: Retention,
) -> Result<Retained> {
    leader::guard(tx, leadership).await?;
    let limit = rows_max(retention.limit);
    let sql = "SELECT DISTINCT t.tree_id FROM tasks t
               WHERE t.completed_at < clock_timestamp() - in_ms($1) AND NOT EXISTS (
                   SELECT 1 FROM tasks o WHERE o.tree_id = t.tree_id
                       AND (o.completed_at IS NULL OR o.completed_at >= clock_timestamp() - in_ms($1)))
               LIMIT $2";
    let mut retained = Retained::default();
    for row in tx.query(sql, &[&millis(retention.tasks), &limit]).await? {
        retained.tasks += archive(tx, TaskId(row.get(0))).await?;
    }
    let age = millis(retention.events);
    let sql = "DELETE FROM task_events WHERE event_id IN (
                   SELECT event_id FROM task_events WHERE timestamp < clock_timestamp() - in_ms($1)
                   ORDER BY timestamp LIMIT $2)";
    retained.events = tx.execute(sql, &[&age, &limit]).await?;
    let sql = "DELETE FROM execution_idempotency WHERE scope_key IN (
                   SELECT e.scope_key FROM execution_idempotency e WHERE e.created_at < clock_timestamp() - in_ms($1)
                       AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = e.task_id) LIMIT $2)";
    tx.execute(sql, &[&age, &limit]).await?;
    Ok(retained)
}

async fn archive(tx: &Transaction<'_>, tree: TaskId) -> Result<u64> {
    let tasks = read::tree(tx, tree).await?;
    let ids: Vec<Uuid> = tasks.iter().map(|task| task.id.0).collect();
    let records: Vec<_> = tasks.iter().map(to_json).collect();
    let sql = "INSERT INTO task_archive (id, tree_id, archived_at, record)
               SELECT r.id, $1, clock_timestamp(), r.record FROM unnest($2::uuid[], $3::jsonb[]) AS r(id, record)";
    tx.execute(sql, &[&tree.0, &ids, &records]).await?;
    tx.execute("DELETE FROM task_dependencies WHERE task_id = ANY($1)", &[&ids]).await?;
    tx.execute("DELETE FROM tasks WHERE id = ANY($1)", &[&ids]).await?;
    Ok(tasks.len() as u64)
}
