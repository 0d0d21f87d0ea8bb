//! Leases: claim, renew, start, finish, release. All of a batch in one statement where that is possible.

use std::collections::BTreeMap;
use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use serde_json::{Map, Value};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::placing::{Classes, Open, open_to};
use super::super::{Claim, Claimed, Held, Renewed, Result};
use super::settle::{ATTEMPT, Attempt, apply, write_events};
use super::{millis, rows_max, unsigned};
use crate::domain::{
    EventKind, Fence, NewEvent, NodeProfile, Outcome, Report, TaskId, after_release, after_report,
};

/// Per class and priority, so that neither tasks that are not due nor those of other classes are looked at.
/// `statement_timestamp()` is stable and so a bound of the index, which `clock_timestamp()` is not.
const CLAIM: &str = "WITH due AS MATERIALIZED (
        SELECT t.id, t.priority, t.run_at, c.pid, c.room
        FROM unnest($1::int[], $2::bigint[]) AS c(pid, room) CROSS JOIN generate_series(0, 3) AS p(pr)
        CROSS JOIN LATERAL (
            SELECT id, priority, run_at FROM tasks
            WHERE status = 0 AND unmet_deps = 0 AND placement_id = c.pid AND priority = p.pr
                AND run_at <= statement_timestamp()
            ORDER BY run_at, id LIMIT c.room FOR NO KEY UPDATE SKIP LOCKED) t),
    roomy AS (SELECT *, row_number() OVER (PARTITION BY pid ORDER BY priority, run_at, id) AS place FROM due),
    picked AS (SELECT id, row_number() OVER (ORDER BY priority, run_at, id) AS place
        FROM roomy WHERE place <= room ORDER BY priority, run_at, id LIMIT $3),
    claimed AS (UPDATE tasks t SET status = 1, attempt_id = t.attempt_id + 1, last_assigned_node = $4,
            progress = NULL, started_at = coalesce(t.started_at, clock_timestamp())
        FROM picked p WHERE t.id = p.id AND t.status = 0
        RETURNING t.id, t.name, t.executor, t.attempt_id, t.inputs, t.timeout_seconds, p.place),
    leased AS (INSERT INTO task_leases
            (task_id, fence, attempt_id, node_id, boot_id, acquired_at, expires_at, deadline_at)
        SELECT id, nextval('fences'), attempt_id, $4, $5, clock_timestamp(), clock_timestamp() + in_ms($6),
            clock_timestamp() + in_ms(timeout_seconds::bigint * 1000) FROM claimed
        RETURNING task_id, fence, attempt_id),
    written AS (INSERT INTO task_events (task_id, event_type, node_id, attempt_id, fence)
        SELECT task_id, 'assigned', $4, attempt_id, fence FROM leased)
    SELECT c.id, l.fence, c.name, c.executor, c.attempt_id, c.inputs, c.timeout_seconds
    FROM claimed c JOIN leased l ON l.task_id = c.id ORDER BY c.place";

/// Where the claim of one task differs from that of any.
const ANY_TASK: &str = "AND run_at <= statement_timestamp()";
const ONE_TASK: &str = "AND run_at <= statement_timestamp() AND id = $7";

/// Leases due tasks; only the one that is named, if there is one.
pub(super) async fn claim(
    tx: &Transaction<'_>,
    classes: &Classes,
    claim: &Claim,
    only: Option<TaskId>,
) -> Result<Vec<Claimed>> {
    let open = open_to(classes, &claim.node);
    let rooms = rooms(tx, &open, claim).await?;
    let numbers: Vec<i32> = open.iter().map(|open| open.class).collect();
    let (limit, lease) = (rows_max(claim.limit), millis(claim.lease));
    let values: [&(dyn ToSql + Sync); 6] =
        [&numbers, &rooms, &limit, &claim.node.name, &claim.boot.0, &lease];
    let rows = if let Some(TaskId(task)) = only {
        let statement = tx.prepare_cached(&CLAIM.replace(ANY_TASK, ONE_TASK)).await?;
        tx.query(&statement, &[&values[..], &[&task]].concat()).await?
    } else {
        tx.query(&tx.prepare_cached(CLAIM).await?, &values).await?
    };
    let mut claimed: Vec<Claimed> = rows.iter().map(read_claimed).collect();
    add_dependency_results(tx, &mut claimed).await?;
    Ok(claimed)
}

