//! Leases that are over: expired, beyond their deadline, or of a process that is dead.

use super::super::{Leadership, Result, Sweep, Swept};
use super::lease::jitter;
use super::settle::{apply, budget};
use super::value::Json;
use super::{Tx, leader};
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::domain::{EventKind, Fence, NewEvent, Outcome, TaskId, after_crash, after_report};

/// A lease that was taken.
struct Taken {
    task: TaskId,
    fence: Fence,
    node: String,
    attempt: u32,
    cancel_requested: bool,
    is_beyond_deadline: bool,
}

pub(super) fn sweep(tx: &Tx<'_>, leadership: &Leadership, sweep: &Sweep) -> Result<Swept> {
    #[cfg(feature = "bugs")]
    let is_guarded = !tx.bugs.has(Bug::SweepWithoutEpoch);
    #[cfg(not(feature = "bugs"))]
    let is_guarded = true;
    if is_guarded {
        leader::guard(tx, leadership)?;
    }
    let taken = take(tx, sweep)?;
    let mut swept = Swept::default();
    if taken.len() == sweep.limit {
        swept.next = taken.iter().map(|lease| lease.task).max();
    }
    for lease in taken {
        let Some(budget) = budget(tx, lease.task, lease.cancel_requested)? else { continue };
        let verdict = if lease.is_beyond_deadline {
            after_report(
                &budget,
                Outcome::Failed("timeout: the deadline has passed".to_owned()),
                jitter(lease.fence),
            )
        } else {
            after_crash(&budget, sweep.max_crashes, jitter(lease.fence))
        };
        let event = NewEvent {
            node: Some(lease.node),
            attempt: Some(lease.attempt),
            fence: Some(lease.fence),
            epoch: Some(leadership.epoch),
            ..NewEvent::new(lease.task, EventKind::Reassigned)
        };
        apply(tx, &verdict, event)?;
        swept.tasks.push((lease.task, verdict.status));
    }
    Ok(swept)
}

fn take(tx: &Tx<'_>, sweep: &Sweep) -> Result<Vec<Taken>> {
    let mut statement = tx.db.prepare_cached(
        "DELETE FROM task_leases WHERE task_id IN (
             SELECT task_id FROM task_leases
             WHERE (expires_at <= ?1 OR deadline_at <= ?1 OR hex(boot_id) IN (SELECT value FROM json_each(?2)))
                 AND (?3 IS NULL OR task_id > ?3)
             ORDER BY task_id LIMIT ?4)
         RETURNING task_id, fence, node_id, attempt_id, cancel_requested, coalesce(deadline_at <= ?1, 0)",
    )?;
    let dead: Vec<String> = sweep.dead.iter().map(|boot| format!("{:X}", boot.0.simple())).collect();
    let rows = statement.query_map((tx.now, Json(dead), sweep.after, sweep.limit), |row| {
        Ok(Taken {
            task: row.get(0)?,
            fence: row.get(1)?,
            node: row.get(2)?,
            attempt: row.get(3)?,
            cancel_requested: row.get(4)?,
            is_beyond_deadline: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
