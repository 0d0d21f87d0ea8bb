//! Schedules and their runs.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::{Fire, Leadership, Result, Run, StoreError, Submitted};
use super::value::Json;
use super::{Tx, leader, submit};
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::domain::{NewTree, Schedule, ScheduleId, ScheduleSpec};

pub(super) fn put(tx: &Tx<'_>, id: ScheduleId, spec: &ScheduleSpec) -> Result<Schedule> {
    let next_run_at = spec.trigger.first(tx.now)?;
    let (id, paused) = tx.db.query_row(
        "INSERT INTO schedules (id, name, spec, next_run_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next_run_at = excluded.next_run_at
         RETURNING id, paused",
        (id, &spec.name, Json(spec), next_run_at),
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(Schedule { id, spec: spec.clone(), next_run_at, paused })
}

pub(super) fn remove(tx: &Tx<'_>, schedule: ScheduleId) -> Result<bool> {
    Ok(tx.db.execute("DELETE FROM schedules WHERE id = ?1", [schedule])? == 1)
}

pub(super) fn all(db: &Connection) -> Result<Vec<Schedule>> {
    let mut statement =
        db.prepare_cached("SELECT id, spec, next_run_at, paused FROM schedules ORDER BY name")?;
    Ok(statement.query_map([], record)?.collect::<rusqlite::Result<_>>()?)
}

fn record(row: &Row<'_>) -> rusqlite::Result<Schedule> {
    let Json(spec) = row.get(1)?;
    Ok(Schedule { id: row.get(0)?, spec, next_run_at: row.get(2)?, paused: row.get(3)? })
}

fn one(tx: &Tx<'_>, schedule: ScheduleId) -> Result<Schedule> {
    let sql = "SELECT id, spec, next_run_at, paused FROM schedules WHERE id = ?1";
    let found = tx.db.query_row(sql, [schedule], record).optional()?;
    found.ok_or(StoreError::UnknownSchedule(schedule))
}

pub(super) fn pause(tx: &Tx<'_>, schedule: ScheduleId, paused: bool) -> Result<Schedule> {
    let mut schedule = one(tx, schedule)?;
    if schedule.paused && !paused {
        schedule.next_run_at = schedule.spec.trigger.resumed(schedule.next_run_at, tx.now)?;
    }
    schedule.paused = paused;
    let sql = "UPDATE schedules SET paused = ?2, next_run_at = ?3 WHERE id = ?1";
    tx.db.execute(sql, (schedule.id, paused, schedule.next_run_at))?;
    Ok(schedule)
}

pub(super) fn trigger(tx: &Tx<'_>, schedule: ScheduleId, tree: &NewTree) -> Result<Submitted> {
    let schedule = one(tx, schedule)?;
    let submitted = submit::submit(tx, tree)?;
    if submitted.is_new {
        // Two runs of one millisecond are both kept: the later one moves on.
        let sql = "INSERT INTO schedule_runs (schedule_id, fire_time, tree_id)
                   SELECT ?1, coalesce(max(fire_time) + 1, ?2), ?3 FROM schedule_runs
                   WHERE schedule_id = ?1 AND fire_time >= ?2";
        tx.db.execute(sql, (schedule.id, tx.now, submitted.tree))?;
    }
    Ok(submitted)
}

pub(super) fn fire(tx: &Tx<'_>, leadership: &Leadership, fire: &Fire) -> Result<bool> {
    leader::guard(tx, leadership)?;
    #[cfg(feature = "bugs")]
    let any_time = tx.bugs.has(Bug::FireWithoutCompare);
    #[cfg(not(feature = "bugs"))]
    let any_time = false;
    let sql =
        "UPDATE schedules SET next_run_at = ?3 WHERE id = ?1 AND NOT paused AND (next_run_at = ?2 OR ?4)";
    if tx.db.execute(sql, (fire.schedule, fire.due, fire.next, any_time))? == 0 {
        return Ok(false);
    }
    let conflict = if any_time { "OR IGNORE" } else { "" };
    for (fire_time, tree) in &fire.runs {
        let tree = submit::submit(tx, tree)?.tree;
        let sql = format!(
            "INSERT {conflict} INTO schedule_runs (schedule_id, fire_time, tree_id) VALUES (?1, ?2, ?3)"
        );
        tx.db.execute(&sql, (fire.schedule, fire_time, tree))?;
    }
    Ok(true)
}

pub(super) fn runs(db: &Connection, schedule: ScheduleId, limit: usize) -> Result<Vec<Run>> {
    let mut statement = db.prepare_cached(
        "SELECT r.fire_time, r.tree_id, t.status, t.result FROM schedule_runs r LEFT JOIN tasks t ON t.id = r.tree_id
         WHERE r.schedule_id = ?1 ORDER BY r.fire_time DESC LIMIT ?2",
    )?;
    let rows = statement.query_map((schedule, limit), |row| {
        let result: Option<Json<_>> = row.get(3)?;
        let (fire_time, tree, status) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Run { fire_time, tree, status, result: result.map(|Json(value)| value) })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
