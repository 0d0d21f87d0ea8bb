//! Schedules and their runs.

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::Row;

use super::super::{Fire, Leadership, Result, Run};
use super::{from_json, leader, rows_max, submit, to_json};
use crate::domain::{Schedule, ScheduleId, ScheduleSpec, Status, TaskId, Timestamp};

pub(super) async fn put(
    client: &Client,
    id: ScheduleId,
    spec: &ScheduleSpec,
    now: Timestamp,
) -> Result<Schedule> {
    let next_run_at = spec.trigger.first(now)?;
    let sql = "INSERT INTO schedules (id, name, spec, next_run_at) VALUES ($1, $2, $3, at_ms($4))
               ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next_run_at = excluded.next_run_at
               RETURNING id";
    let next = next_run_at.map(|time| time.0);
    let row = client.query_one(sql, &[&id.0, &spec.name, &to_json(spec), &next]).await?;
    Ok(Schedule { id: ScheduleId(row.get(0)), spec: spec.clone(), next_run_at })
}

pub(super) async fn remove(client: &Client, schedule: ScheduleId) -> Result<bool> {
    Ok(client.execute("DELETE FROM schedules WHERE id = $1", &[&schedule.0]).await? == 1)
}

pub(super) async fn all(client: &Client) -> Result<Vec<Schedule>> {
    let read = |row: &Row| {
        let next: Option<i64> = row.get(2);
        let spec = from_json(row.get(1))?;
        Ok(Schedule { id: ScheduleId(row.get(0)), spec, next_run_at: next.map(Timestamp) })
    };
    let sql = "SELECT id, spec, to_ms(next_run_at) FROM schedules ORDER BY name";
    client.query(sql, &[]).await?.iter().map(read).collect()
}

pub(super) async fn fire(tx: &Transaction<'_>, leadership: &Leadership, fire: &Fire) -> Result<bool> {
    leader::guard(tx, leadership).await?;
    let sql = "UPDATE schedules SET next_run_at = at_ms($3) WHERE id = $1 AND next_run_at = at_ms($2)";
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
