//! Deliberate bugs of the PostgreSQL store: each undoes one check and leaves the rest of the statement as it is.

use deadpool_postgres::{Client, Transaction};
use uuid::Uuid;

use super::super::{Candidate, Held, Leadership, Result, Sweep};
use super::millis;
use crate::domain::{BootId, Epoch, Fence, Report};

/// [`crate::bugs::Bug::FinishWithoutFence`]: whatever lease there is becomes the one of the report.
pub(super) async fn with_current_fences(tx: &Transaction<'_>, reports: &[Report]) -> Result<Vec<Report>> {
    let tasks: Vec<Uuid> = reports.iter().map(|report| report.task.0).collect();
    let rows = tx.query("SELECT task_id, fence FROM task_leases WHERE task_id = ANY($1)", &[&tasks]).await?;
    let current =
        |task: Uuid| rows.iter().find(|row| row.get::<_, Uuid>(0) == task).map(|row| Fence(row.get(1)));
    let forged =
        |report: &Report| Report { fence: current(report.task.0).unwrap_or(report.fence), ..report.clone() };
    Ok(reports.iter().map(forged).collect())
}

/// [`crate::bugs::Bug::RenewLeaderByName`]: who has the leader's name leads with it, in its epoch.
pub(super) async fn acquire_by_name(client: &Client, candidate: &Candidate) -> Result<Option<Leadership>> {
    let sql = "UPDATE cluster_leader SET expires_at = clock_timestamp() + in_ms($2)
               WHERE leader_id = $1 AND expires_at > clock_timestamp() RETURNING epoch";
    let row = client.query_opt(sql, &[&candidate.node, &millis(candidate.lease)]).await?;
    let (node, boot) = (candidate.node.clone(), candidate.boot);
    Ok(row.map(|row| Leadership { node, boot, epoch: Epoch(row.get(0)) }))
}

/// The same: a leadership is that of whichever process of this name leads.
pub(super) async fn by_name(client: &Client, leadership: &Leadership) -> Result<Leadership> {
    let sql = "SELECT boot_id, epoch FROM cluster_leader WHERE leader_id = $1";
    let row = client.query_opt(sql, &[&leadership.node]).await?;
    let of_row = |row: tokio_postgres::Row| Leadership {
        boot: BootId(row.get(0)),
        epoch: Epoch(row.get(1)),
        ..leadership.clone()
    };
    Ok(row.map_or_else(|| leadership.clone(), of_row))
}

/// [`crate::bugs::Bug::SweepUnlocked`]: what looked expired is taken, though it was renewed after the look.
pub(super) async fn expire_what_looked_expired(tx: &Transaction<'_>, sweep: &Sweep) -> Result<()> {
    let dead: Vec<Uuid> = sweep.dead.iter().map(|boot| boot.0).collect();
    let look = "SELECT task_id FROM task_leases WHERE expires_at <= clock_timestamp() OR boot_id = ANY($1)";
    let tasks: Vec<Uuid> = tx.query(look, &[&dead]).await?.iter().map(|row| row.get(0)).collect();
    if !tasks.is_empty() {
        tx.execute("UPDATE task_leases SET expires_at = '-infinity' WHERE task_id = ANY($1)", &[&tasks])
            .await?;
    }
    Ok(())
}

/// [`crate::bugs::Bug::EffectPerLease`]: an effect of another lease is forgotten.
pub(super) async fn forget_other_leases(tx: &Transaction<'_>, key: &str, held: Held) -> Result<()> {
    let sql = "DELETE FROM execution_idempotency WHERE scope_key = $1 AND fence <> $2";
    tx.execute(sql, &[&key, &held.fence.0]).await?;
    Ok(())
}
