//! What follows from the end of attempts: the tasks' new states, their events, and the tasks that waited for them.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::Result;
use super::{from_json, millis, unsigned};
use crate::domain::{Budget, EventKind, Fence, NewEvent, Status, TaskId, Verdict};

/// An attempt whose lease was consumed.
pub(super) struct Attempt {
    pub(super) budget: Budget,
    pub(super) fence: Fence,
    pub(super) is_beyond_deadline: bool,
    /// Under which right it ends.
    pub(super) event: NewEvent,
}

/// Columns of [`Attempt`], of a lease `l` and its task `t`.
pub(super) const ATTEMPT: &str = "l.task_id, l.fence, l.node_id, l.attempt_id, l.cancel_requested,
    coalesce(l.deadline_at <= clock_timestamp(), false), t.failures, t.crashes, t.max_attempts, t.backoff";

impl Attempt {
    pub(super) fn read(row: &Row) -> Result<Self> {
        let (task, fence, attempt) = (TaskId(row.get(0)), Fence(row.get(1)), unsigned(row.get(3)));
        let event = NewEvent {
            node: row.get(2),
            attempt: Some(attempt),
            fence: Some(fence),
            ..NewEvent::new(task, EventKind::Reassigned)
        };
        let budget = Budget {
            failures: unsigned(row.get(6)),
            crashes: unsigned(row.get(7)),
            max_attempts: unsigned(row.get(8)),
            backoff: from_json(row.get(9))?,
            cancel_requested: row.get(4),
        };
        Ok(Self { budget, fence, is_beyond_deadline: row.get(5), event })
    }

    /// A number in 0..1 that differs from lease to lease.
    pub(super) fn jitter(&self) -> f64 {
        fastrand::Rng::with_seed(self.fence.0.cast_unsigned()).f64()
    }
}

/// Follows a CTE `moved(before, after)`, a row for each task whose state changed: the states that are counted, null where the task is new
/// or gone. What has not ended counts as one state, so that claims and releases change nothing.
pub(super) const COUNTED: &str = "counted AS (INSERT INTO task_counts (status, change)
        SELECT c.status, sum(c.change) FROM (SELECT before AS status, -1 AS change FROM moved
            UNION ALL SELECT after, 1 FROM moved) c
        WHERE c.status IS NOT NULL GROUP BY c.status HAVING sum(c.change) <> 0)";

/// Writes events.
pub(super) async fn write_events(tx: &Transaction<'_>, events: &[NewEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let statement = tx
        .prepare_cached(
            "INSERT INTO task_events (task_id, event_type, node_id, attempt_id, fence, epoch, details)
             SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::jsonb[])",
        )
        .await?;
    let tasks: Vec<Uuid> = events.iter().map(|event| event.task.0).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let nodes: Vec<Option<&str>> = events.iter().map(|event| event.node.as_deref()).collect();
    let attempts: Vec<Option<i32>> = events.iter().map(|event| event.attempt.map(u32::cast_signed)).collect();
    let fences: Vec<Option<i64>> = events.iter().map(|event| event.fence.map(|fence| fence.0)).collect();
    let epochs: Vec<Option<i64>> = events.iter().map(|event| event.epoch.map(|epoch| epoch.0)).collect();
    let details: Vec<Option<Value>> =
        events.iter().map(|event| event.details.clone().map(Value::from)).collect();
    tx.execute(&statement, &[&tasks, &kinds, &nodes, &attempts, &fences, &epochs, &details]).await?;
    Ok(())
}

