//! Schedules and their runs.

use rusqlite::{Connection, Row};

use super::super::{Fire, Leadership, Result, Run};
use super::value::Json;
use super::{Tx, leader, submit};
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::domain::{Schedule, ScheduleId, ScheduleSpec};

pub(super) fn put(tx: &Tx<'_>, id: ScheduleId, spec: &ScheduleSpec) -> Result<Schedule> {
    let next_run_at = spec.trigger.first(tx.now)?;
    let id = tx.db.query_row(
        "INSERT INTO schedules (id, name, spec, next_run_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next_run_at = excluded.next_run_at
         RETURNING id",
        (id, &spec.name, Json(spec), next_run_at),
        |row| row.get(0),
    )?;
    Ok(Schedule { id, spec: spec.clone(), next_run_at })
}

pub(super) fn remove(tx: &Tx<'_>, schedule: ScheduleId) -> Result<bool> {
    Ok(tx.db.execute("DELETE FROM schedules WHERE id = ?1", [schedule])? == 1)
}

pub(super) fn all(db: &Connection) -> Result<Vec<Schedule>> {
    let mut statement = db.prepare_cached("SELECT id, spec, next_run_at FROM schedules ORDER BY name")?;
    let read = |row: &Row<'_>| {
        let Json(spec) = row.get(1)?;
        Ok(Schedule { id: row.get(0)?, spec, next_run_at: row.get(2)? })
    };
    Ok(statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn fire(tx: &Tx<'_>, leadership: &Leadership, fire: &Fire) -> Result<bool> {
    leader::guard(tx, leadership)?;
    #[cfg(feature = "bugs")]
    let any_time = tx.bugs.has(Bug::FireWithoutCompare);
    #[cfg(not(feature = "bugs"))]
    let any_time = false;
    let sql = "UPDATE schedules SET next_run_at = ?3 WHERE id = ?1 AND (next_run_at = ?2 OR ?4)";
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
