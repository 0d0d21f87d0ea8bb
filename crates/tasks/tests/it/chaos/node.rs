//! A node as a process: this test binary again, told by its environment what to be.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hyperscale_tasks::bugs::{Bug, Bugs};
use hyperscale_tasks::domain::{Role, Settings};
use hyperscale_tasks::runtime::{Context, Executor, Executors, Failure, NodeHandle, NodeOptions, TaskNode};
use hyperscale_tasks::store::Effect;
use hyperscale_tasks::store::postgres::{PostgresOptions, PostgresStore};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::ledger::Ledger;

const DATABASE: &str = "HYPERSCALE_CHAOS_DATABASE";
const FOLDER: &str = "HYPERSCALE_CHAOS_FOLDER";
const NAME: &str = "HYPERSCALE_CHAOS_NAME";
const BUG: &str = "HYPERSCALE_CHAOS_BUG";

/// Moves the wall clock of a process, as the Debian package `faketime` does.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// Leases short enough that many of them are outlived.
pub(super) const SETTINGS: Settings = Settings {
    role: Role::Auto,
    leader_lease: Duration::from_secs(3),
    leader_renew: Duration::from_millis(500),
    lease: Duration::from_secs(3),
    cleanup: Duration::from_millis(500),
    poll: Duration::from_millis(500),
    max_parallel: 64,
    heartbeat: Duration::from_secs(1),
    node_stale: Duration::from_secs(5),
    node_dead: Duration::from_secs(10),
    task_retention: Duration::from_hours(1),
    event_retention: Duration::from_hours(1),
    // No task here is what kills its node.
    max_crashes: 10_000,
    cancel_grace: Duration::from_millis(300),
};

/// Does nothing for some time, and writes down that it did.
pub(super) struct Noted {
    ledger: Option<Arc<Ledger>>,
    runs: AtomicU64,
}

impl Noted {
    /// For checking inputs only.
    pub(super) fn unused() -> Self {
        Self { ledger: None, runs: AtomicU64::new(0) }
    }

    /// An effect that is to happen once. The first attempt fails after it.
    async fn effect(&self, ledger: &Ledger, context: &Context) -> Result<(), Failure> {
        let task = context.task();
        if let Effect::Done(_) = context.begin_effect("pay").await? {
            return Ok(());
        }
        ledger.write(&format!("effect {task}")).await;
        context.finish_effect("pay", json!(true)).await?;
        ledger.write(&format!("kept {task}")).await;
        match context.attempt() {
            1 => Err(Failure::Retry("after the effect".to_owned())),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Executor for Noted {
    fn name(&self) -> &'static str {
        "noted"
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let ledger = self.ledger.as_ref().expect("a node has a ledger");
        let nonce = format!("{}-{}", std::process::id(), self.runs.fetch_add(1, Ordering::Relaxed));
        ledger.write(&format!("begin {} {} {nonce}", context.task(), context.attempt())).await;
        let pause = inputs["ms"].as_u64().unwrap_or(0);
        if pause > 0 {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        match inputs["mode"].as_str() {
            Some("effect") => self.effect(ledger, context).await?,
            Some("fail") if context.attempt() == 1 => return Err(Failure::Retry("as asked".to_owned())),
            _ => {}
        }
        ledger.write(&format!("end {} {nonce}", context.task())).await;
        Ok(json!({"attempt": context.attempt(), "nonce": nonce}))
    }
}

pub(super) fn executors() -> Executors {
    Executors::default().with(Noted::unused())
}

/// A store, with a deliberate bug if one is named.
pub(super) async fn open(database: &str, bug: Option<Bug>) -> PostgresStore {
    let options = PostgresOptions::new(database).unwrap();
    PostgresStore::open(PostgresOptions { bugs: Bugs::from_iter(bug), ..options }).await.unwrap()
}

fn bug_named(name: &str) -> Option<Bug> {
    [Bug::FinishWithoutFence, Bug::RenewLeaderByName, Bug::EffectPerLease, Bug::SweepUnlocked]
        .into_iter()
        .find(|bug| format!("{bug:?}") == name)
}

/// Not a test by itself: what a process that a test starts does. Ends at once when a person runs it.
#[tokio::test]
async fn node_process() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
    let ledger = Arc::new(Ledger::open(&folder));
    let bug = std::env::var(BUG).ok().and_then(|name| bug_named(&name));
    // A server that is just restarting is waited for, as a supervisor would by starting again.
    let store = loop {
        let options = PostgresOptions::new(&database).unwrap();
        match PostgresStore::open(PostgresOptions { bugs: Bugs::from_iter(bug), ..options }).await {
            Ok(store) => break store,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let noted = Noted { ledger: Some(ledger.clone()), runs: AtomicU64::new(0) };
    let options = NodeOptions {
        name: std::env::var(NAME).unwrap(),
        address: None,
        capabilities: Map::new(),
        settings: SETTINGS,
        executors: Executors::default().with(noted),
        store: Arc::new(store),
    };
    let name = options.name.clone();
    let node = TaskNode::new(options).unwrap();
    let handle = node.handle();
    ledger.write(&format!("boot {}", handle.boot().0)).await;
    tokio::select! {
        // A node that could not register ends, and is started again.
        _ = node.run(CancellationToken::new()) => {}
        () = note_leadership(&handle, &name, &ledger) => {}
    }
}

async fn note_leadership(handle: &NodeHandle, name: &str, ledger: &Ledger) {
    let mut leads = handle.leads();
    loop {
        let epoch = *leads.borrow_and_update();
        if let Some(epoch) = epoch {
            ledger.write(&format!("leads {} {} {name}", epoch.0, handle.boot().0)).await;
        }
        if leads.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// How a process is started.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) database: String,
    pub(super) folder: PathBuf,
    pub(super) bug: Option<Bug>,
    /// How far its wall clock is off.
    pub(super) clock: Option<&'static str>,
}

/// A process that is a node. It is killed with this.
pub(super) struct Process {
    child: Child,
    pub(super) plan: Plan,
    pub(super) is_stopped: bool,
}

impl Process {
    pub(super) fn start(plan: Plan) -> Self {
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig=KILL", "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "chaos::node::node_process"])
            .env(DATABASE, &plan.database)
            .env(FOLDER, &plan.folder)
            .env(NAME, plan.name)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(bug) = plan.bug {
            command.env(BUG, format!("{bug:?}"));
        }
        if let Some(clock) = plan.clock {
            assert!(Path::new(FAKETIME).exists(), "the package faketime is not installed");
            command
                .env("LD_PRELOAD", FAKETIME)
                .env("FAKETIME", clock)
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        Self { child: command.spawn().unwrap(), plan, is_stopped: false }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it and starts another one in its place.
    pub(super) fn replace(&mut self, clock: Option<&'static str>) {
        let plan = Plan { clock, ..self.plan.clone() };
        *self = Self::start(plan);
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        self.is_stopped = signal == Signal::STOP;
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
