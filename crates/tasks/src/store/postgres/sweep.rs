//! Leases that are over: expired, beyond their deadline, or of a process that is dead.

use deadpool_postgres::{Client, Transaction};
use uuid::Uuid;

use super::super::{Leadership, Result, StoreError, Sweep, Swept};
use super::leader::LEADS;
use super::settle::{ATTEMPT, Attempt, apply};
use super::{leader, rows_max};
use crate::domain::{NewEvent, Outcome, TaskId, after_crash, after_report};

pub(super) async fn sweep(tx: &Transaction<'_>, leadership: &Leadership, sweep: &Sweep) -> Result<Swept> {
    leader::guard(tx, leadership).await?;
    let attempts = take(tx, sweep).await?;
    let mut swept = Swept::default();
    if attempts.len() == sweep.limit {
        swept.next = attempts.iter().map(|attempt| attempt.event.task).max();
    }
    let mut ended = Vec::new();
    for attempt in attempts {
        let verdict = if attempt.is_beyond_deadline {
            let outcome = Outcome::Failed("timeout: the deadline has passed".to_owned());
            after_report(&attempt.budget, outcome, attempt.jitter())
        } else {
            after_crash(&attempt.budget, sweep.max_crashes, attempt.jitter())
        };
        swept.tasks.push((attempt.event.task, verdict.status));
        ended.push((NewEvent { epoch: Some(leadership.epoch), ..attempt.event }, verdict));
    }
    apply(tx, ended).await?;
    Ok(swept)
}

/// Whether there is anything to take: most sweeps find nothing, and need no transaction for it.
pub(super) async fn is_needed(client: &Client, leadership: &Leadership, sweep: &Sweep) -> Result<bool> {
    let sql = format!("SELECT EXISTS ({LEADS}), EXISTS (SELECT 1 FROM task_leases WHERE {OVER})");
    let dead: Vec<Uuid> = sweep.dead.iter().map(|boot| boot.0).collect();
    let row = client
        .query_one(&client.prepare_cached(&sql).await?, &[&leadership.epoch.0, &leadership.boot.0, &dead])
        .await?;
    if row.get(0) { Ok(row.get(1)) } else { Err(StoreError::StaleEpoch(leadership.epoch.0)) }
}

/// Leases that are over; the dead are the third parameter.
const OVER: &str =
    "(expires_at <= clock_timestamp() OR deadline_at <= clock_timestamp() OR boot_id = ANY($3))";

/// Looks and deletes in one statement. A row that is locked is being renewed or finished: it is left to the next sweep.
async fn take(tx: &Transaction<'_>, sweep: &Sweep) -> Result<Vec<Attempt>> {
    let sql = format!(
        "WITH l AS (DELETE FROM task_leases WHERE task_id IN (
             SELECT task_id FROM task_leases WHERE {OVER} AND ($1::uuid IS NULL OR task_id > $1)
             ORDER BY task_id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING *)
         SELECT {ATTEMPT} FROM l JOIN tasks t ON t.id = l.task_id AND t.status = 1"
    );
    let statement = tx.prepare_cached(&sql).await?;
    let dead: Vec<Uuid> = sweep.dead.iter().map(|boot| boot.0).collect();
    let after = sweep.after.map(|TaskId(task)| task);
    let rows = tx.query(&statement, &[&after, &rows_max(sweep.limit), &dead]).await?;
    rows.iter().map(Attempt::read).collect()
}
