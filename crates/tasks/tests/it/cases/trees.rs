//! Trees, dependencies, cancels, retries, submission keys, placement.

use hyperscale_tasks::domain::{Filter, NodeProfile, Outcome, Placement, Position, Status, TaskId, TaskSpec};
use hyperscale_tasks::store::{Claim, StoreError};
use serde_json::{Value, json};

use super::cases;
use crate::support::{LEASE, World, after, boot, claim, executors, failed, keyed, profile, record, task};

cases!(
    dependants_wait_and_are_given_results_by_name,
    failed_dependency_fails_what_required_it,
    optional_dependency_may_fail,
    cancelled_dependency_counts_as_failed,
    task_with_many_dependencies_is_freed_by_the_last,
    retry_revives_what_failed_with_it,
    retry_is_refused_while_a_dependency_has_failed,
    only_failed_tasks_are_retried,
    pending_task_is_cancelled_at_once,
    running_task_is_asked_to_cancel,
    task_that_is_to_be_cancelled_is_not_tried_again,
    ended_task_cannot_be_cancelled,
    same_key_and_inputs_are_the_same_submission,
    same_key_with_other_inputs_is_an_error,
    submissions_with_one_key_at_once_make_one_tree,
    only_fitting_nodes_claim,
    task_that_no_node_can_run_says_what_is_missing,
    tasks_that_no_node_can_run_slow_nobody,
    node_runs_no_more_of_a_class_than_it_may,
    lists_are_filtered_and_paged,
    unknown_task_is_an_error,
);

