//! `script` under a running node.

use std::time::Instant;

use hyperscale_tasks::domain::{DependencySpec, Status, TaskSpec, TreeSpec};
use hyperscale_tasks::runtime::Executors;
use hyperscale_tasks::runtime::executors::Script;
use serde_json::{Value, json};

use super::Node;
use crate::support::PATIENCE;

async fn node() -> Node {
    Node::start(Executors::default().with(Script)).await
}

#[tokio::test]
async fn script_computes_from_inputs_and_results_of_dependencies() {
    let node = node().await;
    let script = |name: &str, source: &str, inputs: Value, after: &[&str]| {
        let edge = |task: &&str| DependencySpec { task: (*task).to_owned(), required: true };
        let inputs = json!({ "source": source, "inputs": inputs });
        TaskSpec { depends_on: after.iter().map(edge).collect(), ..TaskSpec::new(name, "script", inputs) }
    };
    let tasks = vec![
        script("sum", "return inputs.reduce((a, b) => a + b, 0);", json!([1, 2, 3]), &[]),
        script("rate", "return { per_second: dependencies.sum / inputs, attempt };", json!(2), &["sum"]),
    ];
    let tree = node.executors.prepare(TreeSpec { tasks, idempotency_key: None }).unwrap();
    let last = tree.tasks[1].id;
    node.world.store.submit(tree).await.unwrap();
    assert_eq!(node.ended(last).await.result, Some(json!({ "per_second": 3, "attempt": 1 })));
}

#[tokio::test]
async fn script_that_throws_fails_without_another_attempt() {
    let node = node().await;
    let task = node.run("script", json!({ "source": "\nthrow new Error('too many errors');" })).await;
    assert_eq!((task.status, task.attempt), (Status::Failed, 1));
    let error = task.error.unwrap();
    assert!(
        error.starts_with("the script failed: line 2, column ") && error.ends_with("Error: too many errors"),
        "{error}"
    );
    let slow = node.run("script", json!({ "source": "for (;;) {}", "timeout": 0.05 })).await;
    assert_eq!(slow.error.as_deref(), Some("the script failed: it ran for longer than 50ms"));
}

#[tokio::test]
async fn cancelled_script_is_stopped() {
    let node = node().await;
    let task = node.submit("script", json!({ "source": "for (;;) {}", "timeout": 600 })).await;
    node.when(task, |task| task.status == Status::InProgress).await;
    let begun = Instant::now();
    node.world.store.cancel(task).await.unwrap();
    assert_eq!(node.ended(task).await.status, Status::Cancelled);
    assert!(begun.elapsed() < PATIENCE, "its time would have been longer");
}
