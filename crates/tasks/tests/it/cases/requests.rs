//! What the API asks of a store beside the life of a task.

use std::collections::BTreeSet;

use hyperscale_tasks::domain::{
    EventKind, Filter, NewTree, NodeProfile, Position, Status, TaskId, TaskSpec, TreeCounts, TreeMessage,
    TreeSpec, updated_at,
};
use hyperscale_tasks::store::{Claim, Retention, StoreError};
use serde_json::json;

use super::cases;
use crate::support::{LONGER, World, after, boot, claim, done, failed, keyed, next_id, task, tree};

cases!(
    tree_is_read_whole_from_any_of_its_tasks,
    cancelled_tree_has_no_failed_tasks,
    names_are_filtered_by_prefix_and_roots_alone,
    tree_ends_with_its_last_event,
    one_task_is_acquired_by_its_id,
    executable_tasks_are_listed_and_not_taken,
    token_secret_is_shared_by_all_processes,
    observer_reads_and_cannot_write,
    messages_are_kept_with_their_trees,
    overviews_count_as_trees_do,
);

pub(crate) async fn tree_is_read_whole_from_any_of_its_tasks(world: World) {
    let ids = world.submit(vec![task("a"), task("b"), after("c", &["a", "b?"])]).await;
    for id in &ids {
        let tree = world.store.tree(*id).await.unwrap();
        assert_eq!(tree.iter().map(|task| task.task.id).collect::<Vec<_>>(), ids);
        let edges: Vec<_> = tree[2].depends_on.iter().map(|edge| (edge.task, edge.required)).collect();
        assert_eq!(edges, [(ids[0], true), (ids[1], false)]);
        assert!(tree[0].depends_on.is_empty());
    }
    assert!(matches!(world.store.tree(next_id()).await, Err(StoreError::UnknownTask(_))));
    world.store.cancel_tree(ids[0]).await.unwrap();
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    let retention = Retention { tasks: LONGER / 2, events: LONGER / 2, limit: 9 };
    world.store.retain(&leadership, retention).await.unwrap();
    assert_eq!(world.store.tree(ids[2]).await.unwrap().len(), 3, "archived trees are still found");
}

pub(crate) async fn cancelled_tree_has_no_failed_tasks(world: World) {
    let ids = world.submit(vec![task("runs"), task("waits"), after("last", &["runs", "waits"])]).await;
    let done_before = world.submit_one().await;
    let running = world.claim_one().await.held;
    assert_eq!(running.task, ids[0]);
    assert_eq!(world.store.cancel_tree(ids[2]).await.unwrap(), 3);
    assert_eq!(world.store.cancel_tree(ids[2]).await.unwrap(), 0, "everything was asked before");
    assert_eq!(world.status(ids[1]).await, Status::Cancelled);
    assert_eq!(world.status(ids[2]).await, Status::Cancelled);
    assert!(world.store.renew(&[running], LONGER).await.unwrap()[0].cancel);
    assert_eq!(world.status(done_before).await, Status::Pending, "another tree");
    assert!(matches!(world.store.cancel_tree(next_id()).await, Err(StoreError::UnknownTask(_))));
}

pub(crate) async fn names_are_filtered_by_prefix_and_roots_alone(world: World) {
    let first = world.submit(vec![task("load one"), task("load two"), task("report")]).await;
    let second = world.submit(vec![task("load_%")]).await;
    let ids = async |filter: Filter| -> Vec<_> {
        world.store.tasks(&filter, 9).await.unwrap().iter().map(|task| task.id).collect()
    };
    let named = |name: &str| Filter { name: Some(name.to_owned()), ..Filter::default() };
    assert_eq!(ids(named("load ")).await, [first[1], first[0]]);
    assert_eq!(ids(named("load_")).await, [second[0]], "no character is a wildcard");
    assert_eq!(ids(named("Load")).await, []);
    assert_eq!(ids(Filter { roots: true, ..Filter::default() }).await, [second[0], first[0]]);
}

