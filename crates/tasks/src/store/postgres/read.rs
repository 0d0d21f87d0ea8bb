//! Reading tasks, events and counts.

use std::collections::BTreeMap;

use deadpool_postgres::{Client, GenericClient};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::placing::{Classes, mark_unplaceable, open_to};
use super::super::{Result, StoreError};
use super::{from_json, node, rows_max, unsigned};
use crate::domain::{
    Counts, Epoch, Event, EventKind, Fence, Filter, NodeProfile, Position, Priority, Status, Task, TaskId,
    Timestamp, TreeEdge, TreeTask,
};

const COLUMNS: &str =
    "id, tree_id, parent_id, name, executor, status, priority, to_ms(run_at), unmet_deps, attempt_id,
    failures, crashes, max_attempts, timeout_seconds, idempotency_key, inputs, result, error, progress,
    to_ms(cancel_requested_at), last_assigned_node, to_ms(created_at), to_ms(started_at), to_ms(completed_at),
    placement_id";

pub(super) async fn task(client: &Client, classes: &Classes, task: TaskId) -> Result<Task> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = $1");
    let statement = client.prepare_cached(&sql).await?;
    if let Some(row) = client.query_opt(&statement, &[&task.0]).await? {
        return Ok(placed(client, classes, vec![record(&row)?]).await?.remove(0));
    }
    let archived = client.query_opt("SELECT record FROM task_archive WHERE id = $1", &[&task.0]).await?;
    from_json(archived.ok_or(StoreError::UnknownTask(task))?.get(0))
}

/// Conditions of a list, with their values.
#[derive(Default)]
struct Conditions<'v> {
    sql: Vec<String>,
    values: Vec<&'v (dyn ToSql + Sync)>,
}

impl<'v> Conditions<'v> {
    /// Adds a value, and returns its place.
    fn value(&mut self, value: &'v (dyn ToSql + Sync)) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    /// Adds a condition on a value, if there is one.
    fn when<T: ToSql + Sync>(&mut self, value: Option<&'v T>, condition: &str) {
        if let Some(value) = value {
            let place = self.value(value);
            self.sql.push(format!("{condition} {place}"));
        }
    }
}

/// Only the conditions that are asked for, as each has an index of its own; planned for their values, as what is rare and what is not
/// are found in different ways.
pub(super) async fn tasks(
    client: &Client,
    classes: &Classes,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Task>> {
    let name = filter.name.as_deref().map(beginning);
    let (tree, before) = (filter.tree.map(|task| task.0), filter.before.map(|task| task.0));
    let limit = rows_max(limit);
    let mut conditions = Conditions { sql: vec!["true".to_owned()], ..Conditions::default() };
    match filter.status {
        Some(Status::InProgress) => {
            conditions.sql.push("status = 1 AND id IN (SELECT task_id FROM task_leases)".to_owned());
        }
        Some(status) => conditions.sql.push(format!("status = {}", status.code())),
        None => {}
    }
    if filter.roots {
        conditions.sql.push("id = tree_id".to_owned());
    }
    conditions.when(filter.executor.as_ref(), "executor =");
    conditions.when(name.as_ref(), "name LIKE");
    conditions.when(tree.as_ref(), "tree_id =");
    conditions.when(before.as_ref(), "id <");
    let limit = conditions.value(&limit);
    let Conditions { sql, values } = conditions;
    let sql =
        format!("SELECT {COLUMNS} FROM tasks WHERE {} ORDER BY id DESC LIMIT {limit}", sql.join(" AND "));
    let rows = client.query(&sql, &values).await?;
    placed(client, classes, rows.iter().map(record).collect::<Result<_>>()?).await
}

/// The pattern of what begins like this.
fn beginning(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 1);
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}

/// All tasks of a tree, oldest first.
pub(super) async fn tree(client: &impl GenericClient, tree: TaskId) -> Result<Vec<Task>> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE tree_id = $1 ORDER BY id");
    let rows = client.query(&sql, &[&tree.0]).await?;
    rows.iter().map(|row| record(row).map(|(task, _)| task)).collect()
}

/// The tree that a task belongs to, archived or not.
pub(super) async fn tree_of(client: &impl GenericClient, task: TaskId) -> Result<TaskId> {
    let sql =
        "SELECT tree_id FROM tasks WHERE id = $1 UNION ALL SELECT tree_id FROM task_archive WHERE id = $1";
    let row = client.query_opt(sql, &[&task.0]).await?;
    row.map(|row| TaskId(row.get(0))).ok_or(StoreError::UnknownTask(task))
}

