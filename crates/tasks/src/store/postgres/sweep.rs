//! Leases that are over: expired, beyond their deadline, or of a process that is dead.

use deadpool_postgres::Transaction;
use uuid::Uuid;

use super::super::{Leadership, Result, Sweep, Swept};
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

/// Looks and deletes in one statement. A row that is locked is being renewed or finished: it is left to the next sweep.
async fn take(tx: &Transaction<'_>, sweep: &Sweep) -> Result<Vec<Attempt>> {
    let sql = format!(
        "WITH l AS (DELETE FROM task_leases WHERE task_id IN (
             SELECT task_id FROM task_leases
             WHERE (expires_at <= clock_timestamp() OR deadline_at <= clock_timestamp() OR boot_id = ANY($1))
                 AND ($2::uuid IS NULL OR task_id > $2)
             ORDER BY task_id LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING *)
         SELECT {ATTEMPT} FROM l JOIN tasks t ON t.id = l.task_id AND t.status = 1"
    );
    let statement = tx.prepare_cached(&sql).await?;
    let dead: Vec<Uuid> = sweep.dead.iter().map(|boot| boot.0).collect();
    let after = sweep.after.map(|TaskId(task)| task);
    let rows = tx.query(&statement, &[&dead, &after, &rows_max(sweep.limit)]).await?;
    rows.iter().map(Attempt::read).collect()
}
