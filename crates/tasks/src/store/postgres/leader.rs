//! The leader's row: a single row that is never deleted, with an epoch that only rises.

use std::time::Duration;

use deadpool_postgres::{Client, Transaction};

use super::super::{Candidate, Holder, Leader, Leadership, Result, StoreError};
use super::millis;
use crate::domain::{BootId, Epoch, Timestamp};

pub(super) async fn acquire(client: &Client, candidate: &Candidate) -> Result<Option<Leadership>> {
    let statement = client
        .prepare_cached(
            "INSERT INTO cluster_leader AS l (leader_id, boot_id, lease_token, epoch, acquired_at, expires_at)
             VALUES ($1, $2, gen_random_uuid(), 1, clock_timestamp(), clock_timestamp() + in_ms($3))
             ON CONFLICT (singleton) DO UPDATE SET leader_id = excluded.leader_id, boot_id = excluded.boot_id,
                 lease_token = excluded.lease_token, epoch = l.epoch + 1, acquired_at = clock_timestamp(),
                 expires_at = clock_timestamp() + in_ms($3)
             WHERE l.expires_at <= clock_timestamp() OR l.boot_id = $4
             RETURNING epoch",
        )
        .await?;
    let dead = candidate.dead.map(|boot| boot.0);
    let lease = millis(candidate.lease);
    let row = client.query_opt(&statement, &[&candidate.node, &candidate.boot.0, &lease, &dead]).await?;
    Ok(row.map(|row| Leadership {
        node: candidate.node.clone(),
        boot: candidate.boot,
        epoch: Epoch(row.get(0)),
    }))
}

pub(super) async fn renew(client: &Client, leadership: &Leadership, lease: Duration) -> Result<bool> {
    let statement = client
        .prepare_cached(
            "UPDATE cluster_leader SET expires_at = clock_timestamp() + in_ms($3)
             WHERE boot_id = $1 AND epoch = $2 AND expires_at > clock_timestamp()",
        )
        .await?;
    let renewed =
        client.execute(&statement, &[&leadership.boot.0, &leadership.epoch.0, &millis(lease)]).await?;
    Ok(renewed == 1)
}

pub(super) async fn release(client: &Client, leadership: &Leadership) -> Result<()> {
    let sql = "UPDATE cluster_leader SET expires_at = clock_timestamp()
               WHERE boot_id = $1 AND epoch = $2 AND expires_at > clock_timestamp()";
    client.execute(sql, &[&leadership.boot.0, &leadership.epoch.0]).await?;
    Ok(())
}

pub(super) async fn current(client: &Client) -> Result<Option<Leader>> {
    let sql = "SELECT leader_id, boot_id, epoch, to_ms(expires_at), expires_at > clock_timestamp() FROM cluster_leader";
    let row = client.query_opt(sql, &[]).await?;
    Ok(row.map(|row| Leader {
        node: row.get(0),
        boot: BootId(row.get(1)),
        epoch: Epoch(row.get(2)),
        expires_at: Timestamp(row.get(3)),
        is_current: row.get(4),
    }))
}

/// Finds the row of a leadership that is not over: epoch and boot are the first parameters.
pub(super) const LEADS: &str =
    "SELECT 1 FROM cluster_leader WHERE epoch = $1 AND boot_id = $2 AND expires_at > clock_timestamp()";

/// Every duty begins with this. The row is locked against a change of leader until the duty is committed.
pub(super) async fn guard(tx: &Transaction<'_>, leadership: &Leadership) -> Result<()> {
    let statement = tx.prepare_cached(&format!("{LEADS} FOR SHARE")).await?;
    let leads = tx.query_opt(&statement, &[&leadership.epoch.0, &leadership.boot.0]).await?;
    leads.map(drop).ok_or(StoreError::StaleEpoch(leadership.epoch.0))
}

/// Who holds leases, and whether each has gone: the lock of a process is the random half of its id, as [`super::session`] takes it.
pub(super) async fn other_holders(client: &Client, boot: BootId) -> Result<Vec<Holder>> {
    let sql = "SELECT l.boot_id, CASE WHEN EXISTS (SELECT 1 FROM distributed_nodes n WHERE n.boot_id = l.boot_id AND n.holds_lock)
                   THEN pg_try_advisory_xact_lock_shared(('x' || right(replace(l.boot_id::text, '-', ''), 16))::bit(64)::bigint)
                   ELSE false END
               FROM (SELECT DISTINCT boot_id FROM task_leases WHERE boot_id <> $1) l";
    let rows = client.query(&client.prepare_cached(sql).await?, &[&boot.0]).await?;
    Ok(rows.iter().map(|row| Holder { boot: BootId(row.get(0)), is_gone: row.get(1) }).collect())
}
