//! What cases need: a store whose time can be moved, and short ways to say things.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use hyperscale_tasks::bugs::Bugs;
use hyperscale_tasks::database::Database;
use hyperscale_tasks::domain::{
    Backoff, BootId, DependencySpec, NewTree, NodeProfile, NodeRecord, NodeStatus, Outcome, Report,
    ScheduleId, Status, TaskId, TaskSpec, Timestamp, TreeSpec,
};
use hyperscale_tasks::store::postgres::{PostgresOptions, PostgresStore};
use hyperscale_tasks::store::sqlite::{Clock, SqliteOptions, SqliteStore};
use hyperscale_tasks::store::{Candidate, Claim, Claimed, Held, Leadership, Store, Sweep, Swept};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_postgres::Config;

use crate::server::{Server, run};

/// Leases in these tests are this long; time moves by whole leases.
pub(crate) const LEASE: Duration = Duration::from_mins(1);

/// More than a lease.
pub(crate) const LONGER: Duration = Duration::from_secs(61);

/// How long something that must happen may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// A database.
pub(crate) struct World {
    /// A process that uses it.
    pub(crate) store: Arc<dyn Store>,
    kind: Kind,
}

enum Kind {
    Sqlite { options: SqliteOptions, offset: Arc<AtomicI64>, _folder: TempDir },
    Postgres(Box<Config>),
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        Self::with_bugs(Bugs::default()).await
    }

    /// With the clock of the machine, for nodes that run.
    pub(crate) async fn live_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(folder.path().join("tasks.db"));
        let store = Arc::new(SqliteStore::open(options.clone()).await.unwrap());
        Self { store, kind: Kind::Sqlite { options, offset: Arc::default(), _folder: folder } }
    }

    pub(crate) async fn with_bugs(bugs: Bugs) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let offset = Arc::new(AtomicI64::new(1_800_000_000_000));
        let clock = offset.clone();
        let options = SqliteOptions {
            clock: Clock::new(move || Timestamp(clock.load(Ordering::SeqCst))),
            bugs,
            ..SqliteOptions::new(folder.path().join("tasks.db"))
        };
        let store = Arc::new(SqliteStore::open(options.clone()).await.unwrap());
        Self { store, kind: Kind::Sqlite { options, offset, _folder: folder } }
    }

    pub(crate) async fn postgres(server: &Server) -> Self {
        Self::postgres_with_bugs(server, Bugs::default()).await
    }

    pub(crate) async fn postgres_with_bugs(server: &Server, bugs: Bugs) -> Self {
        let config = server.schema().await;
        let options = PostgresOptions { bugs, ..options(&config) };
        let store = Arc::new(PostgresStore::open(options).await.unwrap());
        Self { store, kind: Kind::Postgres(Box::new(config)) }
    }

    /// Another process on the same database.
    pub(crate) async fn another(&self) -> Arc<dyn Store> {
        match &self.kind {
            Kind::Sqlite { options, .. } => Arc::new(SqliteStore::open(options.clone()).await.unwrap()),
            Kind::Postgres(config) => Arc::new(PostgresStore::open(options(config)).await.unwrap()),
        }
    }

    /// A process that only reads.
    pub(crate) async fn observer(&self) -> Arc<dyn Store> {
        match &self.kind {
            Kind::Sqlite { options, .. } => {
                let options = SqliteOptions { read_only: true, ..options.clone() };
                Arc::new(SqliteStore::open(options).await.unwrap())
            }
            Kind::Postgres(config) => {
                let options = PostgresOptions { read_only: true, ..options(config) };
                Arc::new(PostgresStore::open(options).await.unwrap())
            }
        }
    }

    /// Lets time pass: SQLite's clock moves; PostgreSQL's cannot, so everything that is stored moves back.
    pub(crate) async fn advance(&self, by: Duration) {
        let ms = i64::try_from(by.as_millis()).unwrap();
        match &self.kind {
            Kind::Sqlite { offset, .. } => drop(offset.fetch_add(ms, Ordering::SeqCst)),
            Kind::Postgres(config) => {
                let back = |table: &str, columns: &[&str]| {
                    let sets: Vec<String> = columns
                        .iter()
                        .map(|column| format!("{column} = {column} - interval '{ms} ms'"))
                        .collect();
                    format!("UPDATE {table} SET {};", sets.join(", "))
                };
                let sql = [
                    back("cluster_leader", &["acquired_at", "expires_at"]),
                    back("task_leases", &["acquired_at", "expires_at", "deadline_at"]),
                    back("tasks", &["run_at", "created_at", "started_at", "completed_at"]),
                    back("distributed_nodes", &["heartbeat_at", "registered_at"]),
                    back("schedules", &["next_run_at"]),
                    back("task_events", &["timestamp"]),
                ];
                run(config, &sql.concat()).await.unwrap();
            }
        }
    }

    /// Where the raw database is, if it is PostgreSQL.
    pub(crate) fn postgres_config(&self) -> Option<&Config> {
        match &self.kind {
            Kind::Postgres(config) => Some(config),
            Kind::Sqlite { .. } => None,
        }
    }

    /// Submits tasks; returns their ids by the order they were written in.
    pub(crate) async fn submit(&self, tasks: Vec<TaskSpec>) -> Vec<TaskId> {
        let tree = tree(TreeSpec { tasks, idempotency_key: None });
        let ids = tree.tasks.iter().map(|task| task.id).collect();
        self.store.submit(tree).await.unwrap();
        ids
    }

    /// Submits one task.
    pub(crate) async fn submit_one(&self) -> TaskId {
        self.submit(vec![task("one")]).await[0]
    }

    pub(crate) async fn claim(&self, limit: usize) -> Vec<Claimed> {
        self.store.claim(&claim("node", boot(1), limit)).await.unwrap()
    }

    /// Claims one task that must be there.
    pub(crate) async fn claim_one(&self) -> Claimed {
        let mut claimed = self.claim(1).await;
        assert_eq!(claimed.len(), 1, "nothing can be claimed");
        claimed.remove(0)
    }

    pub(crate) async fn status(&self, task: TaskId) -> Status {
        self.store.task(task).await.unwrap().status
    }

    /// Ends an attempt; `false` if its lease was lost.
    pub(crate) async fn finish(&self, held: Held, outcome: Outcome) -> bool {
        let report = Report { task: held.task, fence: held.fence, outcome };
        self.store.finish(vec![report]).await.unwrap() == [held.task]
    }

    pub(crate) async fn complete(&self, held: Held) -> bool {
        self.finish(held, done()).await
    }

    /// Leads as the first process.
    pub(crate) async fn lead(&self) -> Leadership {
        self.store
            .acquire_leadership(&candidate("node", boot(1)))
            .await
            .unwrap()
            .expect("somebody else leads")
    }

    pub(crate) async fn sweep(&self, leadership: &Leadership) -> Swept {
        self.store.sweep(leadership, &sweep()).await.unwrap()
    }
}

