//! Nodes that run on real stores: several in one process, each with a store of its own.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hyperscale_tasks::domain::{
    EventKind, MissedFires, Position, Role, ScheduleSpec, Settings, Status, TaskId, TaskSpec, TreeSpec,
    Trigger,
};
use hyperscale_tasks::runtime::executors::{Aggregate, Wait};
use hyperscale_tasks::runtime::{
    Context, Executor, Executors, Failure, NodeError, NodeHandle, NodeOptions, TaskNode, new_schedule_id,
};
use hyperscale_tasks::store::Effect;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::server::Server;
use crate::support::{PATIENCE, World, after, task};

/// Times that make these tests short; those of the specification are tested as values.
pub(crate) const FAST: Settings = Settings {
    role: Role::Auto,
    leader_lease: Duration::from_secs(6),
    leader_renew: Duration::from_secs(1),
    lease: Duration::from_secs(6),
    cleanup: Duration::from_secs(1),
    poll: Duration::from_secs(1),
    max_parallel: 4,
    heartbeat: Duration::from_secs(1),
    node_stale: Duration::from_secs(5),
    node_dead: Duration::from_secs(10),
    task_retention: Duration::from_hours(1),
    event_retention: Duration::from_hours(1),
    max_crashes: 3,
    cancel_grace: Duration::from_millis(300),
};

/// Writes down who ran which attempt, outside of the store.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<Vec<(TaskId, u32)>>>);

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
        self.0.lock().unwrap().push((context.task(), context.attempt()));
        match inputs["mode"].as_str() {
            Some("panic") => panic!("as asked"),
            Some("effect") => {
                if let Effect::Done(result) = context.begin_effect("step").await? {
                    return Ok(result);
                }
                context.finish_effect("step", json!(context.attempt())).await?;
                Err(Failure::Retry("after the effect".to_owned()))
            }
            _ => {
                let pause = inputs["ms"].as_u64().unwrap_or(0);
                tokio::time::sleep(Duration::from_millis(pause)).await;
                Ok(json!(context.attempt()))
            }
        }
    }
}

/// A running node. Dropping it is as good as killing it.
struct Running {
    handle: NodeHandle,
    shutdown: CancellationToken,
    run: JoinSet<Result<(), NodeError>>,
}

impl Running {
    async fn start(world: &World, name: &str, settings: Settings, ledger: &Ledger) -> Self {
        let options = NodeOptions {
            name: name.to_owned(),
            address: None,
            capabilities: Map::new(),
            settings,
            executors: executors(ledger),
            store: world.another().await,
        };
        let node = TaskNode::new(options).unwrap();
        let (handle, shutdown) = (node.handle(), CancellationToken::new());
        let mut run = JoinSet::new();
        run.spawn(node.run(shutdown.clone()));
        Self { handle, shutdown, run }
    }

    async fn stop(mut self) -> Result<(), NodeError> {
        self.shutdown.cancel();
        self.run.join_next().await.unwrap().unwrap()
    }

    async fn kill(mut self) {
        self.run.shutdown().await;
    }

    async fn leads(&self) {
        let mut leads = self.handle.leads();
        tokio::time::timeout(PATIENCE, leads.wait_for(Option::is_some))
            .await
            .expect("does not lead")
            .unwrap();
    }
}

fn executors(ledger: &Ledger) -> Executors {
    Executors::default().with(Wait).with(Aggregate).with(ledger.clone())
}

async fn submit(world: &World, tasks: Vec<TaskSpec>) -> Vec<TaskId> {
    let tree = executors(&Ledger::default()).prepare(TreeSpec { tasks, idempotency_key: None }).unwrap();
    let ids = tree.tasks.iter().map(|task| task.id).collect();
    world.store.submit(tree).await.unwrap();
    ids
}

fn ledger_task(name: &str, inputs: Value) -> TaskSpec {
    TaskSpec { executor: "ledger".to_owned(), inputs, ..task(name) }
}

fn wait_task(name: &str, seconds: f64) -> TaskSpec {
    TaskSpec { inputs: json!({"duration": seconds}), ..task(name) }
}

/// Looks until a task has a state.
async fn reaches(world: &World, task: TaskId, status: Status) {
    let begun = Instant::now();
    loop {
        // The database may be away for a moment.
        let stored = world.store.task(task).await;
        if stored.as_ref().is_ok_and(|stored| stored.status == status) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{stored:?} does not become {}", status.as_str());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Every task completed once, under the newest of its leases.
async fn check_completed_once(world: &World, tasks: &[TaskId]) {
    for task in tasks {
        let events = world.store.events(Some(*task), Position::default(), 1_000).await.unwrap();
        let of = |kind: EventKind| events.iter().filter(move |event| event.kind == kind);
        let completed: Vec<_> = of(EventKind::Completed).collect();
        assert_eq!(completed.len(), 1, "{events:?}");
        assert_eq!(completed[0].fence, of(EventKind::Assigned).map(|event| event.fence).max().unwrap());
    }
}

macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::support::World::live_sqlite().await).await;
            })+
        }

        /// One server for all, each in a schema of its own.
        #[tokio::test]
        async fn nodes_run_on_postgres() {
            let server = Server::start().await;
            $(
                println!("{}", stringify!($name));
                $name(World::postgres(&server).await).await;
            )+
        }
    };
}