fn read_claimed(row: &Row) -> Claimed {
    let seconds: Option<i32> = row.get(6);
    Claimed {
        held: Held { task: TaskId(row.get(0)), fence: Fence(row.get(1)) },
        name: row.get(2),
        executor: row.get(3),
        attempt: unsigned(row.get(4)),
        inputs: row.get(5),
        dependencies: Map::new(),
        timeout: seconds.map(|seconds| Duration::from_secs(unsigned(seconds).into())),
    }
}

/// How many tasks of each class may be claimed. Processes of one node take turns where that is limited.
async fn rooms(tx: &Transaction<'_>, open: &[Open], claim: &Claim) -> Result<Vec<i64>> {
    let limited: Vec<i32> = open.iter().filter(|open| open.limit.is_some()).map(|open| open.class).collect();
    let mut running: BTreeMap<i32, i64> = BTreeMap::new();
    if !limited.is_empty() {
        tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[&claim.node.name]).await?;
        let sql = "SELECT t.placement_id, count(*) FROM task_leases l JOIN tasks t ON t.id = l.task_id
                   WHERE l.node_id = $1 AND t.placement_id = ANY($2) GROUP BY t.placement_id";
        let rows = tx.query(sql, &[&claim.node.name, &limited]).await?;
        running.extend(rows.iter().map(|row| (row.get::<_, i32>(0), row.get::<_, i64>(1))));
    }
    let all = rows_max(claim.limit);
    let room = |open: &Open| match open.limit {
        Some(limit) => (i64::from(limit) - running.get(&open.class).copied().unwrap_or(0)).clamp(0, all),
        None => all,
    };
    Ok(open.iter().map(room).collect())
}

async fn add_dependency_results(tx: &Transaction<'_>, claimed: &mut [Claimed]) -> Result<()> {
    if claimed.is_empty() {
        return Ok(());
    }
    let statement = tx
        .prepare_cached(
            "SELECT e.task_id, d.name, d.result FROM task_dependencies e JOIN tasks d ON d.id = e.depends_on
             WHERE e.task_id = ANY($1)",
        )
        .await?;
    let ids: Vec<Uuid> = claimed.iter().map(|claimed| claimed.held.task.0).collect();
    let mut results: BTreeMap<Uuid, Map<String, Value>> = BTreeMap::new();
    for row in tx.query(&statement, &[&ids]).await? {
        let result: Option<Value> = row.get(2);
        results.entry(row.get(0)).or_default().insert(row.get(1), result.unwrap_or(Value::Null));
    }
    for claimed in claimed {
        claimed.dependencies = results.remove(&claimed.held.task.0).unwrap_or_default();
    }
    Ok(())
}

pub(super) async fn next_due(
    client: &Client,
    classes: &Classes,
    node: &NodeProfile,
) -> Result<Option<Duration>> {
    let numbers: Vec<i32> = open_to(classes, node).iter().map(|open| open.class).collect();
    let statement = client
        .prepare_cached(
            "SELECT min(greatest(0, ceil(extract(epoch FROM t.run_at - clock_timestamp()) * 1000)))::bigint
             FROM unnest($1::int[]) AS c(pid) CROSS JOIN generate_series(0, 3) AS p(pr)
             CROSS JOIN LATERAL (SELECT run_at FROM tasks WHERE status = 0 AND unmet_deps = 0 AND placement_id = c.pid
                 AND priority = p.pr ORDER BY run_at LIMIT 1) t",
        )
        .await?;
    let wait: Option<i64> = client.query_one(&statement, &[&numbers]).await?.get(0);
    Ok(wait.map(|wait| Duration::from_millis(wait.cast_unsigned())))
}

fn columns(held: &[Held]) -> (Vec<Uuid>, Vec<i64>) {
    held.iter().map(|held| (held.task.0, held.fence.0)).unzip()
}

