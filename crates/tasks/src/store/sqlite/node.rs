//! The registry of nodes.

use rusqlite::{Connection, Row};

use super::super::{Leadership, Result};
use super::value::Json;
use super::{Tx, leader};
use crate::domain::{BootId, NodeAges, NodeProfile, NodeRecord, NodeStatus};

pub(super) fn register(tx: &Tx<'_>, node: &NodeRecord) -> Result<()> {
    tx.db.execute(
        "INSERT INTO distributed_nodes
             (node_id, boot_id, executor_types, capabilities, status, heartbeat_at, registered_at, address, version)
         VALUES (?1, ?2, ?3, ?4, 'healthy', ?5, ?5, ?6, ?7)
         ON CONFLICT (node_id, boot_id) DO UPDATE SET executor_types = excluded.executor_types,
             capabilities = excluded.capabilities, status = 'healthy', heartbeat_at = excluded.heartbeat_at,
             address = excluded.address, version = excluded.version",
        (
            &node.profile.name,
            node.boot,
            Json(&node.profile.executors),
            Json(&node.profile.capabilities),
            tx.now,
            &node.address,
            &node.version,
        ),
    )?;
    Ok(())
}

pub(super) fn heartbeat(tx: &Tx<'_>, node: &str, boot: BootId) -> Result<bool> {
    let sql = "UPDATE distributed_nodes SET heartbeat_at = ?3, status = 'healthy' WHERE node_id = ?1 AND boot_id = ?2";
    Ok(tx.db.execute(sql, (node, boot, tx.now))? == 1)
}

pub(super) fn deregister(tx: &Tx<'_>, node: &str, boot: BootId) -> Result<()> {
    tx.db.execute("DELETE FROM distributed_nodes WHERE node_id = ?1 AND boot_id = ?2", (node, boot))?;
    Ok(())
}

pub(super) fn all(db: &Connection) -> Result<Vec<NodeRecord>> {
    let mut statement = db.prepare_cached(
        "SELECT node_id, boot_id, executor_types, capabilities, status, heartbeat_at, registered_at, address, version
         FROM distributed_nodes ORDER BY node_id, boot_id",
    )?;
    Ok(statement.query_map([], record)?.collect::<rusqlite::Result<_>>()?)
}

fn record(row: &Row<'_>) -> rusqlite::Result<NodeRecord> {
    let (Json(executors), Json(capabilities)) = (row.get(2)?, row.get(3)?);
    let status: String = row.get(4)?;
    Ok(NodeRecord {
        profile: NodeProfile { name: row.get(0)?, executors, capabilities },
        boot: row.get(1)?,
        status: NodeStatus::parse(&status).ok_or(rusqlite::Error::InvalidQuery)?,
        heartbeat_at: row.get(5)?,
        registered_at: row.get(6)?,
        address: row.get(7)?,
        version: row.get(8)?,
    })
}

pub(super) fn mark(tx: &Tx<'_>, leadership: &Leadership, ages: NodeAges) -> Result<u64> {
    leader::guard(tx, leadership)?;
    let sql = "UPDATE distributed_nodes AS n SET status = a.status FROM (
                   SELECT rowid AS id, CASE WHEN heartbeat_at < ?1 THEN 'dead' WHEN heartbeat_at < ?2 THEN 'stale'
                       ELSE 'healthy' END AS status FROM distributed_nodes) AS a
               WHERE n.rowid = a.id AND n.status <> a.status";
    Ok(tx.db.execute(sql, (tx.now.minus(ages.dead), tx.now.minus(ages.stale)))? as u64)
}
