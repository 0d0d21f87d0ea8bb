//! Nodes as processes under faults, with a ledger outside of the store and a checker over it.
//!
//! Five processes, two pairs of them under one name, two behind proxies, work on tasks that are submitted while faults are injected.
//! The seed decides the tasks and the order of faults; when each strikes depends on how far the work is.

mod checker;
mod faults;
mod ledger;
mod node;
mod probe;
mod proxy;
mod work;

use std::time::{Duration, Instant};

use hyperscale_tasks::bugs::Bug;
use hyperscale_tasks::domain::{
    MissedFires, Schedule, ScheduleSpec, Status, TaskSpec, Timestamp, TreeSpec, Trigger,
};
use hyperscale_tasks::runtime::new_schedule_id;
use hyperscale_tasks::store::Store as _;
use hyperscale_tasks::store::postgres::PostgresStore;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use self::checker::Verdict;
use self::faults::Pending;
use self::ledger::Book;
use self::node::{Plan, Process};
use self::probe::Probe;
use self::proxy::Proxy;
use self::work::Work;
use crate::server::Server;

/// How long work may stand still before the run is given up.
const PATIENCE: Duration = Duration::from_mins(2);

/// Tasks that run when a fault strikes, unless all tasks are done before that number runs.
const BUSY: u64 = 8;
const BUSY_WITHIN: Duration = Duration::from_millis(500);

/// Times of schedules.
const BEATS: [(&str, u32); 2] = [("second", 1), ("three", 3)];

/// Something bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillWorker,
    KillLeader,
    Stop,
    StopLeader,
    RestartPostgres,
    Terminate,
    Cut,
    Hold,
    Clock,
}

/// All kinds, the frequent ones more than once.
const FAULTS: [Fault; 12] = [
    Fault::KillWorker,
    Fault::Stop,
    Fault::KillLeader,
    Fault::Cut,
    Fault::Hold,
    Fault::Terminate,
    Fault::Clock,
    Fault::KillWorker,
    Fault::StopLeader,
    Fault::Stop,
    Fault::RestartPostgres,
    Fault::KillLeader,
];

/// A database, the processes on it, and what was asked of them.
struct Scene {
    server: Server,
    /// Of the test itself, past all proxies.
    store: PostgresStore,
    folder: TempDir,
    proxies: Vec<Proxy>,
    processes: Vec<Process>,
    pending: Vec<Pending>,
    work: Work,
    schedules: Vec<Schedule>,
    probe: Probe,
    rng: fastrand::Rng,
    begun: Instant,
    completed: u64,
    restarted: u32,
}

