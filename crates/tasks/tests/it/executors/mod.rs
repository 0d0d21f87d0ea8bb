//! Executors under a running node, against real servers and programs.

mod command;
mod http;
mod script;
mod sql;

use std::time::{Duration, Instant};

use hyperscale_tasks::domain::{Backoff, Status, Task, TaskId, TaskSpec, TreeSpec};
use hyperscale_tasks::runtime::{Executors, NodeOptions, TaskNode};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::nodes::FAST;
use crate::support::{PATIENCE, World};

/// A node on a store of its own.
pub(crate) struct Node {
    world: World,
    executors: Executors,
    shutdown: CancellationToken,
    _run: JoinSet<()>,
}

impl Node {
    pub(crate) async fn start(executors: Executors) -> Self {
        Self::start_on(World::live_sqlite().await, executors).await
    }

    async fn start_on(world: World, executors: Executors) -> Self {
        let options = NodeOptions {
            name: "node".to_owned(),
            address: None,
            capabilities: Map::new(),
            settings: FAST,
            executors: executors.clone(),
            store: world.another().await,
        };
        let (node, shutdown) = (TaskNode::new(options).unwrap(), CancellationToken::new());
        let (mut run, stop) = (JoinSet::new(), shutdown.clone());
        run.spawn(async move { node.run(stop).await.unwrap() });
        Self { world, executors, shutdown, _run: run }
    }

    async fn submit(&self, executor: &str, inputs: Value) -> TaskId {
        let spec = TaskSpec { backoff: Backoff::NONE, ..TaskSpec::new("one", executor, inputs) };
        let tree = self.executors.prepare(TreeSpec::single(spec)).unwrap();
        self.world.store.submit(tree).await.unwrap().tree
    }

    async fn ended(&self, task: TaskId) -> Task {
        self.when(task, |task| !matches!(task.status, Status::Pending | Status::InProgress)).await
    }

    async fn when(&self, task: TaskId, is_so: impl Fn(&Task) -> bool) -> Task {
        let begun = Instant::now();
        loop {
            let stored = self.world.store.task(task).await.unwrap();
            if is_so(&stored) {
                return stored;
            }
            assert!(begun.elapsed() < PATIENCE, "{stored:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Runs a task to its end.
    pub(crate) async fn run(&self, executor: &str, inputs: Value) -> Task {
        self.ended(self.submit(executor, inputs).await).await
    }

    /// Everything that was stored about a task, as one text.
    async fn everything(&self, task: TaskId) -> String {
        let mut stored = self.world.store.task(task).await.unwrap();
        stored.inputs = Value::Null;
        let events =
            self.world.store.events(Some(task), hyperscale_tasks::domain::Position::default(), 100).await;
        format!("{stored:?} {:?}", events.unwrap())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
