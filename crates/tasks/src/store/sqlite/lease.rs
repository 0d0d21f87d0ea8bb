//! Leases: claim, renew, finish, release.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};
use serde_json::{Map, Value};

use super::super::placing::{Open, open_to};
use super::super::{Claim, Claimed, Held, Renewed, Result};
use super::settle::{apply, budget, write_event};
use super::value::Json;
use super::{Tx, read};
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::domain::{
    EventKind, Fence, NewEvent, NodeProfile, Priority, Report, TaskId, Timestamp, after_release, after_report,
};

/// A task that is due, as it competes with others.
type Due = (Timestamp, TaskId);

/// Leases one task, if it is due and the node may run it.
pub(super) fn acquire(tx: &Tx<'_>, claim: &Claim, task: TaskId) -> Result<Option<Claimed>> {
    let sql =
        "SELECT placement_id FROM tasks WHERE id = ?1 AND status = 0 AND unmet_deps = 0 AND run_at <= ?2";
    let class: Option<i32> = tx.db.query_row(sql, (task, tx.now), |row| row.get(0)).optional()?;
    let open = open_to(&read::classes(tx.db)?, &claim.node);
    match open.into_iter().find(|open| Some(open.class) == class) {
        Some(open) if room(tx, open, claim)? > 0 => lease(tx, task, claim).map(Some),
        _ => Ok(None),
    }
}

pub(super) fn claim(tx: &Tx<'_>, claim: &Claim) -> Result<Vec<Claimed>> {
    let mut rooms = Vec::new();
    for open in open_to(&read::classes(tx.db)?, &claim.node) {
        rooms.push((open.class, room(tx, open, claim)?));
    }
    let mut picked = Vec::new();
    for priority in Priority::HIGHEST.get()..=Priority::LOWEST.get() {
        let mut due: Vec<(Due, usize)> = Vec::new();
        for (index, (class, room)) in rooms.iter().enumerate() {
            let wanted = (claim.limit - picked.len()).min(*room);
            due.extend(due_of(tx, *class, priority, wanted)?.into_iter().map(|due| (due, index)));
        }
        due.sort_unstable();
        due.truncate(claim.limit - picked.len());
        for ((_, task), index) in due {
            rooms[index].1 -= 1;
            picked.push(task);
        }
    }
    picked.into_iter().map(|task| lease(tx, task, claim)).collect()
}

/// How many more tasks of a class the node may run.
fn room(tx: &Tx<'_>, open: Open, claim: &Claim) -> Result<usize> {
    let Some(limit) = open.limit else { return Ok(claim.limit) };
    let sql = "SELECT count(*) FROM task_leases l JOIN tasks t ON t.id = l.task_id
               WHERE l.node_id = ?1 AND t.placement_id = ?2";
    let running: usize = tx.db.query_row(sql, (&claim.node.name, open.class), |row| row.get(0))?;
    Ok((limit as usize).saturating_sub(running))
}

fn due_of(tx: &Tx<'_>, class: i32, priority: u8, limit: usize) -> Result<Vec<Due>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut statement = tx.db.prepare_cached(
        "SELECT run_at, id FROM tasks
         WHERE status = 0 AND unmet_deps = 0 AND placement_id = ?1 AND priority = ?2 AND run_at <= ?3
         ORDER BY run_at, id LIMIT ?4",
    )?;
    let rows = statement.query_map((class, priority, tx.now, limit), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn lease(tx: &Tx<'_>, task: TaskId, claim: &Claim) -> Result<Claimed> {
    let fence: Fence = tx
        .db
        .prepare_cached("UPDATE fences SET last = last + 1 RETURNING last")?
        .query_row([], |row| row.get(0))?;
    let mut claimed = tx
        .db
        .prepare_cached(
            "UPDATE tasks SET status = 1, attempt_id = attempt_id + 1, last_assigned_node = ?2, progress = NULL,
                 started_at = coalesce(started_at, ?3)
             WHERE id = ?1 RETURNING name, executor, attempt_id, inputs, timeout_seconds",
        )?
        .query_row((task, &claim.node.name, tx.now), |row| {
            let Json(inputs) = row.get(3)?;
            let seconds: Option<u32> = row.get(4)?;
            Ok(Claimed {
                held: Held { task, fence },
                name: row.get(0)?,
                executor: row.get(1)?,
                attempt: row.get(2)?,
                inputs,
                dependencies: Map::new(),
                timeout: seconds.map(|seconds| Duration::from_secs(seconds.into())),
            })
        })?;
    claimed.dependencies = dependency_results(tx, task)?;
    let deadline = claimed.timeout.map(|timeout| tx.now.plus(timeout));
    tx.db
        .prepare_cached(
            "INSERT INTO task_leases (task_id, fence, attempt_id, node_id, boot_id, acquired_at, expires_at, deadline_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            task,
            fence,
            claimed.attempt,
            &claim.node.name,
            claim.boot,
            tx.now,
            tx.now.plus(claim.lease),
            deadline,
        ))?;
    for kind in [EventKind::Assigned, EventKind::Started] {
        let (node, attempt) = (Some(claim.node.name.clone()), Some(claimed.attempt));
        write_event(tx, &NewEvent { node, attempt, fence: Some(fence), ..NewEvent::new(task, kind) })?;
    }
    Ok(claimed)
}