pub(crate) async fn tree_ends_with_its_last_event(world: World) {
    let ids = world.submit(vec![task("a"), after("b", &["a"])]).await;
    world.submit_one().await;
    world.complete(world.claim_one().await.held).await;
    assert_eq!(world.store.tree_end(ids[0]).await.unwrap(), None);
    let held = loop {
        let claimed = world.claim_one().await.held;
        if claimed.task == ids[1] {
            break claimed;
        }
    };
    world.complete(held).await;
    let end = world.store.tree_end(ids[0]).await.unwrap().expect("all tasks have ended");
    let mut events = Vec::new();
    let mut position = Position::default();
    loop {
        // Other transactions of the server may be open for a moment.
        for event in world.store.tree_events(ids[0], position, 2).await.unwrap() {
            assert!(event.position > position && ids.contains(&event.task), "{event:?}");
            position = event.position;
            events.push(event);
        }
        if position == end {
            break;
        }
    }
    let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == EventKind::Completed).count(), 2, "{kinds:?}");
    assert_eq!(events.last().map(|event| (event.task, event.kind)), Some((ids[1], EventKind::Completed)));
    assert_eq!(world.store.tree_events(ids[0], end, 9).await.unwrap(), []);
}

pub(crate) async fn one_task_is_acquired_by_its_id(world: World) {
    let ids = world.submit(vec![task("a"), task("b"), after("c", &["b"])]).await;
    let wanted = claim("node", boot(1), 1);
    let node = NodeProfile { executors: BTreeSet::new(), ..wanted.node.clone() };
    assert_eq!(world.store.acquire(&Claim { node, ..wanted.clone() }, ids[1]).await.unwrap(), None);
    assert_eq!(world.store.acquire(&wanted, ids[2]).await.unwrap(), None, "it waits for another");
    let claimed = world.store.acquire(&wanted, ids[1]).await.unwrap().expect("it is due");
    assert_eq!((claimed.held.task, claimed.attempt), (ids[1], 1));
    assert_eq!(world.store.acquire(&wanted, ids[1]).await.unwrap(), None, "it is leased");
    assert!(world.finish(claimed.held, done()).await);
    assert_eq!(world.status(ids[0]).await, Status::Pending);
}

pub(crate) async fn executable_tasks_are_listed_and_not_taken(world: World) {
    let urgent = TaskSpec { priority: 0.try_into().unwrap(), ..task("urgent") };
    let other = TaskSpec { executor: "http".to_owned(), ..task("other") };
    let ids = world.submit(vec![task("late"), urgent, after("waits", &["late"]), other]).await;
    let node = NodeProfile { executors: ["wait".to_owned()].into(), ..claim("node", boot(1), 1).node };
    for _ in 0..2 {
        let found = world.store.executable(&node, 9).await.unwrap();
        assert_eq!(found.iter().map(|task| task.id).collect::<Vec<_>>(), [ids[1], ids[0]]);
    }
    assert_eq!(world.store.executable(&node, 1).await.unwrap().len(), 1);
}

pub(crate) async fn token_secret_is_shared_by_all_processes(world: World) {
    let other = world.another().await;
    let first = world.store.token_secret([1; 32]).await.unwrap();
    assert_eq!(first, [1; 32]);
    assert_eq!(other.token_secret([2; 32]).await.unwrap(), first);
}

pub(crate) async fn observer_reads_and_cannot_write(world: World) {
    let task = world.submit_one().await;
    let observer = world.observer().await;
    let mut changes = observer.changes();
    assert_eq!(observer.task(task).await.unwrap().status, Status::Pending);
    for refused in [
        observer.cancel(task).await.map(drop),
        observer.claim(&claim("node", boot(1), 1)).await.map(drop),
        observer.token_secret([0; 32]).await.map(drop),
    ] {
        assert!(matches!(refused, Err(StoreError::ReadOnly)), "{refused:?}");
    }
    changes.mark_unchanged();
    world.complete(world.claim_one().await.held).await;
    // It hears of what others write.
    tokio::time::timeout(crate::support::PATIENCE, changes.changed()).await.unwrap().unwrap();
    assert_eq!(observer.task(task).await.unwrap().status, Status::Completed);
}

