//! What is put away: trees that ended long ago, days of events, effects. And what keeps the tables in shape.

use std::collections::BTreeSet;

use deadpool_postgres::Transaction;
use uuid::Uuid;

use super::super::{Leadership, Result, Retained, Retention};
use super::settle::COUNTED;
use super::{leader, millis, read, rows_max, to_json};
use crate::domain::TaskId;

/// Days for which there is a partition of events before they begin: so long may a cluster be without a leader.
const DAYS_AHEAD: i32 = 3;

/// Changes of the counts beyond which they are added up.
const CHANGES_KEPT: i64 = 100;

pub(super) async fn retain(
    tx: &Transaction<'_>,
    leadership: &Leadership,
    retention: Retention,
) -> Result<Retained> {
    leader::guard(tx, leadership).await?;
    let limit = rows_max(retention.limit);
    // Not distinct: that would look at all of them before the limit is reached.
    let sql = "SELECT t.tree_id FROM tasks t
               WHERE t.completed_at < clock_timestamp() - in_ms($1) AND NOT EXISTS (
                   SELECT 1 FROM tasks o WHERE o.tree_id = t.tree_id
                       AND (o.completed_at IS NULL OR o.completed_at >= clock_timestamp() - in_ms($1)))
               LIMIT $2";
    let ended = tx.query(sql, &[&millis(retention.tasks), &limit]).await?;
    let mut retained = Retained { has_more: ended.len() == retention.limit, ..Retained::default() };
    let trees: BTreeSet<Uuid> = ended.iter().map(|row| row.get(0)).collect();
    for tree in trees {
        retained.tasks += archive(tx, TaskId(tree)).await?;
    }
    let age = millis(retention.events);
    retained.events = drop_days(tx, age).await?;
    let sql = "DELETE FROM task_events_other WHERE ctid = ANY (ARRAY(
                   SELECT ctid FROM task_events_other WHERE timestamp < clock_timestamp() - in_ms($1) LIMIT $2))";
    let strays = tx.execute(sql, &[&age, &limit]).await?;
    let sql = "DELETE FROM execution_idempotency WHERE scope_key IN (
                   SELECT e.scope_key FROM execution_idempotency e WHERE e.created_at < clock_timestamp() - in_ms($1)
                       AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = e.task_id) LIMIT $2)";
    let effects = tx.execute(sql, &[&age, &limit]).await?;
    retained.events += strays;
    retained.has_more |= strays.max(effects) >= retention.limit as u64;
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
    let sql = format!(
        "WITH moved AS (DELETE FROM tasks WHERE id = ANY($1) RETURNING status AS before, NULL::smallint AS after),
         {COUNTED} SELECT 1"
    );
    tx.execute(&sql, &[&ids]).await?;
    Ok(tasks.len() as u64)
}

/// Throws whole days of events away, all of which are older than that; returns how many events that were.
async fn drop_days(tx: &Transaction<'_>, age: i64) -> Result<u64> {
    let sql = "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = 'task_events'::regclass AND c.relname ~ '^task_events_[0-9]{8}$'
                   AND (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp AT TIME ZONE 'UTC'
                       < clock_timestamp() - in_ms($1)
               ORDER BY c.relname";
    let mut events = 0;
    for row in tx.query(sql, &[&age]).await? {
        // Made of digits and a name of ours, as the query says.
        let name: String = row.get(0);
        let count: i64 = tx.query_one(&format!("SELECT count(*) FROM {name}"), &[]).await?.get(0);
        tx.batch_execute(&format!("DROP TABLE {name}")).await?;
        events += count.cast_unsigned();
    }
    Ok(events)
}

/// Makes partitions ahead of their days and adds counts up.
pub(super) async fn maintain(tx: &Transaction<'_>, leadership: &Leadership) -> Result<()> {
    leader::guard(tx, leadership).await?;
    let sql = "SELECT count(*) FROM generate_series(0, $1) AS ahead
               WHERE make_event_partition((clock_timestamp() AT TIME ZONE 'UTC')::date + ahead)";
    let made: i64 = tx.query_one(sql, &[&DAYS_AHEAD]).await?.get(0);
    if made > 0 {
        // Nothing else gathers statistics of a partitioned table as a whole, and plans collapse without them.
        tx.batch_execute("ANALYZE task_events").await?;
    }
    let sql = "WITH gone AS (DELETE FROM task_counts WHERE $1 < (SELECT count(*) FROM task_counts)
                   RETURNING status, change)
               INSERT INTO task_counts SELECT status, sum(change) FROM gone GROUP BY status";
    tx.execute(sql, &[&CHANGES_KEPT]).await?;
    Ok(())
}
