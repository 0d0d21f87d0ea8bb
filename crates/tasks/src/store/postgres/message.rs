//! Messages that trees were submitted with.

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::Row;

use super::super::Result;
use super::rows_max;
use crate::domain::{TaskId, Timestamp, TreeCounts, TreeMessage, TreeOverview};

pub(super) async fn insert(tx: &Transaction<'_>, tree: TaskId, message: &TreeMessage) -> Result<()> {
    let sql = "INSERT INTO task_messages (tree_id, context_id, message) VALUES ($1, $2, $3)";
    tx.execute(sql, &[&tree.0, &message.context, &message.content]).await?;
    Ok(())
}

pub(super) async fn of_tree(client: &Client, tree: TaskId) -> Result<Option<TreeMessage>> {
    let sql = "SELECT context_id, message FROM task_messages WHERE tree_id = $1";
    let row = client.query_opt(sql, &[&tree.0]).await?;
    Ok(row.map(|row| TreeMessage { context: row.get(0), content: row.get(1) }))
}

pub(super) async fn overviews(
    client: &Client,
    context: Option<&str>,
    limit: usize,
) -> Result<Vec<TreeOverview>> {
    let sql = "SELECT m.tree_id, m.context_id,
                   max(to_ms(coalesce(t.completed_at, t.started_at, t.created_at))),
                   count(*) FILTER (WHERE t.status = 0 AND t.attempt_id = 0),
                   count(*) FILTER (WHERE t.status = 1 OR t.status = 0 AND t.attempt_id > 0),
                   count(*) FILTER (WHERE t.status = 2),
                   count(*) FILTER (WHERE t.status = 3 AND NOT t.is_tolerated),
                   count(*) FILTER (WHERE t.status = 4 AND NOT t.is_tolerated),
                   count(*) FILTER (WHERE t.status IN (3, 4) AND t.is_tolerated)
               FROM (SELECT tree_id, context_id FROM task_messages WHERE $1::text IS NULL OR context_id = $1
                     ORDER BY tree_id DESC LIMIT $2) m
               CROSS JOIN LATERAL (
                   SELECT status, attempt_id, created_at, started_at, completed_at,
                       status IN (3, 4) AND coalesce((SELECT NOT bool_or(e.required) FROM task_dependencies e
                           WHERE e.depends_on = tasks.id), false) AS is_tolerated
                   FROM tasks WHERE tasks.tree_id = m.tree_id) t
               GROUP BY m.tree_id, m.context_id ORDER BY m.tree_id DESC";
    let rows = client.query(sql, &[&context, &rows_max(limit)]).await?;
    Ok(rows.iter().map(overview).collect())
}

fn overview(row: &Row) -> TreeOverview {
    let count = |index: usize| u32::try_from(row.get::<_, i64>(index)).unwrap_or(u32::MAX);
    TreeOverview {
        tree: TaskId(row.get(0)),
        context: row.get(1),
        updated_at: Timestamp(row.get(2)),
        counts: TreeCounts {
            waiting: count(3),
            running: count(4),
            completed: count(5),
            failed: count(6),
            cancelled: count(7),
            tolerated: count(8),
        },
    }
}