pub(crate) async fn dependants_wait_and_are_given_results_by_name(world: World) {
    world.submit(vec![task("a"), task("b"), after("c", &["a", "b"])]).await;
    let first = world.claim(9).await;
    assert_eq!(first.iter().map(|claimed| claimed.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(world.finish(first[0].held, Outcome::Completed(json!(1))).await);
    assert_eq!(world.claim(9).await, []);
    assert!(world.finish(first[1].held, Outcome::Completed(json!({"x": 2}))).await);
    let last = world.claim_one().await;
    assert_eq!((last.name.as_str(), Value::Object(last.dependencies)), ("c", json!({"a": 1, "b": {"x": 2}})));
}

async fn statuses(world: &World, tasks: &[TaskId]) -> Vec<Status> {
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(world.status(*task).await);
    }
    statuses
}

fn for_good() -> Outcome {
    Outcome::FailedForGood("no".to_owned())
}

pub(crate) async fn failed_dependency_fails_what_required_it(world: World) {
    let tasks = world.submit(vec![task("a"), after("b", &["a"]), after("c", &["b"]), task("d")]).await;
    let held = world.claim(1).await[0].held;
    assert!(world.finish(held, for_good()).await);
    assert_eq!(
        statuses(&world, &tasks).await,
        [Status::Failed, Status::Failed, Status::Failed, Status::Pending]
    );
    let error = world.store.task(tasks[1]).await.unwrap().error.unwrap();
    assert_eq!(error, format!("dependency: task {} is failed", tasks[0]));
}

pub(crate) async fn optional_dependency_may_fail(world: World) {
    world.submit(vec![task("a"), task("b"), after("c", &["a?", "b"])]).await;
    let claimed = world.claim(9).await;
    assert!(world.finish(claimed[0].held, for_good()).await);
    assert_eq!(world.claim(9).await, []);
    assert!(world.finish(claimed[1].held, Outcome::Completed(json!(2))).await);
    let last = world.claim_one().await;
    assert_eq!(Value::Object(last.dependencies), json!({"a": null, "b": 2}));
}

pub(crate) async fn cancelled_dependency_counts_as_failed(world: World) {
    let tasks = world.submit(vec![task("a"), after("b", &["a"]), after("c", &["a?"])]).await;
    assert!(world.store.cancel(tasks[0]).await.unwrap());
    assert_eq!(statuses(&world, &tasks).await, [Status::Cancelled, Status::Failed, Status::Pending]);
    assert_eq!(world.claim_one().await.name, "c");
}

pub(crate) async fn task_with_many_dependencies_is_freed_by_the_last(world: World) {
    let names: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
    let on: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut specs: Vec<TaskSpec> = names.iter().map(|name| task(name)).collect();
    specs.push(after("last", &on));
    let tasks = world.submit(specs).await;
    let mut finishers = tokio::task::JoinSet::new();
    for claimed in world.claim(9).await {
        let store = world.another().await;
        finishers.spawn(async move {
            let report = hyperscale_tasks::domain::Report {
                task: claimed.held.task,
                fence: claimed.held.fence,
                outcome: crate::support::done(),
            };
            assert_eq!(store.finish(vec![report]).await.unwrap().len(), 1);
        });
    }
    finishers.join_all().await;
    assert_eq!(world.store.task(tasks[8]).await.unwrap().unmet_deps, 0);
    assert_eq!(world.claim_one().await.name, "last");
}

pub(crate) async fn retry_revives_what_failed_with_it(world: World) {
    let tasks =
        world.submit(vec![task("a"), after("b", &["a"]), after("c", &["b"]), after("d", &["a?"])]).await;
    let held = world.claim_one().await.held;
    world.finish(held, for_good()).await;
    assert!(world.complete(world.claim_one().await.held).await, "d runs without a");
    world.store.retry(tasks[0]).await.unwrap();
    assert_eq!(
        statuses(&world, &tasks).await,
        [Status::Pending, Status::Pending, Status::Pending, Status::Completed]
    );
    for name in ["a", "b", "c"] {
        let claimed = world.claim_one().await;
        assert_eq!(claimed.name, name);
        assert!(world.complete(claimed.held).await);
    }
    assert_eq!(world.store.task(tasks[0]).await.unwrap().failures, 0);
}

pub(crate) async fn retry_is_refused_while_a_dependency_has_failed(world: World) {
    let tasks = world.submit(vec![task("a"), after("b", &["a"])]).await;
    world.finish(world.claim_one().await.held, for_good()).await;
    let error = world.store.retry(tasks[1]).await.unwrap_err();
    assert!(matches!(error, StoreError::BlockedByDependency { on, .. } if on == tasks[0]), "{error}");
}

pub(crate) async fn only_failed_tasks_are_retried(world: World) {
    let task = world.submit_one().await;
    let error = world.store.retry(task).await.unwrap_err();
    assert_eq!(error.to_string(), "a task that is pending cannot become pending");
    world.complete(world.claim_one().await.held).await;
    let error = world.store.retry(task).await.unwrap_err();
    assert_eq!(error.to_string(), "a task that is completed cannot become pending");
}

pub(crate) async fn pending_task_is_cancelled_at_once(world: World) {
    let task = world.submit_one().await;
    assert!(world.store.cancel(task).await.unwrap());
    assert!(!world.store.cancel(task).await.unwrap());
    assert_eq!(world.status(task).await, Status::Cancelled);
    assert_eq!(world.claim(1).await, []);
}

pub(crate) async fn running_task_is_asked_to_cancel(world: World) {
    let task = world.submit_one().await;
    let held = world.claim_one().await.held;
    assert!(world.store.cancel(task).await.unwrap());
    assert!(!world.store.cancel(task).await.unwrap());
    assert_eq!(world.status(task).await, Status::InProgress);
    assert!(world.store.renew(&[held], LEASE).await.unwrap()[0].cancel);
    assert!(world.finish(held, Outcome::Cancelled).await);
    assert_eq!(world.status(task).await, Status::Cancelled);
}

pub(crate) async fn task_that_is_to_be_cancelled_is_not_tried_again(world: World) {
    let tasks = world.submit(vec![task("a"), task("b")]).await;
    let claimed = world.claim(2).await;
    for task in &tasks {
        world.store.cancel(*task).await.unwrap();
    }
    assert!(world.finish(claimed[0].held, failed()).await);
    world.store.release(&[claimed[1].held]).await.unwrap();
    assert_eq!(statuses(&world, &tasks).await, [Status::Cancelled; 2]);
}

pub(crate) async fn ended_task_cannot_be_cancelled(world: World) {
    let task = world.submit_one().await;
    world.complete(world.claim_one().await.held).await;
    let error = world.store.cancel(task).await.unwrap_err();
    assert_eq!(error.to_string(), "a task that is completed cannot become cancelled");
}

pub(crate) async fn same_key_and_inputs_are_the_same_submission(world: World) {
    let first = world.store.submit(keyed("k", json!({"a": 1, "b": 2}))).await.unwrap();
    let second = world.store.submit(keyed("k", json!({"b": 2, "a": 1}))).await.unwrap();
    assert_eq!((first.is_new, second.is_new, first.tree), (true, false, second.tree));
    world.complete(world.claim_one().await.held).await;
    assert_eq!(world.store.submit(keyed("k", json!({"a": 1, "b": 2}))).await.unwrap().tree, first.tree);
    assert_eq!(world.store.counts().await.unwrap().completed, 1);
}

pub(crate) async fn same_key_with_other_inputs_is_an_error(world: World) {
    let first = world.store.submit(keyed("k", json!({"a": 1}))).await.unwrap();
    let error = world.store.submit(keyed("k", json!({"a": 2}))).await.unwrap_err();
    assert!(matches!(&error, StoreError::IdempotencyConflict { task, .. } if *task == first.tree), "{error}");
}

pub(crate) async fn submissions_with_one_key_at_once_make_one_tree(world: World) {
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let store = world.another().await;
        clients.spawn(async move { store.submit(keyed("k", json!({}))).await.unwrap() });
    }
    let submitted = clients.join_all().await;
    assert_eq!(submitted.iter().filter(|submitted| submitted.is_new).count(), 1);
    assert!(submitted.iter().all(|each| each.tree == submitted[0].tree));
}

