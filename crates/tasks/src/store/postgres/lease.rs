//! Leases: claim, renew, finish, release. All of a batch in one statement where that is possible.

use std::collections::BTreeMap;
use std::time::Duration;

use deadpool_postgres::{Client, GenericClient, Transaction};
use serde_json::{Map, Value};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::placing::Open;
use super::super::{Claim, Claimed, Held, Renewed, Result};
use super::settle::{ATTEMPT, Attempt, apply};
use super::{millis, rows_max, unsigned};
use crate::domain::{Fence, Outcome, Report, TaskId, after_release, after_report};

/// Per class and priority, so that neither tasks that are not due nor those of other classes are looked at.
/// `statement_timestamp()` is stable and so a bound of the index, which `clock_timestamp()` is not. Rows are changed by the place in
/// which they were locked, and nothing that was changed is joined again: a batch costs as many steps as it has tasks. Says how many
/// classes there are even if there is no task.
const CLAIM: &str = "WITH due AS MATERIALIZED (
        SELECT t.ctid, t.id, t.priority, t.run_at, c.pid, c.room
        FROM unnest($1::int[], $2::bigint[]) AS c(pid, room) CROSS JOIN generate_series(0, 3) AS p(pr)
        CROSS JOIN LATERAL (
            SELECT ctid, id, priority, run_at FROM tasks
            WHERE status = 0 AND unmet_deps = 0 AND placement_id = c.pid AND priority = p.pr
                AND run_at <= statement_timestamp()
            ORDER BY run_at, id LIMIT c.room FOR NO KEY UPDATE SKIP LOCKED) t),
    roomy AS (SELECT *, row_number() OVER (PARTITION BY pid ORDER BY priority, run_at, id) AS place FROM due),
    picked AS (SELECT ctid, row_number() OVER (ORDER BY priority, run_at, id) AS place
        FROM roomy WHERE place <= room ORDER BY priority, run_at, id LIMIT $3),
    claimed AS (UPDATE tasks t SET status = 1, attempt_id = t.attempt_id + 1, last_assigned_node = $4,
            progress = NULL, started_at = coalesce(t.started_at, clock_timestamp())
        FROM picked p WHERE t.ctid = p.ctid
        RETURNING t.id, t.name, t.executor, t.attempt_id, t.inputs, t.timeout_seconds, p.place, nextval('fences') AS fence),
    leased AS (INSERT INTO task_leases
            (task_id, fence, attempt_id, node_id, boot_id, acquired_at, expires_at, deadline_at)
        SELECT id, fence, attempt_id, $4, $5, clock_timestamp(), clock_timestamp() + in_ms($6),
            clock_timestamp() + in_ms(timeout_seconds::bigint * 1000) FROM claimed),
    written AS (INSERT INTO task_events (task_id, event_type, node_id, attempt_id, fence)
        SELECT c.id, e.kind, $4, c.attempt_id, c.fence
        FROM claimed c CROSS JOIN (VALUES ('assigned'), ('started')) AS e(kind))
    SELECT n.classes, c.id, c.fence, c.name, c.executor, c.attempt_id, c.inputs, c.timeout_seconds,
        (SELECT jsonb_object_agg(d.name, d.result) FROM task_dependencies e JOIN tasks d ON d.id = e.depends_on
         WHERE e.task_id = c.id)
    FROM (SELECT count(*) AS classes FROM placement_classes) n LEFT JOIN claimed c ON true ORDER BY c.place";

/// Where the claim of one task differs from that of any.
const ANY_TASK: &str = "AND run_at <= statement_timestamp()";
const ONE_TASK: &str = "AND run_at <= statement_timestamp() AND id = $7";

/// What a claim found.
pub(super) struct Found {
    pub(super) claimed: Vec<Claimed>,
    /// How many placement classes there are now.
    pub(super) classes: usize,
}

/// Leases due tasks; only the one that is named, if there is one. A transaction of its own, unless classes have limits: then it must be
/// inside of one.
pub(super) async fn claim(
    client: &impl GenericClient,
    open: &[Open],
    claim: &Claim,
    only: Option<TaskId>,
) -> Result<Found> {
    let rooms = rooms(client, open, claim).await?;
    let numbers: Vec<i32> = open.iter().map(|open| open.class).collect();
    let (limit, lease) = (rows_max(claim.limit), millis(claim.lease));
    let values: [&(dyn ToSql + Sync); 6] =
        [&numbers, &rooms, &limit, &claim.node.name, &claim.boot.0, &lease];
    let rows = if let Some(TaskId(task)) = only {
        let statement = client.prepare_cached(&CLAIM.replace(ANY_TASK, ONE_TASK)).await?;
        client.query(&statement, &[&values[..], &[&task]].concat()).await?
    } else {
        client.query(&client.prepare_cached(CLAIM).await?, &values).await?
    };
    let classes: i64 = rows.first().map_or(0, |row| row.get(0));
    let claimed = rows.iter().filter_map(read_claimed).collect();
    Ok(Found { claimed, classes: usize::try_from(classes).unwrap_or(0) })
}

fn read_claimed(row: &Row) -> Option<Claimed> {
    let task: Option<Uuid> = row.get(1);
    let seconds: Option<i32> = row.get(7);
    let dependencies: Option<Value> = row.get(8);
    Some(Claimed {
        held: Held { task: TaskId(task?), fence: Fence(row.get(2)) },
        name: row.get(3),
        executor: row.get(4),
        attempt: unsigned(row.get(5)),
        inputs: row.get(6),
        dependencies: match dependencies {
            Some(Value::Object(results)) => results,
            _ => Map::new(),
        },
        timeout: seconds.map(|seconds| Duration::from_secs(unsigned(seconds).into())),
    })
}

/// How many tasks of each class may be claimed. Processes of one node take turns where that is limited.
async fn rooms(tx: &impl GenericClient, open: &[Open], claim: &Claim) -> Result<Vec<i64>> {
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

/// When the next task is due, and how many classes there are.
pub(super) async fn next_due(client: &Client, open: &[Open]) -> Result<(Option<Duration>, usize)> {
    let numbers: Vec<i32> = open.iter().map(|open| open.class).collect();
    let statement = client
        .prepare_cached(
            "SELECT (SELECT min(greatest(0, ceil(extract(epoch FROM t.run_at - clock_timestamp()) * 1000)))::bigint
                 FROM unnest($1::int[]) AS c(pid) CROSS JOIN generate_series(0, 3) AS p(pr)
                 CROSS JOIN LATERAL (SELECT run_at FROM tasks WHERE status = 0 AND unmet_deps = 0 AND placement_id = c.pid
                     AND priority = p.pr ORDER BY run_at LIMIT 1) t),
                 (SELECT count(*) FROM placement_classes)",
        )
        .await?;
    let row = client.query_one(&statement, &[&numbers]).await?;
    let (wait, classes): (Option<i64>, i64) = (row.get(0), row.get(1));
    let wait = wait.map(|wait| Duration::from_millis(wait.cast_unsigned()));
    Ok((wait, usize::try_from(classes).unwrap_or(0)))
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
