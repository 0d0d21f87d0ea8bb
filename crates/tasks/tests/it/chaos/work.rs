//! Tasks for a run: independent ones, trees with dependencies, tasks that fail once, tasks with an effect.

use hyperscale_tasks::domain::{Backoff, DependencySpec, NewTree, TaskId, TaskSpec, TreeSpec};
use hyperscale_tasks::store::Store;
use serde_json::json;

use super::node::executors;

/// What was acknowledged.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) tasks: Vec<TaskId>,
    /// A task and one that it waits for.
    pub(super) edges: Vec<(TaskId, TaskId)>,
    trees: u64,
}

fn task(name: &str, mode: &str, ms: u64) -> TaskSpec {
    TaskSpec {
        max_attempts: 10_000,
        backoff: Backoff::NONE,
        ..TaskSpec::new(name, "noted", json!({"mode": mode, "ms": ms}))
    }
}

/// Most take no time; some are long enough to be interrupted, a few longer than a lease.
fn length(rng: &mut fastrand::Rng) -> u64 {
    match rng.u32(..1_000) {
        0..850 => 0,
        850..950 => rng.u64(1..100),
        950..995 => rng.u64(100..1_500),
        _ => 3_500,
    }
}

/// One tree of a hundred tasks: sixty for themselves, eight diamonds of four, four that fail once, four with an effect.
fn hundred(rng: &mut fastrand::Rng) -> Vec<TaskSpec> {
    let mut tasks: Vec<TaskSpec> = (0..60).map(|at| task(&format!("one{at}"), "", length(rng))).collect();
    tasks.extend((0..4).map(|at| task(&format!("fail{at}"), "fail", 0)));
    tasks.extend((0..4).map(|at| task(&format!("effect{at}"), "effect", 0)));
    for at in 0..8 {
        let after = |names: &[&str]| {
            let edge = |name: &&str| DependencySpec { task: format!("{name}{at}"), required: true };
            names.iter().map(edge).collect::<Vec<_>>()
        };
        let edges = [
            ("top", after(&[])),
            ("left", after(&["top"])),
            ("right", after(&["top"])),
            ("end", after(&["left", "right"])),
        ];
        for (name, depends_on) in edges {
            tasks.push(TaskSpec { depends_on, ..task(&format!("{name}{at}"), "", length(rng)) });
        }
    }
    tasks
}

impl Work {
    /// Submits trees of a hundred until they are acknowledged, each under a key: the database may be away.
    pub(super) async fn submit(&mut self, store: &dyn Store, hundreds: usize, rng: &mut fastrand::Rng) {
        for _ in 0..hundreds {
            self.trees += 1;
            let spec =
                TreeSpec { tasks: hundred(rng), idempotency_key: Some(format!("tree-{}", self.trees)) };
            let tree = executors().prepare(spec).unwrap();
            self.note(&tree);
            while let Err(error) = store.submit(tree.clone()).await {
                println!("submission again: {error}");
            }
        }
    }

    fn note(&mut self, tree: &NewTree) {
        for task in &tree.tasks {
            self.tasks.push(task.id);
            self.edges.extend(task.dependencies.iter().map(|edge| (task.id, edge.on)));
        }
    }
}
