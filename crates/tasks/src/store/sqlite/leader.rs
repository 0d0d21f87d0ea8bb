//! The leader's row: a single row that is never deleted, with an epoch that only rises.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};

use super::super::{Candidate, Leader, Leadership, Result, StoreError};
use super::Tx;
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::domain::{BootId, Timestamp};

pub(super) fn acquire(tx: &Tx<'_>, candidate: &Candidate) -> Result<Option<Leadership>> {
    let epoch = tx
        .db
        .prepare_cached(
            "INSERT INTO cluster_leader AS l (singleton, leader_id, boot_id, lease_token, epoch, acquired_at, expires_at)
             VALUES (1, ?1, ?2, randomblob(16), 1, ?3, ?4)
             ON CONFLICT (singleton) DO UPDATE SET leader_id = excluded.leader_id, boot_id = excluded.boot_id,
                 lease_token = excluded.lease_token, epoch = l.epoch + 1, acquired_at = excluded.acquired_at,
                 expires_at = excluded.expires_at
             WHERE l.expires_at <= ?3 OR l.boot_id = ?5
             RETURNING epoch",
        )?
        .query_row(
            (&candidate.node, candidate.boot, tx.now, tx.now.plus(candidate.lease), candidate.dead),
            |row| row.get(0),
        )
        .optional()?;
    Ok(epoch.map(|epoch| Leadership { node: candidate.node.clone(), boot: candidate.boot, epoch }))
}

pub(super) fn renew(tx: &Tx<'_>, leadership: &Leadership, lease: Duration) -> Result<bool> {
    #[cfg(feature = "bugs")]
    if tx.bugs.has(Bug::RenewLeaderByName) {
        let sql = "UPDATE cluster_leader SET expires_at = ?1 WHERE leader_id = ?2";
        return Ok(tx.db.execute(sql, (tx.now.plus(lease), &leadership.node))? == 1);
    }
    let renewed = tx
        .db
        .prepare_cached(
            "UPDATE cluster_leader SET expires_at = ?1 WHERE boot_id = ?2 AND epoch = ?3 AND expires_at > ?4",
        )?
        .execute((tx.now.plus(lease), leadership.boot, leadership.epoch, tx.now))?;
    Ok(renewed == 1)
}

pub(super) fn release(tx: &Tx<'_>, leadership: &Leadership) -> Result<()> {
    tx.db.execute(
        "UPDATE cluster_leader SET expires_at = ?1 WHERE boot_id = ?2 AND epoch = ?3 AND expires_at > ?1",
        (tx.now, leadership.boot, leadership.epoch),
    )?;
    Ok(())
}

pub(super) fn current(db: &Connection, now: Timestamp) -> Result<Option<Leader>> {
    let leader = db
        .query_row("SELECT leader_id, boot_id, epoch, expires_at FROM cluster_leader", [], |row| {
            let expires_at: Timestamp = row.get(3)?;
            let is_current = expires_at > now;
            Ok(Leader { node: row.get(0)?, boot: row.get(1)?, epoch: row.get(2)?, expires_at, is_current })
        })
        .optional()?;
    Ok(leader)
}

/// Every duty begins with this: who does not lead any more changes nothing.
pub(super) fn guard(tx: &Tx<'_>, leadership: &Leadership) -> Result<()> {
    let leads: bool = tx
        .db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM cluster_leader WHERE epoch = ?1 AND boot_id = ?2 AND expires_at > ?3)",
        )?
        .query_row((leadership.epoch, leadership.boot, tx.now), |row| row.get(0))?;
    if leads { Ok(()) } else { Err(StoreError::StaleEpoch(leadership.epoch.0)) }
}

pub(super) fn holders(db: &Connection) -> Result<Vec<BootId>> {
    let mut statement = db.prepare_cached("SELECT DISTINCT boot_id FROM task_leases")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}