fn said(tree: NewTree, context: &str) -> NewTree {
    let message = TreeMessage { context: context.to_owned(), content: json!({ "said": context }) };
    NewTree { message: Some(message), ..tree }
}

pub(crate) async fn messages_are_kept_with_their_trees(world: World) {
    let first = said(keyed("once", json!({})), "one");
    let id = first.id();
    world.store.submit(first).await.unwrap();
    // A repetition is the same submission, whatever was said with it.
    let again = world.store.submit(said(keyed("once", json!({})), "two")).await.unwrap();
    assert_eq!((again.tree, again.is_new), (id, false));
    let silent = world.submit_one().await;
    let kept = async |tree| world.store.message(tree).await.unwrap().map(|message| message.content);
    assert_eq!(kept(id).await, Some(json!({ "said": "one" })));
    assert_eq!(kept(silent).await, None);
    let listed = async |context| -> Vec<TaskId> {
        world.store.overviews(context, 9).await.unwrap().iter().map(|tree| tree.tree).collect()
    };
    assert_eq!((listed(None).await, listed(Some("one")).await), (vec![id], vec![id]));
    assert_eq!(listed(Some("two")).await, []);

    world.store.cancel_tree(id).await.unwrap();
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    let retention = Retention { tasks: LONGER / 2, events: LONGER / 2, limit: 9 };
    world.store.retain(&leadership, retention).await.unwrap();
    assert_eq!(listed(None).await, [], "archived trees are not listed");
    assert_eq!(kept(id).await, Some(json!({ "said": "one" })), "and keep their message");
}

pub(crate) async fn overviews_count_as_trees_do(world: World) {
    let mut ids = Vec::new();
    for _ in 0..3 {
        let tasks = vec![task("a"), task("b"), after("c", &["a?"]), after("d", &["b"]), task("e")];
        let spec = TreeSpec { tasks, idempotency_key: None };
        let tree = said(tree(spec), "context");
        ids.push(tree.id());
        world.store.submit(tree).await.unwrap();
    }
    let agree = async || {
        let overviews = world.store.overviews(Some("context"), 9).await.unwrap();
        assert_eq!(overviews.iter().map(|tree| tree.tree).rev().collect::<Vec<_>>(), ids);
        for overview in overviews {
            let tree = world.store.tree(overview.tree).await.unwrap();
            assert_eq!(overview.counts, TreeCounts::of(&tree));
            assert_eq!(overview.updated_at, updated_at(&tree));
        }
    };
    agree().await;
    // Of each tree one task is tried again, one fails for good, one is cancelled; then everything ends.
    for round in 0.. {
        let claimed = world.claim(1).await;
        let Some(claimed) = claimed.first() else { break };
        match claimed.name.as_str() {
            "a" | "b" => drop(world.finish(claimed.held, failed()).await),
            "e" => {
                world.store.cancel(claimed.held.task).await.unwrap();
                world.finish(claimed.held, hyperscale_tasks::domain::Outcome::Cancelled).await;
            }
            _ => drop(world.complete(claimed.held).await),
        }
        agree().await;
        assert!(round < 99, "the trees never end");
    }
    let ended = world.store.overviews(None, 2).await.unwrap();
    assert_eq!(ended.len(), 2, "only the newest");
    let counts = ended[0].counts;
    assert_eq!(
        counts,
        TreeCounts { completed: 1, failed: 2, cancelled: 1, tolerated: 1, ..TreeCounts::default() }
    );
    assert_eq!(counts.status(), Status::Failed);
}