on_both_stores!(
    tree_runs_to_its_end_and_results_flow,
    tasks_of_a_killed_node_are_finished_by_another,
    follower_leads_when_the_leader_is_killed,
    shutdown_gives_work_back_without_spending_an_attempt,
    running_task_is_cancelled_by_its_node,
    attempt_beyond_its_deadline_fails,
    executor_that_panics_fails_its_attempt,
    effect_is_done_once_by_all_attempts,
    schedule_fires_while_leaders_change,
    node_that_must_lead_and_cannot_ends_with_an_error,
    observer_takes_nothing_and_gives_its_leadership_back,
);

async fn tree_runs_to_its_end_and_results_flow(world: World) {
    let ledger = Ledger::default();
    let node = Running::start(&world, "a", FAST, &ledger).await;
    let sum = TaskSpec { executor: "aggregate".to_owned(), ..after("sum", &["one", "two"]) };
    let tasks = submit(&world, vec![ledger_task("one", json!({})), wait_task("two", 0.01), sum]).await;
    reaches(&world, tasks[2], Status::Completed).await;
    let result = world.store.task(tasks[2]).await.unwrap().result.unwrap();
    assert_eq!(result, json!({"one": 1, "two": null}));
    node.stop().await.unwrap();
    assert_eq!(world.store.nodes().await.unwrap(), []);
    assert!(!world.store.leader().await.unwrap().unwrap().is_current);
}

async fn tasks_of_a_killed_node_are_finished_by_another(world: World) {
    let ledger = Ledger::default();
    // Both have the same name, as happens to people.
    let victim = Running::start(&world, "node", FAST, &ledger).await;
    victim.leads().await;
    let specs = (0..30).map(|number| ledger_task(&format!("t{number}"), json!({"ms": 100}))).collect();
    let tasks = submit(&world, specs).await;
    let survivor = Running::start(&world, "node", FAST, &ledger).await;
    while victim.handle.finished() < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    victim.kill().await;
    for task in &tasks {
        reaches(&world, *task, Status::Completed).await;
    }
    check_completed_once(&world, &tasks).await;
    let runs = ledger.0.lock().unwrap().len();
    assert!(runs >= tasks.len(), "{runs}");
    survivor.stop().await.unwrap();
    let counts = world.store.counts().await.unwrap();
    assert_eq!((counts.completed, counts.leases), (30, 0));
}

async fn follower_leads_when_the_leader_is_killed(world: World) {
    let ledger = Ledger::default();
    let leader = Running::start(&world, "a", FAST, &ledger).await;
    leader.leads().await;
    let follower = Running::start(&world, "b", FAST, &ledger).await;
    let epoch = world.store.leader().await.unwrap().unwrap().epoch;
    leader.kill().await;
    follower.leads().await;
    assert!(world.store.leader().await.unwrap().unwrap().epoch > epoch);
    follower.stop().await.unwrap();
}

async fn shutdown_gives_work_back_without_spending_an_attempt(world: World) {
    let node = Running::start(&world, "a", FAST, &Ledger::default()).await;
    let task = submit(&world, vec![wait_task("long", 1_000.0)]).await[0];
    reaches(&world, task, Status::InProgress).await;
    node.stop().await.unwrap();
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.status, stored.failures, stored.crashes), (Status::Pending, 0, 0));
}

async fn running_task_is_cancelled_by_its_node(world: World) {
    let node = Running::start(&world, "a", FAST, &Ledger::default()).await;
    let tasks =
        submit(&world, vec![wait_task("long", 1_000.0), ledger_task("stubborn", json!({"ms": 1_000_000}))])
            .await;
    for task in &tasks {
        reaches(&world, *task, Status::InProgress).await;
        assert!(world.store.cancel(*task).await.unwrap());
    }
    for task in &tasks {
        reaches(&world, *task, Status::Cancelled).await;
    }
    node.stop().await.unwrap();
}

async fn attempt_beyond_its_deadline_fails(world: World) {
    let node = Running::start(&world, "a", FAST, &Ledger::default()).await;
    let spec = TaskSpec { timeout_seconds: Some(1), max_attempts: 1, ..wait_task("long", 1_000.0) };
    let task = submit(&world, vec![spec]).await[0];
    reaches(&world, task, Status::Failed).await;
    assert!(world.store.task(task).await.unwrap().error.unwrap().starts_with("timeout"));
    node.stop().await.unwrap();
}