/// All tasks of the tree of a task, with what they wait for.
pub(super) async fn whole_tree(client: &Client, classes: &Classes, task: TaskId) -> Result<Vec<TreeTask>> {
    let tree = tree_of(client, task).await?;
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE tree_id = $1 ORDER BY id");
    let rows = client.query(&sql, &[&tree.0]).await?;
    let tasks = if rows.is_empty() {
        let sql = "SELECT record FROM task_archive WHERE tree_id = $1 ORDER BY id";
        let rows = client.query(sql, &[&tree.0]).await?;
        rows.iter().map(|row| from_json(row.get(0))).collect::<Result<Vec<Task>>>()?
    } else {
        placed(client, classes, rows.iter().map(record).collect::<Result<_>>()?).await?
    };
    let sql =
        "SELECT e.task_id, e.depends_on, e.required FROM tasks t JOIN task_dependencies e ON e.task_id = t.id
               WHERE t.tree_id = $1 ORDER BY e.depends_on";
    let mut edges: BTreeMap<TaskId, Vec<TreeEdge>> = BTreeMap::new();
    for row in client.query(sql, &[&tree.0]).await? {
        let edge = TreeEdge { task: TaskId(row.get(1)), required: row.get(2) };
        edges.entry(TaskId(row.get(0))).or_default().push(edge);
    }
    let with_edges = |task: Task| TreeTask { depends_on: edges.remove(&task.id).unwrap_or_default(), task };
    Ok(tasks.into_iter().map(with_edges).collect())
}

/// Due tasks that a node may run, most urgent first.
pub(super) async fn executable(
    client: &Client,
    classes: &Classes,
    node: &NodeProfile,
    limit: usize,
) -> Result<Vec<Task>> {
    let open: Vec<i32> = open_to(classes, node).iter().map(|open| open.class).collect();
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks
         WHERE status = 0 AND unmet_deps = 0 AND run_at <= statement_timestamp() AND placement_id = ANY($1)
         ORDER BY priority, run_at, id LIMIT $2"
    );
    let rows = client.query(&sql, &[&open, &rows_max(limit)]).await?;
    rows.iter().map(|row| record(row).map(|(task, _)| task)).collect()
}

async fn placed(client: &Client, classes: &Classes, mut tasks: Vec<(Task, i32)>) -> Result<Vec<Task>> {
    if tasks.iter().any(|(task, _)| task.status == Status::Pending) {
        mark_unplaceable(&mut tasks, classes, &node::all(client).await?);
    }
    Ok(tasks.into_iter().map(|(task, _)| task).collect())
}

pub(super) async fn class_count(client: &Client) -> Result<usize> {
    let statement = client.prepare_cached("SELECT count(*) FROM placement_classes").await?;
    let count: i64 = client.query_one(&statement, &[]).await?.get(0);
    Ok(usize::try_from(count).unwrap_or(0))
}

pub(super) async fn classes(client: &Client) -> Result<Classes> {
    let rows = client.query("SELECT id, constraints FROM placement_classes", &[]).await?;
    rows.iter().map(|row| Ok((row.get(0), from_json(row.get(1))?))).collect()
}

fn record(row: &Row) -> Result<(Task, i32)> {
    let time = |index: usize| row.get::<_, Option<i64>>(index).map(Timestamp);
    let corrupt = |what: &str| StoreError::Corrupt(format!("{what} of a task"));
    let priority = u8::try_from(row.get::<_, i16>(6)).map_err(|_| corrupt("priority"))?;
    let task = Task {
        id: TaskId(row.get(0)),
        tree: TaskId(row.get(1)),
        parent: row.get::<_, Option<_>>(2).map(TaskId),
        name: row.get(3),
        executor: row.get(4),
        status: Status::from_code(row.get(5)).ok_or_else(|| corrupt("status"))?,
        priority: Priority::try_from(priority).map_err(StoreError::Corrupt)?,
        run_at: Timestamp(row.get(7)),
        unmet_deps: unsigned(row.get(8)),
        attempt: unsigned(row.get(9)),
        failures: unsigned(row.get(10)),
        crashes: unsigned(row.get(11)),
        max_attempts: unsigned(row.get(12)),
        timeout_seconds: row.get::<_, Option<i32>>(13).map(unsigned),
        idempotency_key: row.get(14),
        inputs: row.get(15),
        result: row.get(16),
        error: row.get(17),
        progress: row.get(18),
        cancel_requested_at: time(19),
        last_assigned_node: row.get(20),
        created_at: Timestamp(row.get(21)),
        started_at: time(22),
        completed_at: time(23),
        unplaceable: None,
    };
    Ok((task, row.get(24)))
}

