//! Effects: begun under a lease, done once for all attempts.

use deadpool_postgres::Transaction;
use serde_json::Value;

use super::super::{Effect, Held, Result, StoreError};

pub(super) async fn begin(tx: &Transaction<'_>, key: &str, held: Held) -> Result<Effect> {
    check_lease(tx, held).await?;
    let sql = "SELECT status = 'done', result FROM execution_idempotency WHERE scope_key = $1 FOR UPDATE";
    let known = tx.query_opt(sql, &[&key]).await?;
    if let Some(row) = known.as_ref().filter(|row| row.get(0)) {
        let result: Option<Value> = row.get(1);
        return Ok(Effect::Done(result.unwrap_or(Value::Null)));
    }
    let sql = "INSERT INTO execution_idempotency (scope_key, task_id, fence, status, created_at)
               VALUES ($1, $2, $3, 'begun', clock_timestamp()) ON CONFLICT (scope_key) DO UPDATE SET fence = excluded.fence";
    tx.execute(sql, &[&key, &held.task.0, &held.fence.0]).await?;
    Ok(if known.is_some() { Effect::Interrupted } else { Effect::New })
}

pub(super) async fn finish(tx: &Transaction<'_>, key: &str, held: Held, result: &Value) -> Result<()> {
    check_lease(tx, held).await?;
    let sql = "UPDATE execution_idempotency SET status = 'done', result = $4
               WHERE scope_key = $1 AND task_id = $2 AND fence = $3";
    match tx.execute(sql, &[&key, &held.task.0, &held.fence.0, &result]).await? {
        0 => Err(StoreError::LeaseLost(held.task)),
        _ => Ok(()),
    }
}

/// The lease cannot be taken away before the effect is committed.
async fn check_lease(tx: &Transaction<'_>, held: Held) -> Result<()> {
    let sql = "SELECT 1 FROM task_leases WHERE task_id = $1 AND fence = $2 FOR SHARE";
    let found = tx.query_opt(sql, &[&held.task.0, &held.fence.0]).await?;
    found.map(drop).ok_or(StoreError::LeaseLost(held.task))
}