async fn executor_that_panics_fails_its_attempt(world: World) {
    let node = Running::start(&world, "a", FAST, &Ledger::default()).await;
    let task = submit(&world, vec![ledger_task("one", json!({"mode": "panic"}))]).await[0];
    reaches(&world, task, Status::Failed).await;
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.failures, stored.error.as_deref()), (3, Some("the executor panicked")));
    node.stop().await.unwrap();
}

async fn effect_is_done_once_by_all_attempts(world: World) {
    let node = Running::start(&world, "a", FAST, &Ledger::default()).await;
    let task = submit(&world, vec![ledger_task("one", json!({"mode": "effect"}))]).await[0];
    reaches(&world, task, Status::Completed).await;
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.attempt, stored.result), (2, Some(json!(1))));
    node.stop().await.unwrap();
}

async fn schedule_fires_while_leaders_change(world: World) {
    let ledger = Ledger::default();
    let first = Running::start(&world, "a", FAST, &ledger).await;
    first.leads().await;
    let spec = ScheduleSpec {
        name: "beat".to_owned(),
        trigger: Trigger::Interval { seconds: 1 },
        missed: MissedFires::CatchUp,
        tree: TreeSpec::single(ledger_task("run", json!({}))),
    };
    let schedule = world.store.put_schedule(new_schedule_id(), &spec).await.unwrap().id;
    let second = Running::start(&world, "b", FAST, &ledger).await;
    let begun = Instant::now();
    let mut first = Some(first);
    loop {
        let runs = world.store.runs(schedule, 100).await.unwrap();
        if runs.len() >= 2
            && let Some(first) = first.take()
        {
            first.kill().await;
        }
        if runs.len() >= 5 {
            let beats: Vec<i64> =
                runs.windows(2).map(|pair| pair[0].fire_time.0 - pair[1].fire_time.0).collect();
            assert!(beats.iter().all(|beat| *beat == 1_000), "{beats:?}");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{} runs", runs.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    second.stop().await.unwrap();
}

async fn node_that_must_lead_and_cannot_ends_with_an_error(world: World) {
    let ledger = Ledger::default();
    let leader = Running::start(&world, "a", FAST, &ledger).await;
    leader.leads().await;
    let short = Settings {
        role: Role::Leader,
        leader_lease: Duration::from_millis(300),
        leader_renew: Duration::from_millis(100),
        ..FAST
    };
    let mut other = Running::start(&world, "b", short, &ledger).await;
    let ended = other.run.join_next().await.unwrap().unwrap();
    assert!(matches!(ended, Err(NodeError::NotLeader(_))), "{ended:?}");
    leader.stop().await.unwrap();
}

async fn observer_takes_nothing_and_gives_its_leadership_back(world: World) {
    let node = Running::start(&world, "a", FAST, &Ledger::default()).await;
    node.leads().await;
    node.handle.set_role(Role::Observer);
    node.handle.leads().wait_for(Option::is_none).await.unwrap();
    let task = submit(&world, vec![wait_task("short", 0.0)]).await[0];
    let other = Running::start(&world, "b", FAST, &Ledger::default()).await;
    reaches(&world, task, Status::Completed).await;
    let completed = world.store.events(Some(task), Position::default(), 100).await.unwrap().pop().unwrap();
    assert_eq!((completed.kind, completed.node.as_deref()), (EventKind::Completed, Some("b")));
    assert_eq!(node.handle.finished(), 0);
    other.stop().await.unwrap();
    node.handle.set_role(Role::Auto);
    node.leads().await;
    node.stop().await.unwrap();
}

/// Connections are cut and the server ends as in a crash while two nodes work. No node ends, and every task is completed once.
#[tokio::test]
async fn nodes_outlive_a_restart_of_postgres() {
    let mut server = Server::start().await;
    let world = World::postgres(&server).await;
    let ledger = Ledger::default();
    let nodes =
        [Running::start(&world, "a", FAST, &ledger).await, Running::start(&world, "b", FAST, &ledger).await];
    let specs = (0..80).map(|number| TaskSpec {
        max_attempts: 100,
        ..ledger_task(&format!("t{number}"), json!({"ms": 50}))
    });
    let tasks = submit(&world, specs.collect()).await;
    for faults in 1..=3 {
        while ledger.0.lock().unwrap().len() < faults * 15 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if faults == 2 {
            server.restart().await;
        } else {
            server.cut_connections().await;
        }
    }
    for task in &tasks {
        reaches(&world, *task, Status::Completed).await;
    }
    check_completed_once(&world, &tasks).await;
    for node in nodes {
        node.stop().await.unwrap();
    }
}