fn options(config: &Config) -> PostgresOptions {
    PostgresOptions { connections: 4, ..PostgresOptions::of(Database::plain(config.clone())) }
}

pub(crate) fn done() -> Outcome {
    Outcome::Completed(json!({"done": true}))
}

pub(crate) fn failed() -> Outcome {
    Outcome::Failed("broken".to_owned())
}

pub(crate) fn sweep() -> Sweep {
    Sweep { max_crashes: 3, dead: Vec::new(), after: None, limit: 100 }
}

pub(crate) fn boot(number: u8) -> BootId {
    BootId::new(u64::from(number), [number; 10])
}

pub(crate) fn profile(name: &str) -> NodeProfile {
    NodeProfile { name: name.to_owned(), executors: executors(), ..NodeProfile::default() }
}

pub(crate) fn executors() -> BTreeSet<String> {
    ["wait", "http"].map(str::to_owned).into()
}

pub(crate) fn record(profile: NodeProfile, boot: BootId) -> NodeRecord {
    NodeRecord {
        profile,
        boot,
        status: NodeStatus::Healthy,
        heartbeat_at: Timestamp(0),
        registered_at: Timestamp(0),
        address: None,
        version: "1".to_owned(),
    }
}

pub(crate) fn claim(node: &str, boot: BootId, limit: usize) -> Claim {
    Claim { node: profile(node), boot, limit, lease: LEASE }
}

pub(crate) fn candidate(node: &str, boot: BootId) -> Candidate {
    Candidate { node: node.to_owned(), boot, lease: LEASE, dead: None }
}

/// A task that is tried again at once.
pub(crate) fn task(name: &str) -> TaskSpec {
    TaskSpec { backoff: Backoff::NONE, ..TaskSpec::new(name, "wait", json!({})) }
}

/// A task that waits for others; names that end in `?` are optional.
pub(crate) fn after(name: &str, on: &[&str]) -> TaskSpec {
    let edge = |name: &&str| DependencySpec {
        task: name.trim_end_matches('?').to_owned(),
        required: !name.ends_with('?'),
    };
    TaskSpec { depends_on: on.iter().map(edge).collect(), ..task(name) }
}

/// Ids that rise.
pub(crate) fn next_id() -> TaskId {
    static LAST: AtomicU64 = AtomicU64::new(1);
    TaskId::new(LAST.fetch_add(1, Ordering::SeqCst), [0; 10])
}

pub(crate) fn schedule_id() -> ScheduleId {
    ScheduleId(next_id().0)
}

pub(crate) fn tree(spec: TreeSpec) -> NewTree {
    let valid = |_: &str, _: &Value| Ok(());
    NewTree::new(spec, &executors(), valid, next_id).unwrap()
}

/// A tree of one task with a key.
pub(crate) fn keyed(key: &str, inputs: Value) -> NewTree {
    let tasks = vec![TaskSpec { inputs, ..task("one") }];
    tree(TreeSpec { tasks, idempotency_key: Some(key.to_owned()) })
}
