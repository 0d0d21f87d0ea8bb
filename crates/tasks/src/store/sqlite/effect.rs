//! Effects: begun under a lease, done once for all attempts.

use rusqlite::OptionalExtension as _;
use serde_json::Value;

use super::super::{Effect, Held, Result, StoreError};
use super::Tx;
use super::value::Json;
#[cfg(feature = "bugs")]
use crate::bugs::Bug;

pub(super) fn begin(tx: &Tx<'_>, key: &str, held: Held) -> Result<Effect> {
    check_lease(tx, held)?;
    let key = scope_key(tx, key, held);
    let sql = "SELECT status = 'done', result FROM execution_idempotency WHERE scope_key = ?1";
    let known: Option<(bool, Option<Json<Value>>)> =
        tx.db.query_row(sql, [&key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some((true, result)) = known {
        return Ok(Effect::Done(result.map_or(Value::Null, |Json(value)| value)));
    }
    tx.db.execute(
        "INSERT INTO execution_idempotency (scope_key, task_id, fence, status, created_at)
         VALUES (?1, ?2, ?3, 'begun', ?4) ON CONFLICT (scope_key) DO UPDATE SET fence = excluded.fence",
        (&key, held.task, held.fence, tx.now),
    )?;
    Ok(if known.is_some() { Effect::Interrupted } else { Effect::New })
}

pub(super) fn finish(tx: &Tx<'_>, key: &str, held: Held, result: &Value) -> Result<()> {
    check_lease(tx, held)?;
    let sql = "UPDATE execution_idempotency SET status = 'done', result = ?4
               WHERE scope_key = ?1 AND task_id = ?2 AND fence = ?3";
    match tx.db.execute(sql, (scope_key(tx, key, held), held.task, held.fence, Json(result)))? {
        0 => Err(StoreError::LeaseLost(held.task)),
        _ => Ok(()),
    }
}

fn check_lease(tx: &Tx<'_>, held: Held) -> Result<()> {
    let sql = "SELECT 1 FROM task_leases WHERE task_id = ?1 AND fence = ?2";
    let found = tx.db.query_row(sql, (held.task, held.fence), |_| Ok(())).optional()?;
    found.ok_or(StoreError::LeaseLost(held.task))
}

#[cfg(not(feature = "bugs"))]
fn scope_key(_: &Tx<'_>, key: &str, _: Held) -> String {
    key.to_owned()
}

#[cfg(feature = "bugs")]
fn scope_key(tx: &Tx<'_>, key: &str, held: Held) -> String {
    if tx.bugs.has(Bug::EffectPerLease) { format!("{key}.{}", held.fence.0) } else { key.to_owned() }
}