fn dependency_results(tx: &Tx<'_>, task: TaskId) -> Result<Map<String, Value>> {
    let mut statement = tx.db.prepare_cached(
        "SELECT d.name, d.result FROM task_dependencies e JOIN tasks d ON d.id = e.depends_on WHERE e.task_id = ?1",
    )?;
    let rows = statement.query_map([task], |row| {
        let result: Option<Json<Value>> = row.get(1)?;
        Ok((row.get(0)?, result.map_or(Value::Null, |Json(value)| value)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn next_due(db: &Connection, node: &NodeProfile, now: Timestamp) -> Result<Option<Duration>> {
    let mut next: Option<Timestamp> = None;
    for open in open_to(&read::classes(db)?, node) {
        for priority in Priority::HIGHEST.get()..=Priority::LOWEST.get() {
            let first: Option<Timestamp> = db
                .prepare_cached(
                    "SELECT min(run_at) FROM tasks
                     WHERE status = 0 AND unmet_deps = 0 AND placement_id = ?1 AND priority = ?2",
                )?
                .query_row((open.class, priority), |row| row.get(0))?;
            next = [next, first].into_iter().flatten().min();
        }
    }
    Ok(next.map(|next| next.since(now)))
}

pub(super) fn renew(tx: &Tx<'_>, held: &[Held], lease: Duration) -> Result<Vec<Renewed>> {
    #[cfg(feature = "bugs")]
    let any_time = tx.bugs.has(Bug::RenewBeyondDeadline);
    #[cfg(not(feature = "bugs"))]
    let any_time = false;
    let mut statement = tx.db.prepare_cached(
        "UPDATE task_leases SET expires_at = ?1
         WHERE task_id = ?2 AND fence = ?3 AND (deadline_at IS NULL OR deadline_at > ?4 OR ?5)
         RETURNING cancel_requested",
    )?;
    let mut renewed = Vec::new();
    for held in held {
        let row = (tx.now.plus(lease), held.task, held.fence, tx.now, any_time);
        if let Some(cancel) = statement.query_row(row, |row| row.get(0)).optional()? {
            renewed.push(Renewed { task: held.task, cancel });
        }
    }
    Ok(renewed)
}

/// A lease that was consumed.
struct Consumed {
    node: String,
    attempt: u32,
    cancel_requested: bool,
}

/// Deletes the lease row: the right to end the attempt, which only one can use.
fn consume(tx: &Tx<'_>, held: Held, any_fence: bool) -> Result<Option<Consumed>> {
    let consumed = tx
        .db
        .prepare_cached(
            "DELETE FROM task_leases WHERE task_id = ?1 AND (fence = ?2 OR ?3)
             RETURNING node_id, attempt_id, cancel_requested",
        )?
        .query_row((held.task, held.fence, any_fence), |row| {
            Ok(Consumed { node: row.get(0)?, attempt: row.get(1)?, cancel_requested: row.get(2)? })
        })
        .optional()?;
    Ok(consumed)
}

pub(super) fn finish(tx: &Tx<'_>, reports: Vec<Report>) -> Result<Vec<TaskId>> {
    #[cfg(feature = "bugs")]
    let any_fence = tx.bugs.has(Bug::FinishWithoutFence);
    #[cfg(not(feature = "bugs"))]
    let any_fence = false;
    let mut finished = Vec::new();
    for Report { task, fence, outcome } in reports {
        let Some(lease) = consume(tx, Held { task, fence }, any_fence)? else { continue };
        let Some(budget) = budget(tx, task, lease.cancel_requested)? else { continue };
        let verdict = after_report(&budget, outcome, jitter(fence));
        let (node, attempt) = (Some(lease.node), Some(lease.attempt));
        let event = NewEvent { node, attempt, fence: Some(fence), ..NewEvent::new(task, verdict.event) };
        apply(tx, &verdict, event)?;
        finished.push(task);
    }
    Ok(finished)
}

/// A number in 0..1 that differs from lease to lease.
pub(super) fn jitter(fence: Fence) -> f64 {
    fastrand::Rng::with_seed(fence.0.cast_unsigned()).f64()
}

pub(super) fn release(tx: &Tx<'_>, held: &[Held]) -> Result<Vec<TaskId>> {
    #[cfg(feature = "bugs")]
    let any_fence = tx.bugs.has(Bug::ReleaseWithoutFence);
    #[cfg(not(feature = "bugs"))]
    let any_fence = false;
    let mut released = Vec::new();
    for held in held {
        let Some(lease) = consume(tx, *held, any_fence)? else { continue };
        let Some(budget) = budget(tx, held.task, lease.cancel_requested)? else { continue };
        let verdict = after_release(&budget);
        let (node, attempt, fence) = (Some(lease.node), Some(lease.attempt), Some(held.fence));
        apply(tx, &verdict, NewEvent { node, attempt, fence, ..NewEvent::new(held.task, verdict.event) })?;
        released.push(held.task);
    }
    Ok(released)
}

pub(super) fn progress(tx: &Tx<'_>, held: Held, part: f32) -> Result<bool> {
    let sql = "UPDATE tasks SET progress = ?3
               WHERE id = ?1 AND EXISTS (SELECT 1 FROM task_leases WHERE task_id = ?1 AND fence = ?2)";
    Ok(tx.db.prepare_cached(sql)?.execute((held.task, held.fence, f64::from(part)))? == 1)
}