const EVENT: &str =
    "xid, event_id, task_id, event_type, node_id, attempt_id, fence, epoch, details, to_ms(timestamp)";

pub(super) async fn events(
    client: &Client,
    task: Option<TaskId>,
    after: Position,
    limit: usize,
) -> Result<Vec<Event>> {
    let limit = rows_max(limit);
    let rows = if let Some(task) = task {
        // Writers of one task take turns, so that its events have the order of their numbers.
        let sql = format!(
            "SELECT {EVENT} FROM task_events WHERE task_id = $1 AND event_id > $2 ORDER BY event_id LIMIT $3"
        );
        client.query(&sql, &[&task.0, &after.event, &limit]).await?
    } else {
        // Only of transactions before the oldest one that is still open: no later one can write before them.
        let sql = format!(
            "SELECT {EVENT} FROM task_events
             WHERE (xid, event_id) > ($1, $2) AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
             ORDER BY xid, event_id LIMIT $3"
        );
        client.query(&sql, &[&after.transaction, &after.event, &limit]).await?
    };
    rows.iter().map(event).collect()
}

/// Tasks of the tree in the first parameter.
const TREE: &str =
    "SELECT id FROM tasks WHERE tree_id = $1 UNION ALL SELECT id FROM task_archive WHERE tree_id = $1";

pub(super) async fn tree_events(
    client: &Client,
    tree: TaskId,
    after: Position,
    limit: usize,
) -> Result<Vec<Event>> {
    let sql = format!(
        "SELECT {EVENT} FROM task_events
         WHERE task_id IN ({TREE}) AND (xid, event_id) > ($2, $3)
             AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
         ORDER BY xid, event_id LIMIT $4"
    );
    let values: [&(dyn ToSql + Sync); 4] = [&tree.0, &after.transaction, &after.event, &rows_max(limit)];
    client.query(&sql, &values).await?.iter().map(event).collect()
}

pub(super) async fn tree_end(client: &Client, tree: TaskId) -> Result<Option<Position>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tasks WHERE tree_id = $1 AND status < 2)";
    if client.query_one(sql, &[&tree.0]).await?.get(0) {
        return Ok(None);
    }
    let sql = format!(
        "SELECT xid, event_id FROM task_events WHERE task_id IN ({TREE}) ORDER BY xid DESC, event_id DESC LIMIT 1"
    );
    let row = client.query_opt(&sql, &[&tree.0]).await?;
    let position = |row: Row| Position { transaction: row.get(0), event: row.get(1) };
    Ok(Some(row.map(position).unwrap_or_default()))
}

fn event(row: &Row) -> Result<Event> {
    let kind: &str = row.get(3);
    Ok(Event {
        position: Position { transaction: row.get(0), event: row.get(1) },
        task: TaskId(row.get(2)),
        kind: EventKind::parse(kind).ok_or_else(|| StoreError::Corrupt(format!("event {kind}")))?,
        node: row.get(4),
        attempt: row.get::<_, Option<i32>>(5).map(unsigned),
        fence: row.get::<_, Option<i64>>(6).map(Fence),
        epoch: row.get::<_, Option<i64>>(7).map(Epoch),
        details: row.get(8),
        at: Timestamp(row.get(9)),
    })
}

pub(super) async fn events_end(client: &Client) -> Result<Position> {
    let sql = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1";
    Ok(Position { transaction: client.query_one(sql, &[]).await?.get(0), event: i64::MAX })
}

/// Sums of changes, and leases: as many tasks run as there are leases.
pub(super) async fn counts(client: &Client) -> Result<Counts> {
    let sql = "SELECT coalesce(sum(change) FILTER (WHERE status = 0), 0)::bigint, coalesce(sum(change) FILTER (WHERE status = 2), 0)::bigint,
                   coalesce(sum(change) FILTER (WHERE status = 3), 0)::bigint, coalesce(sum(change) FILTER (WHERE status = 4), 0)::bigint,
                   (SELECT count(*) FROM task_leases) FROM task_counts";
    let row = client.query_one(&client.prepare_cached(sql).await?, &[]).await?;
    let count = |index: usize| u64::try_from(row.get::<_, i64>(index)).unwrap_or(0);
    let leases = count(4);
    Ok(Counts {
        pending: count(0).saturating_sub(leases),
        in_progress: leases,
        completed: count(1),
        failed: count(2),
        cancelled: count(3),
        leases,
    })
}