pub(super) async fn renew(tx: &Transaction<'_>, held: &[Held], lease: Duration) -> Result<Vec<Renewed>> {
    let statement = tx
        .prepare_cached(
            "UPDATE task_leases l SET expires_at = clock_timestamp() + in_ms($3)
             FROM unnest($1::uuid[], $2::bigint[]) AS i(id, fence)
             WHERE l.task_id = i.id AND l.fence = i.fence
                 AND (l.deadline_at IS NULL OR l.deadline_at > clock_timestamp())
             RETURNING l.task_id, l.cancel_requested",
        )
        .await?;
    let (tasks, fences) = columns(held);
    let rows = tx.query(&statement, &[&tasks, &fences, &millis(lease)]).await?;
    Ok(rows.iter().map(|row| Renewed { task: TaskId(row.get(0)), cancel: row.get(1) }).collect())
}

pub(super) async fn start(tx: &Transaction<'_>, held: &[Held]) -> Result<Vec<TaskId>> {
    let statement = tx
        .prepare_cached(
            "SELECT l.task_id, l.node_id, l.attempt_id, l.fence FROM task_leases l
             JOIN unnest($1::uuid[], $2::bigint[]) AS i(id, fence) ON l.task_id = i.id AND l.fence = i.fence
             FOR SHARE OF l",
        )
        .await?;
    let (tasks, fences) = columns(held);
    let event = |row: &Row| NewEvent {
        node: row.get(1),
        attempt: Some(unsigned(row.get(2))),
        fence: Some(Fence(row.get(3))),
        ..NewEvent::new(TaskId(row.get(0)), EventKind::Started)
    };
    let events: Vec<NewEvent> = tx.query(&statement, &[&tasks, &fences]).await?.iter().map(event).collect();
    write_events(tx, &events).await?;
    Ok(events.into_iter().map(|event| event.task).collect())
}

/// Deletes lease rows: each is the right to end an attempt, which only one can use.
async fn consume(tx: &Transaction<'_>, held: &[Held]) -> Result<Vec<Attempt>> {
    let sql = format!(
        "WITH l AS (DELETE FROM task_leases l USING unnest($1::uuid[], $2::bigint[]) AS i(id, fence)
             WHERE l.task_id = i.id AND l.fence = i.fence RETURNING l.*)
         SELECT {ATTEMPT} FROM l JOIN tasks t ON t.id = l.task_id AND t.status = 1"
    );
    let statement = tx.prepare_cached(&sql).await?;
    let (tasks, fences) = columns(held);
    tx.query(&statement, &[&tasks, &fences]).await?.iter().map(Attempt::read).collect()
}

pub(super) async fn finish(tx: &Transaction<'_>, reports: &[Report]) -> Result<Vec<TaskId>> {
    let held: Vec<Held> =
        reports.iter().map(|report| Held { task: report.task, fence: report.fence }).collect();
    let outcomes: BTreeMap<Held, &Outcome> =
        held.iter().copied().zip(reports.iter().map(|report| &report.outcome)).collect();
    let mut ended = Vec::new();
    for attempt in consume(tx, &held).await? {
        let held = Held { task: attempt.event.task, fence: attempt.fence };
        let Some(outcome) = outcomes.get(&held) else { continue };
        let verdict = after_report(&attempt.budget, (*outcome).clone(), attempt.jitter());
        ended.push((attempt.event, verdict));
    }
    let finished = ended.iter().map(|(event, _)| event.task).collect();
    apply(tx, ended).await?;
    Ok(finished)
}

pub(super) async fn release(tx: &Transaction<'_>, held: &[Held]) -> Result<Vec<TaskId>> {
    let attempts = consume(tx, held).await?;
    let released = attempts.iter().map(|attempt| attempt.event.task).collect();
    let ended = attempts.into_iter().map(|attempt| (attempt.event, after_release(&attempt.budget)));
    apply(tx, ended.collect()).await?;
    Ok(released)
}

pub(super) async fn progress(client: &Client, held: Held, part: f32) -> Result<bool> {
    let statement = client
        .prepare_cached(
            "UPDATE tasks SET progress = $3
             WHERE id = $1 AND EXISTS (SELECT 1 FROM task_leases WHERE task_id = $1 AND fence = $2)",
        )
        .await?;
    Ok(client.execute(&statement, &[&held.task.0, &held.fence.0, &part]).await? == 1)
}