impl Scene {
    async fn start(names: &[&'static str], bug: Option<Bug>, seed: u64) -> Self {
        let server = Server::start().await;
        let store = node::open(&server.url(), bug).await;
        let folder = tempfile::tempdir().unwrap();
        let mut proxies = Vec::new();
        let mut processes = Vec::new();
        for (at, name) in names.iter().enumerate() {
            // The last two are behind proxies.
            let database = if at + 2 >= names.len() {
                proxies.push(Proxy::start(server.folder()).await);
                let port = proxies.last().unwrap().port;
                format!("host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=disable")
            } else {
                server.url()
            };
            let plan = Plan {
                name,
                database,
                folder: folder.path().to_owned(),
                bug,
                clock: [None, Some("+1h"), Some("-1h")][at % 3],
            };
            processes.push(Process::start(plan));
        }
        let mut scene = Self {
            server,
            store,
            folder,
            proxies,
            processes,
            pending: Vec::new(),
            work: Work::default(),
            schedules: Vec::new(),
            probe: Probe::default(),
            rng: fastrand::Rng::with_seed(seed),
            begun: Instant::now(),
            completed: 0,
            restarted: 0,
        };
        for (name, seconds) in BEATS {
            scene.schedule(name, seconds).await;
        }
        while scene.store.nodes().await.unwrap().len() < names.len() {
            assert!(scene.begun.elapsed() < PATIENCE, "not all nodes start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        scene
    }

    async fn schedule(&mut self, name: &str, seconds: u32) {
        let task = TaskSpec { max_attempts: 10_000, ..TaskSpec::new("run", "noted", json!({})) };
        let spec = ScheduleSpec {
            name: name.to_owned(),
            trigger: Trigger::Interval { seconds },
            missed: MissedFires::CatchUp,
            tree: TreeSpec::single(task),
        };
        self.schedules.push(self.store.put_schedule(new_schedule_id(), &spec).await.unwrap());
    }

    /// Submits hundreds of tasks, one fault after the other, each when the work before the last one is done.
    async fn run(&mut self, faults: &[Fault], hundreds: usize) {
        for fault in faults {
            let before = self.work.tasks.len() as u64;
            let mut rng = self.rng.fork();
            self.work.submit(&self.store, hundreds, &mut rng).await;
            self.is_busy().await;
            self.inject(*fault).await;
            self.reaches(before.saturating_sub(100 * hundreds as u64)).await;
        }
    }

    /// Waits until tasks run, so that a fault has something to strike.
    async fn is_busy(&mut self) {
        let begun = Instant::now();
        while !self.store.counts().await.is_ok_and(|counts| counts.in_progress >= BUSY) {
            self.tend(Instant::now());
            if begun.elapsed() > BUSY_WITHIN {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until that many tasks are completed, those of schedules included.
    async fn reaches(&mut self, completed: u64) {
        let mut moved = Instant::now();
        loop {
            self.tend(Instant::now());
            self.probe.look(&self.store).await;
            if let Ok(counts) = self.store.counts().await {
                if counts.completed != self.completed {
                    (self.completed, moved) = (counts.completed, Instant::now());
                }
                if counts.completed >= completed {
                    return;
                }
                assert!(moved.elapsed() < PATIENCE, "work stands still at {counts:?}, {completed} expected");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for the end of all work and checks everything.
    async fn conclude(mut self) -> Verdict {
        let total = self.work.tasks.len() as u64;
        self.reaches(total).await;
        let removed = self.store.now().await.unwrap();
        let mut fires = 0;
        let mut verdict = Verdict::default();
        for schedule in self.schedules.clone() {
            assert!(self.store.remove_schedule(schedule.id).await.unwrap());
            fires += self.store.runs(schedule.id, 10_000).await.unwrap().len() as u64;
        }
        self.reaches(total + fires).await;
        let runs = self.schedules.clone();
        for (schedule, (name, seconds)) in runs.iter().zip(BEATS) {
            let runs = self.store.runs(schedule.id, 10_000).await.unwrap();
            let times: Vec<Timestamp> = runs.iter().map(|run| run.fire_time).collect();
            let first = schedule.next_run_at.unwrap();
            // A fire that was just due when the schedule was removed may not have happened.
            let until = Timestamp(removed.0 - 1_000 * i64::from(seconds) - 4_000);
            checker::check_fires(&mut verdict, name, first, 1_000 * i64::from(seconds), &times, until);
            let unfinished = runs.iter().filter(|run| run.status != Some(Status::Completed)).count();
            verdict.must(unfinished == 0, || format!("{unfinished} runs of {name} are not completed"));
            self.work.tasks.extend(runs.iter().map(|run| run.tree));
        }
        let counts = self.store.counts().await.unwrap();
        verdict.must(counts.completed == total + fires && counts.failed == 0 && counts.leases == 0, || {
            format!("{counts:?}")
        });
        let (client, connection) = tokio_postgres::connect(&self.server.url(), NoTls).await.unwrap();
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        let book = Book::read(self.folder.path());
        let checked = checker::check(&self.store, &client, &self.work, &book).await;
        verdict.broken.extend(checked.broken);
        self.probe.finish(&self.store, &book, &mut verdict).await;
        println!(
            "{} ms: {} tasks, {fires} fires, {} executions, {} lost leases, {} overlaps, {} superseded ends, {} stale reports and {} \
             stale leaders rejected, {} epochs, {} processes started again by themselves",
            self.begun.elapsed().as_millis(),
            total,
            checked.executions,
            checked.lost_leases,
            checked.overlaps,
            checked.superseded,
            self.probe.rejected,
            self.probe.leaders_rejected,
            book.leaders.len(),
            self.restarted,
        );
        verdict
    }
}

/// As many faults as are wanted, every kind in turn, in an order of the seed.
fn drawn(count: usize, seed: u64) -> Vec<Fault> {
    let mut faults: Vec<Fault> = FAULTS.iter().copied().cycle().take(count).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut faults);
    faults
}

/// 50 000 tasks, 60 faults: nothing is lost, nothing is completed twice, every stale report is rejected.
#[tokio::test]
async fn faults_lose_and_double_nothing() {
    let seed = std::env::var("HYPERSCALE_CHAOS_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("seed {seed}; another one with HYPERSCALE_CHAOS_SEED");
    let mut scene = Scene::start(&["a", "a", "b", "c", "c"], None, seed).await;
    let faults = drawn(60, seed);
    // 60 faults, 840 tasks with each.
    for part in faults.chunks(5) {
        scene.run(&part[..4], 8).await;
        scene.run(&part[4..], 10).await;
    }
    assert!(scene.work.tasks.len() >= 50_000, "{}", scene.work.tasks.len());
    let verdict = scene.conclude().await;
    assert!(verdict.broken.is_empty(), "{}", verdict.report());
}

/// A small run on nodes with a deliberate bug; the rules that it broke.
async fn broken_by(bug: Option<Bug>, faults: &[Fault]) -> Verdict {
    let mut scene = Scene::start(&["a", "a", "b"], bug, 7).await;
    scene.run(faults, 2).await;
    scene.conclude().await
}

/// The same runs as below find nothing without a bug.
#[tokio::test]
async fn small_run_without_a_bug_breaks_no_rule() {
    let verdict = broken_by(None, &[Fault::Stop, Fault::StopLeader, Fault::KillWorker]).await;
    assert!(verdict.broken.is_empty(), "{}", verdict.report());
}

#[tokio::test]
async fn completion_without_a_fence_is_caught_by_the_ledger() {
    let verdict =
        broken_by(Some(Bug::FinishWithoutFence), &[Fault::Stop, Fault::Stop, Fault::StopLeader]).await;
    let caught = |line: &String| line.contains("stale report") || line.contains("of another than attempt");
    assert!(verdict.broken.iter().any(caught), "{}", verdict.report());
}

#[tokio::test]
async fn two_leaders_by_name_are_caught_by_the_ledger() {
    let verdict =
        broken_by(Some(Bug::RenewLeaderByName), &[Fault::KillLeader, Fault::KillLeader, Fault::KillLeader])
            .await;
    // As many as were killed and started again meanwhile; one alone is never told.
    assert!(verdict.broken.iter().any(|line| line.contains("was led by")), "{}", verdict.report());
}

#[tokio::test]
async fn attempt_in_the_effect_key_is_caught_by_the_ledger() {
    let verdict = broken_by(Some(Bug::EffectPerLease), &[Fault::KillWorker]).await;
    assert!(verdict.broken.iter().any(|line| line.contains("effect happened again")), "{}", verdict.report());
}
