//! Leadership: one at a time, by process, with epochs that only rise.

use hyperscale_tasks::store::{Candidate, StoreError};

use super::cases;
use crate::support::{LEASE, LONGER, World, boot, candidate, sweep};

cases!(
    one_process_leads_at_a_time_and_epochs_rise,
    stale_epoch_renews_nothing,
    processes_with_one_name_do_not_lead_together,
    released_leadership_is_free_at_once_and_keeps_its_epoch,
    dead_leader_is_replaced_before_its_lease_ends,
    candidates_at_once_make_one_leader,
);

pub(crate) async fn one_process_leads_at_a_time_and_epochs_rise(world: World) {
    let first = world.lead().await;
    let other = candidate("other", boot(2));
    assert_eq!(world.store.acquire_leadership(&other).await.unwrap(), None);
    world.advance(LEASE / 2).await;
    assert!(world.store.renew_leadership(&first, LEASE).await.unwrap());
    world.advance(LEASE * 2 / 3).await;
    assert_eq!(world.store.acquire_leadership(&other).await.unwrap(), None);
    world.advance(LONGER).await;
    let second = world.store.acquire_leadership(&other).await.unwrap().unwrap();
    assert_eq!(second.epoch.0, first.epoch.0 + 1);
    let leader = world.store.leader().await.unwrap().unwrap();
    assert_eq!((leader.node.as_str(), leader.boot, leader.is_current), ("other", boot(2), true));
}

pub(crate) async fn stale_epoch_renews_nothing(world: World) {
    let stale = world.lead().await;
    world.advance(LONGER).await;
    assert!(!world.store.renew_leadership(&stale, LEASE).await.unwrap(), "an expired leadership was revived");
    let again = world.lead().await;
    assert!(
        !world.store.renew_leadership(&stale, LEASE).await.unwrap(),
        "an old epoch of the same process was renewed"
    );
    world.store.release_leadership(&stale).await.unwrap();
    assert!(world.store.renew_leadership(&again, LEASE).await.unwrap());
}

pub(crate) async fn processes_with_one_name_do_not_lead_together(world: World) {
    let first = world.lead().await;
    let twin = candidate("node", boot(2));
    assert_eq!(world.store.acquire_leadership(&twin).await.unwrap(), None);
    world.advance(LONGER).await;
    let second = world.store.acquire_leadership(&twin).await.unwrap().unwrap();
    assert!(!world.store.renew_leadership(&first, LEASE).await.unwrap());
    assert!(world.store.renew_leadership(&second, LEASE).await.unwrap());
    assert!(matches!(world.store.sweep(&first, &sweep()).await, Err(StoreError::StaleEpoch(_))));
}

pub(crate) async fn released_leadership_is_free_at_once_and_keeps_its_epoch(world: World) {
    let first = world.lead().await;
    world.store.release_leadership(&first).await.unwrap();
    assert!(!world.store.leader().await.unwrap().unwrap().is_current);
    assert!(!world.store.renew_leadership(&first, LEASE).await.unwrap());
    let second = world.store.acquire_leadership(&candidate("other", boot(2))).await.unwrap().unwrap();
    assert_eq!(second.epoch.0, first.epoch.0 + 1);
}

pub(crate) async fn dead_leader_is_replaced_before_its_lease_ends(world: World) {
    let dead = world.lead().await;
    let wrong = Candidate { dead: Some(boot(9)), ..candidate("other", boot(2)) };
    assert_eq!(world.store.acquire_leadership(&wrong).await.unwrap(), None);
    let hinted = Candidate { dead: Some(boot(1)), ..wrong };
    let leadership = world.store.acquire_leadership(&hinted).await.unwrap().unwrap();
    // It was alive after all: its epoch is over all the same.
    assert!(!world.store.renew_leadership(&dead, LEASE).await.unwrap());
    assert!(world.store.renew_leadership(&leadership, LEASE).await.unwrap());
}

pub(crate) async fn candidates_at_once_make_one_leader(world: World) {
    let mut candidates = tokio::task::JoinSet::new();
    for number in 0..6 {
        let store = world.another().await;
        candidates
            .spawn(async move { store.acquire_leadership(&candidate("node", boot(number))).await.unwrap() });
    }
    assert_eq!(candidates.join_all().await.into_iter().flatten().count(), 1);
}
