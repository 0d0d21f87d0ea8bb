//! The registry of nodes.

use deadpool_postgres::Client;
use tokio_postgres::Row;

use super::super::{Leadership, Result, StoreError};
use super::leader::LEADS;
use super::{from_json, millis, to_json};
use crate::domain::{BootId, NodeAges, NodeProfile, NodeRecord, NodeStatus, Timestamp};

pub(super) async fn register(client: &Client, node: &NodeRecord, holds_lock: bool) -> Result<()> {
    let executors: Vec<&str> = node.profile.executors.iter().map(String::as_str).collect();
    let sql = "INSERT INTO distributed_nodes (node_id, boot_id, executor_types, capabilities, status, heartbeat_at,
                   registered_at, address, version, holds_lock)
               VALUES ($1, $2, $3, $4, 'healthy', clock_timestamp(), clock_timestamp(), $5, $6, $7)
               ON CONFLICT (node_id, boot_id) DO UPDATE SET executor_types = excluded.executor_types,
                   capabilities = excluded.capabilities, status = 'healthy', heartbeat_at = excluded.heartbeat_at,
                   address = excluded.address, version = excluded.version, holds_lock = excluded.holds_lock";
    let capabilities = to_json(&node.profile.capabilities);
    client
        .execute(
            sql,
            &[
                &node.profile.name,
                &node.boot.0,
                &executors,
                &capabilities,
                &node.address,
                &node.version,
                &holds_lock,
            ],
        )
        .await?;
    Ok(())
}

pub(super) async fn heartbeat(client: &Client, node: &str, boot: BootId) -> Result<bool> {
    let sql = "UPDATE distributed_nodes SET heartbeat_at = clock_timestamp(), status = 'healthy'
               WHERE node_id = $1 AND boot_id = $2";
    Ok(client.execute(sql, &[&node, &boot.0]).await? == 1)
}

pub(super) async fn deregister(client: &Client, node: &str, boot: BootId) -> Result<()> {
    let sql = "DELETE FROM distributed_nodes WHERE node_id = $1 AND boot_id = $2";
    client.execute(sql, &[&node, &boot.0]).await?;
    Ok(())
}

pub(super) async fn all(client: &Client) -> Result<Vec<NodeRecord>> {
    let sql = "SELECT node_id, boot_id, executor_types, capabilities, status, to_ms(heartbeat_at), to_ms(registered_at),
                   address, version FROM distributed_nodes ORDER BY node_id, boot_id";
    client.query(sql, &[]).await?.iter().map(record).collect()
}

fn record(row: &Row) -> Result<NodeRecord> {
    let executors: Vec<String> = row.get(2);
    let status: &str = row.get(4);
    let profile = NodeProfile {
        name: row.get(0),
        executors: executors.into_iter().collect(),
        capabilities: from_json(row.get(3))?,
    };
    Ok(NodeRecord {
        profile,
        boot: BootId(row.get(1)),
        status: NodeStatus::parse(status)
            .ok_or_else(|| StoreError::Corrupt(format!("node status {status}")))?,
        heartbeat_at: Timestamp(row.get(5)),
        registered_at: Timestamp(row.get(6)),
        address: row.get(7),
        version: row.get(8),
    })
}

/// One statement: most of the time there is nothing to mark.
pub(super) async fn mark(client: &Client, leadership: &Leadership, ages: NodeAges) -> Result<u64> {
    let sql = format!(
        "WITH leads AS ({LEADS} FOR SHARE),
         marked AS (UPDATE distributed_nodes n SET status = a.status FROM (
                 SELECT node_id, boot_id, CASE WHEN heartbeat_at < clock_timestamp() - in_ms($3) THEN 'dead'
                     WHEN heartbeat_at < clock_timestamp() - in_ms($4) THEN 'stale' ELSE 'healthy' END AS status
                 FROM distributed_nodes) a
             WHERE n.node_id = a.node_id AND n.boot_id = a.boot_id AND n.status <> a.status
                 AND EXISTS (SELECT 1 FROM leads) RETURNING 1)
         SELECT EXISTS (SELECT 1 FROM leads), (SELECT count(*) FROM marked)"
    );
    let (dead, stale) = (millis(ages.dead), millis(ages.stale));
    let row = client
        .query_one(
            &client.prepare_cached(&sql).await?,
            &[&leadership.epoch.0, &leadership.boot.0, &dead, &stale],
        )
        .await?;
    let marked: i64 = row.get(1);
    if row.get(0) { Ok(marked.cast_unsigned()) } else { Err(StoreError::StaleEpoch(leadership.epoch.0)) }
}
