//! Schedules and their runs.

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::Row;

use super::super::{Fire, Leadership, Result, Run, StoreError, Submitted};
use super::{from_json, leader, rows_max, submit, to_json};
use crate::domain::{NewTree, Schedule, ScheduleId, ScheduleSpec, Status, TaskId, Timestamp};

pub(super) async fn put(
    client: &Client,
    id: ScheduleId,
    spec: &ScheduleSpec,
    now: Timestamp,
) -> Result<Schedule> {
    let next_run_at = spec.trigger.first(now)?;
    let sql = "INSERT INTO schedules (id, name, spec, next_run_at) VALUES ($1, $2, $3, at_ms($4))
               ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next_run_at = excluded.next_run_at
               RETURNING id, paused";
    let next = next_run_at.map(|time| time.0);
    let row = client.query_one(sql, &[&id.0, &spec.name, &to_json(spec), &next]).await?;
    Ok(Schedule { id: ScheduleId(row.get(0)), spec: spec.clone(), next_run_at, paused: row.get(1) })
}

pub(super) async fn remove(client: &Client, schedule: ScheduleId) -> Result<bool> {
    Ok(client.execute("DELETE FROM schedules WHERE id = $1", &[&schedule.0]).await? == 1)
}

pub(super) async fn all(client: &Client) -> Result<Vec<Schedule>> {
    let sql = "SELECT id, spec, to_ms(next_run_at), paused FROM schedules ORDER BY name";
    client.query(sql, &[]).await?.iter().map(record).collect()
}

fn record(row: &Row) -> Result<Schedule> {
    let (id, spec) = (ScheduleId(row.get(0)), from_json(row.get(1))?);
    let next: Option<i64> = row.get(2);
    Ok(Schedule { id, spec, next_run_at: next.map(Timestamp), paused: row.get(3) })
}

/// A schedule, which no other transaction changes until this one ends.
async fn locked(tx: &Transaction<'_>, schedule: ScheduleId) -> Result<Schedule> {
    let sql = "SELECT id, spec, to_ms(next_run_at), paused FROM schedules WHERE id = $1 FOR UPDATE";
    let row = tx.query_opt(sql, &[&schedule.0]).await?;
    record(&row.ok_or(StoreError::UnknownSchedule(schedule))?)
}

pub(super) async fn pause(tx: &Transaction<'_>, schedule: ScheduleId, paused: bool) -> Result<Schedule> {
    let mut schedule = locked(tx, schedule).await?;
    if schedule.paused && !paused {
        let now = Timestamp(tx.query_one("SELECT to_ms(clock_timestamp())", &[]).await?.get(0));
        schedule.next_run_at = schedule.spec.trigger.resumed(schedule.next_run_at, now)?;
    }
    schedule.paused = paused;
    let sql = "UPDATE schedules SET paused = $2, next_run_at = at_ms($3) WHERE id = $1";
    let next = schedule.next_run_at.map(|time| time.0);
    tx.execute(sql, &[&schedule.id.0, &paused, &next]).await?;
    Ok(schedule)
}

pub(super) async fn trigger(tx: &Transaction<'_>, schedule: ScheduleId, tree: &NewTree) -> Result<Submitted> {
    let schedule = locked(tx, schedule).await?;
    let submitted = submit::submit(tx, tree).await?;
    if submitted.is_new {
        let sql =
            "INSERT INTO schedule_runs (schedule_id, fire_time, tree_id) VALUES ($1, clock_timestamp(), $2)";
        tx.execute(sql, &[&schedule.id.0, &submitted.tree.0]).await?;
    }
    Ok(submitted)
}

pub(super) async fn fire(tx: &Transaction<'_>, leadership: &Leadership, fire: &Fire) -> Result<bool> {
    leader::guard(tx, leadership).await?;
    let sql = "UPDATE schedules SET next_run_at = at_ms($3) WHERE id = $1 AND NOT paused AND next_run_at = at_ms($2)";
    let next = fire.next.map(|time| time.0);
    if tx.execute(sql, &[&fire.schedule.0, &fire.due.0, &next]).await? == 0 {
        return Ok(false);
    }
    for (fire_time, tree) in &fire.runs {
        let tree = submit::submit(tx, tree).await?.tree;
        let sql = "INSERT INTO schedule_runs (schedule_id, fire_time, tree_id) VALUES ($1, at_ms($2), $3)";
        tx.execute(sql, &[&fire.schedule.0, &fire_time.0, &tree.0]).await?;
    }
    Ok(true)
}

pub(super) async fn runs(client: &Client, schedule: ScheduleId, limit: usize) -> Result<Vec<Run>> {
    let sql = "SELECT to_ms(r.fire_time), r.tree_id, t.status, t.result
               FROM schedule_runs r LEFT JOIN tasks t ON t.id = r.tree_id
               WHERE r.schedule_id = $1 ORDER BY r.fire_time DESC LIMIT $2";
    let read = |row: &Row| {
        let status: Option<i16> = row.get(2);
        Run {
            fire_time: Timestamp(row.get(0)),
            tree: TaskId(row.get(1)),
            status: status.and_then(Status::from_code),
            result: row.get(3),
        }
    };
    Ok(client.query(sql, &[&schedule.0, &rows_max(limit)]).await?.iter().map(read).collect())
}
