//! Nodes as processes of their own, which are killed and stopped, with a ledger outside of the store.
//!
//! A process is this test binary again, told by its environment to be a node.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hyperscale_tasks::domain::{Backoff, EventKind, Position, Settings, TaskId, TaskSpec, TreeSpec};
use hyperscale_tasks::runtime::{Context, Executor, Executors, Failure, NodeOptions, TaskNode};
use hyperscale_tasks::store::Store;
use hyperscale_tasks::store::postgres::{PostgresOptions, PostgresStore};
use hyperscale_tasks::store::sqlite::{SqliteOptions, SqliteStore};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::nodes::FAST;
use crate::server::Server;

/// What makes this binary a node: the database, and the ledger it writes.
const DATABASE: &str = "HYPERSCALE_TEST_NODE_DATABASE";
const LEDGER: &str = "HYPERSCALE_TEST_NODE_LEDGER";

/// How long everything may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Leases short enough to be outlived by a process that is stopped.
const SETTINGS: Settings = Settings { lease: Duration::from_secs(3), ..FAST };

/// Appends every execution to a file, before and after.
struct Ledger(PathBuf);

impl Ledger {
    fn write(&self, line: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        file.sync_data().unwrap();
    }
}

#[async_trait]
impl Executor for Ledger {
    fn name(&self) -> &'static str {
        "ledger"
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        self.write(&format!("begin {} {}\n", context.task(), context.attempt()));
        tokio::time::sleep(Duration::from_millis(inputs["ms"].as_u64().unwrap_or(0))).await;
        self.write(&format!("end {} {}\n", context.task(), context.attempt()));
        Ok(json!(context.attempt()))
    }
}

async fn open(database: &str) -> Arc<dyn Store> {
    match database.strip_prefix("sqlite:") {
        Some(path) => Arc::new(SqliteStore::open(SqliteOptions::new(path)).await.unwrap()),
        None => Arc::new(PostgresStore::open(PostgresOptions::new(database).unwrap()).await.unwrap()),
    }
}

fn executors(ledger: &Path) -> Executors {
    Executors::default().with(Ledger(ledger.to_owned()))
}

/// Not a test by itself: what a process that a test starts does. Ends at once when a person runs it.
#[tokio::test]
async fn node_process() {
    let (Ok(database), Ok(ledger)) = (std::env::var(DATABASE), std::env::var(LEDGER)) else { return };
    let options = NodeOptions {
        // The same for all of them, as happens to people.
        name: "node".to_owned(),
        address: None,
        capabilities: Map::new(),
        settings: SETTINGS,
        executors: executors(Path::new(&ledger)),
        store: open(&database).await,
    };
    TaskNode::new(options).unwrap().run(CancellationToken::new()).await.unwrap();
}

/// A process that is a node. It is killed with this.
struct Process(Child);

impl Process {
    fn start(database: &str, ledger: &Path) -> Self {
        let child = Command::new("setpriv")
            .args(["--pdeathsig=KILL", "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "processes::node_process"])
            .env(DATABASE, database)
            .env(LEDGER, ledger)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for something that can be seen.
async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A database with tasks, and three nodes with one name that work on them.
struct Scene {
    store: Arc<dyn Store>,
    ledger: PathBuf,
    tasks: Vec<TaskId>,
    processes: Vec<Process>,
}

impl Scene {
    async fn start(database: &str, folder: &Path) -> Self {
        let (store, ledger) = (open(database).await, folder.join("ledger"));
        File::create(&ledger).unwrap();
        let mut scene = Self { store, ledger, tasks: Vec::new(), processes: Vec::new() };
        scene.submit(120).await;
        scene.processes.extend((0..3).map(|_| Process::start(database, &scene.ledger)));
        until("three nodes", || async { scene.store.nodes().await.unwrap().len() == 3 }).await;
        until("tasks that run", || async { lines(&scene.ledger).len() > 20 }).await;
        scene
    }

    async fn submit(&mut self, count: u32) {
        let task = |number: u32| TaskSpec {
            max_attempts: 100,
            backoff: Backoff::NONE,
            ..TaskSpec::new(&format!("t{number}"), "ledger", json!({"ms": 150}))
        };
        let spec = TreeSpec { tasks: (0..count).map(task).collect(), idempotency_key: None };
        let tree = executors(&self.ledger).prepare(spec).unwrap();
        self.tasks.extend(tree.tasks.iter().map(|task| task.id));
        self.store.submit(tree).await.unwrap();
    }

    async fn all_completed(&self) {
        let count = self.tasks.len() as u64;
        until("all tasks completed", || async { self.store.counts().await.unwrap().completed == count })
            .await;
        check(&*self.store, &self.tasks, &self.ledger).await;
    }
}

fn lines(ledger: &Path) -> Vec<String> {
    std::fs::read_to_string(ledger).unwrap().lines().map(str::to_owned).collect()
}

/// Joins the ledger with what the store says.
async fn check(store: &dyn Store, tasks: &[TaskId], ledger: &Path) {
    let mut begun: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines(ledger) {
        let parts: Vec<&str> = line.split(' ').collect();
        if let ["begin", task, attempt] = parts[..] {
            begun.entry(task.to_owned()).or_default().push(attempt.to_owned());
        }
    }
    for task in tasks {
        let events = store.events(Some(*task), Position::default(), 1_000).await.unwrap();
        let of = |kind: EventKind| events.iter().filter(move |event| event.kind == kind);
        let completed: Vec<_> = of(EventKind::Completed).collect();
        assert_eq!(completed.len(), 1, "{events:?}");
        assert_eq!(completed[0].fence, of(EventKind::Assigned).map(|event| event.fence).max().unwrap());
        let mut attempts = begun.remove(&task.to_string()).unwrap();
        let runs = attempts.len();
        attempts.sort_unstable();
        attempts.dedup();
        assert_eq!(attempts.len(), runs, "an attempt ran twice");
        // Two executions only if the lease of the first was lost.
        let reassigned = of(EventKind::Reassigned).count();
        assert!(runs <= reassigned + 1, "{runs} executions, but {reassigned} lost leases");
    }
}

/// Only killed: who is stopped while it writes to a SQLite file keeps all others from writing, as with any file lock.
#[tokio::test]
async fn killed_processes_on_sqlite_lose_and_double_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("tasks.db").display());
    let mut scene = Scene::start(&database, folder.path()).await;
    drop(scene.processes.remove(0));
    until("more tasks that run", || async { lines(&scene.ledger).len() > 80 }).await;
    drop(scene.processes.remove(0));
    scene.all_completed().await;
}

/// One is killed, one stopped for longer than its leases and woken up again.
#[tokio::test]
async fn killed_and_stopped_processes_on_postgres_lose_and_double_nothing() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut scene = Scene::start(&server.url(), folder.path()).await;
    drop(scene.processes.remove(0));
    let sleeper = scene.processes.remove(0);
    sleeper.signal(Signal::STOP);
    // Stopped in the middle of its work: its leases are taken, and the rest is done by the third.
    scene.all_completed().await;
    sleeper.signal(Signal::CONT);
    // What it still reports is rejected. Alone from now on, it takes new work as if nothing had happened.
    scene.processes.clear();
    scene.submit(5).await;
    scene.all_completed().await;
}