fn placed(name: &str, placement: &Value) -> TaskSpec {
    let placement: Placement = serde_json::from_value(placement.clone()).unwrap();
    TaskSpec { placement, ..task(name) }
}

pub(crate) async fn only_fitting_nodes_claim(world: World) {
    let gpu = json!({"requires_capabilities": {"gpu": "nvidia"}, "forbidden_nodes": ["b"]});
    world.submit(vec![placed("a", &gpu)]).await;
    let capable = |name: &str| Claim {
        node: NodeProfile {
            capabilities: json!({"gpu": "nvidia"}).as_object().unwrap().clone(),
            ..profile(name)
        },
        ..claim(name, boot(1), 9)
    };
    let other = NodeProfile { executors: ["http".to_owned()].into(), ..capable("a").node };
    assert_eq!(world.store.claim(&claim("a", boot(1), 9)).await.unwrap(), []);
    assert_eq!(world.store.claim(&capable("b")).await.unwrap(), []);
    assert_eq!(world.store.claim(&Claim { node: other, ..capable("a") }).await.unwrap(), []);
    assert_eq!(world.store.claim(&capable("a")).await.unwrap().len(), 1);
}

pub(crate) async fn task_that_no_node_can_run_says_what_is_missing(world: World) {
    let tasks =
        world.submit(vec![placed("a", &json!({"requires_capabilities": {"gpu": true}})), task("b")]).await;
    assert_eq!(world.store.task(tasks[0]).await.unwrap().unplaceable.as_deref(), Some("no live node"));
    world.store.register_node(&record(profile("node"), boot(1))).await.unwrap();
    let reason = world.store.task(tasks[0]).await.unwrap().unplaceable.unwrap();
    assert_eq!(reason, "no live node satisfies its placement; the nearest one lacks: capability gpu: true");
    assert_eq!(world.store.task(tasks[1]).await.unwrap().unplaceable, None);
}

pub(crate) async fn tasks_that_no_node_can_run_slow_nobody(world: World) {
    let gpu = json!({"requires_capabilities": {"gpu": true}});
    world.submit((0..2_000).map(|number| placed(&format!("t{number}"), &gpu)).collect()).await;
    world.submit(vec![task("last")]).await;
    // The first batch is full of what can run, however much that cannot waits before it.
    assert_eq!(world.claim_one().await.name, "last");
    assert_eq!(world.store.next_due(&profile("node")).await.unwrap(), None);
}

pub(crate) async fn node_runs_no_more_of_a_class_than_it_may(world: World) {
    let two = json!({"max_parallel_per_node": 2});
    world.submit((0..5).map(|number| placed(&format!("t{number}"), &two)).collect()).await;
    let first = world.claim(9).await;
    assert_eq!(first.len(), 2);
    assert_eq!(world.claim(9).await, []);
    let twin = world.store.claim(&claim("node", boot(2), 9)).await.unwrap();
    assert_eq!(twin, [], "another process of the same node is no other node");
    assert_eq!(world.store.claim(&claim("other", boot(3), 9)).await.unwrap().len(), 2);
    assert!(world.complete(first[0].held).await);
    assert_eq!(world.claim(9).await.len(), 1);
}

pub(crate) async fn lists_are_filtered_and_paged(world: World) {
    let http = TaskSpec { executor: "http".to_owned(), ..task("h") };
    let tasks = world.submit(vec![task("a"), task("b"), http]).await;
    world.complete(world.claim_one().await.held).await;
    assert!(executors().contains("http"));
    let ids = |filter: Filter, limit: usize| {
        let store = world.store.clone();
        async move { store.tasks(&filter, limit).await.unwrap().iter().map(|task| task.id).collect::<Vec<_>>() }
    };
    let page = ids(Filter::default(), 2).await;
    assert_eq!(page, [tasks[2], tasks[1]]);
    assert_eq!(ids(Filter { before: Some(tasks[1]), ..Filter::default() }, 2).await, [tasks[0]]);
    assert_eq!(ids(Filter { status: Some(Status::Completed), ..Filter::default() }, 9).await, [tasks[0]]);
    assert_eq!(ids(Filter { executor: Some("http".to_owned()), ..Filter::default() }, 9).await, [tasks[2]]);
    assert_eq!(ids(Filter { name: Some("b".to_owned()), ..Filter::default() }, 9).await, [tasks[1]]);
    assert_eq!(ids(Filter { tree: Some(tasks[0]), ..Filter::default() }, 9).await.len(), 3);
    assert_eq!(ids(Filter { tree: Some(tasks[1]), ..Filter::default() }, 9).await, []);
}

pub(crate) async fn unknown_task_is_an_error(world: World) {
    let nobody = crate::support::next_id();
    for error in [
        world.store.task(nobody).await.unwrap_err(),
        world.store.cancel(nobody).await.unwrap_err(),
        world.store.retry(nobody).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::UnknownTask(task) if task == nobody), "{error}");
    }
    assert_eq!(world.store.events(Some(nobody), Position::default(), 9).await.unwrap(), []);
}
