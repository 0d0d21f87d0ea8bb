//! The registry of nodes, and what is put away.

use std::time::Duration;

use hyperscale_tasks::domain::{NodeAges, NodeStatus, Position, Status};
use hyperscale_tasks::store::{Retention, StoreError};

use super::cases;
use crate::support::{LONGER, World, after, boot, profile, record, task};

cases!(
    processes_with_one_name_are_two_entries,
    silent_node_becomes_stale_and_dead,
    ended_trees_are_archived_and_still_found,
    deposed_leader_puts_nothing_away,
);

const AGES: NodeAges = NodeAges { stale: Duration::from_mins(1), dead: Duration::from_mins(2) };

/// Events are thrown away by the day.
const DAY: Duration = Duration::from_hours(24);
const RETENTION: Retention = Retention { tasks: Duration::from_mins(1), events: DAY, limit: 100 };

pub(crate) async fn processes_with_one_name_are_two_entries(world: World) {
    for number in [1, 2] {
        world.store.register_node(&record(profile("node"), boot(number))).await.unwrap();
    }
    assert_eq!(world.store.nodes().await.unwrap().len(), 2);
    world.store.deregister_node("node", boot(1)).await.unwrap();
    assert!(!world.store.heartbeat("node", boot(1)).await.unwrap());
    assert!(world.store.heartbeat("node", boot(2)).await.unwrap());
}

pub(crate) async fn silent_node_becomes_stale_and_dead(world: World) {
    world.store.register_node(&record(profile("node"), boot(1))).await.unwrap();
    let status = || async { world.store.nodes().await.unwrap()[0].status };
    for (expected, changed) in [(NodeStatus::Stale, 1), (NodeStatus::Dead, 1), (NodeStatus::Dead, 0)] {
        world.advance(LONGER).await;
        let leadership = world.lead().await;
        assert_eq!(world.store.mark_nodes(&leadership, AGES).await.unwrap(), changed);
        assert_eq!(status().await, expected);
    }
    assert!(world.store.heartbeat("node", boot(1)).await.unwrap());
    assert_eq!(status().await, NodeStatus::Healthy);
}

pub(crate) async fn ended_trees_are_archived_and_still_found(world: World) {
    let ended = world.submit(vec![task("a"), after("b", &["a"])]).await;
    for _ in 0..2 {
        world.complete(world.claim_one().await.held).await;
    }
    let open = world.submit(vec![task("c"), task("d")]).await;
    world.complete(world.claim_one().await.held).await;
    world.advance(DAY * 2).await;
    let leadership = world.lead().await;
    let retained = world.store.retain(&leadership, RETENTION).await.unwrap();
    assert_eq!(retained.tasks, 2);
    assert!(retained.events > 0);
    let counts = world.store.counts().await.unwrap();
    assert_eq!((counts.completed, counts.pending), (1, 1));
    assert_eq!(world.status(ended[1]).await, Status::Completed);
    assert_eq!(world.status(open[0]).await, Status::Completed);
    assert_eq!(world.store.events(Some(ended[0]), Position::default(), 9).await.unwrap(), []);
}

pub(crate) async fn deposed_leader_puts_nothing_away(world: World) {
    let deposed = world.lead().await;
    world.store.release_leadership(&deposed).await.unwrap();
    let error = world.store.retain(&deposed, RETENTION).await.unwrap_err();
    assert!(matches!(error, StoreError::StaleEpoch(_)), "{error}");
    let error = world.store.mark_nodes(&deposed, AGES).await.unwrap_err();
    assert!(matches!(error, StoreError::StaleEpoch(_)), "{error}");
}