/// Carries verdicts out, of attempts whose leases are consumed already.
pub(super) async fn apply(tx: &Transaction<'_>, ended: Vec<(NewEvent, Verdict)>) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "WITH moved AS (UPDATE tasks t SET status = v.status, failures = v.failures, crashes = v.crashes, result = v.result,
                 error = CASE WHEN v.status = 2 THEN NULL ELSE coalesce(v.error, t.error) END,
                 run_at = CASE WHEN v.status = 0 THEN clock_timestamp() + in_ms(v.delay) ELSE t.run_at END,
                 completed_at = CASE WHEN v.status = 0 THEN NULL ELSE clock_timestamp() END
             FROM unnest($1::uuid[], $2::smallint[], $3::int[], $4::int[], $5::jsonb[], $6::text[], $7::bigint[])
                 AS v(id, status, failures, crashes, result, error, delay)
             WHERE t.id = v.id AND t.status = 1 RETURNING 0::smallint AS before, t.status AS after),
         {COUNTED} SELECT 1"
    );
    let statement = tx.prepare_cached(&sql).await?;
    let verdicts = || ended.iter().map(|(_, verdict)| verdict);
    let tasks: Vec<Uuid> = ended.iter().map(|(event, _)| event.task.0).collect();
    let statuses: Vec<i16> = verdicts().map(|verdict| verdict.status.code()).collect();
    let failures: Vec<i32> = verdicts().map(|verdict| verdict.failures.cast_signed()).collect();
    let crashes: Vec<i32> = verdicts().map(|verdict| verdict.crashes.cast_signed()).collect();
    let results: Vec<Option<&Value>> = verdicts().map(|verdict| verdict.result.as_ref()).collect();
    let errors: Vec<Option<&str>> = verdicts().map(|verdict| verdict.error.as_deref()).collect();
    let delays: Vec<i64> = verdicts().map(|verdict| millis(verdict.delay)).collect();
    tx.execute(&statement, &[&tasks, &statuses, &failures, &crashes, &results, &errors, &delays]).await?;
    let over = ended.iter().filter(|(_, verdict)| verdict.status != Status::Pending);
    let over: Vec<(TaskId, Status)> = over.map(|(event, verdict)| (event.task, verdict.status)).collect();
    let events: Vec<NewEvent> = ended
        .into_iter()
        .map(|(event, verdict)| NewEvent { kind: verdict.event, details: verdict.error, ..event })
        .collect();
    write_events(tx, &events).await?;
    settle(tx, over).await
}

/// Tells those who waited for tasks that these have ended. What required them fails with them, and so on.
pub(super) async fn settle(tx: &Transaction<'_>, mut ended: Vec<(TaskId, Status)>) -> Result<()> {
    while !ended.is_empty() {
        let (completed, others): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|(_, status)| *status == Status::Completed);
        let ids = |tasks: &[(TaskId, Status)]| tasks.iter().map(|(task, _)| task.0).collect::<Vec<Uuid>>();
        let (completed, others) = (ids(&completed), ids(&others));
        meet_edges(tx, &completed, &others).await?;
        ended = fail_dependants(tx, &others).await?;
    }
    Ok(())
}

async fn meet_edges(tx: &Transaction<'_>, completed: &[Uuid], others: &[Uuid]) -> Result<()> {
    let statement = tx
        .prepare_cached(
            "UPDATE task_dependencies SET met = true
             WHERE NOT met AND (depends_on = ANY($1) OR (depends_on = ANY($2) AND NOT required))
             RETURNING task_id",
        )
        .await?;
    let mut freed: BTreeMap<Uuid, i32> = BTreeMap::new();
    for row in tx.query(&statement, &[&completed, &others]).await? {
        *freed.entry(row.get(0)).or_default() += 1;
    }
    if freed.is_empty() {
        return Ok(());
    }
    let (tasks, counts): (Vec<Uuid>, Vec<i32>) = freed.into_iter().unzip();
    // Locked in the order of their ids, so that two completions do not wait for each other.
    let lock =
        tx.prepare_cached("SELECT 1 FROM tasks WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE").await?;
    tx.query(&lock, &[&tasks]).await?;
    let statement = tx
        .prepare_cached(
            "UPDATE tasks t SET unmet_deps = t.unmet_deps - d.count FROM unnest($1::uuid[], $2::int[]) AS d(id, count)
             WHERE t.id = d.id",
        )
        .await?;
    tx.execute(&statement, &[&tasks, &counts]).await?;
    Ok(())
}

async fn fail_dependants(tx: &Transaction<'_>, others: &[Uuid]) -> Result<Vec<(TaskId, Status)>> {
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "WITH moved AS (UPDATE tasks t SET status = 3, completed_at = clock_timestamp(),
                 error = 'dependency: task ' || e.depends_on || ' is ' || CASE e.status WHEN 4 THEN 'cancelled' ELSE 'failed' END
             FROM (SELECT DISTINCT ON (d.task_id) d.task_id, d.depends_on, o.status
                   FROM task_dependencies d JOIN tasks o ON o.id = d.depends_on
                   WHERE d.depends_on = ANY($1) AND d.required ORDER BY d.task_id, d.depends_on) e
             WHERE t.id = e.task_id AND t.status = 0
             RETURNING t.id, t.error, 0::smallint AS before, 3::smallint AS after),
         {COUNTED} SELECT id, error FROM moved"
    );
    let statement = tx.prepare_cached(&sql).await?;
    let rows = tx.query(&statement, &[&others]).await?;
    let event =
        |row: &Row| NewEvent { details: row.get(1), ..NewEvent::new(TaskId(row.get(0)), EventKind::Failed) };
    let events: Vec<NewEvent> = rows.iter().map(event).collect();
    write_events(tx, &events).await?;
    Ok(events.iter().map(|event| (event.task, Status::Failed)).collect())
}
