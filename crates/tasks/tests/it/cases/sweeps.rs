//! Leases that are over, and the races around them.

use std::time::Duration;

use hyperscale_tasks::domain::{EventKind, Position, Status, TaskId, TaskSpec};
use hyperscale_tasks::store::{StoreError, Sweep};
use tokio_postgres::NoTls;

use super::cases;
use crate::support::{LEASE, LONGER, World, boot, candidate, claim, profile, record, sweep, task};

cases!(
    crashed_task_is_found_without_its_node,
    crash_is_counted_and_written_with_the_epoch,
    task_that_kills_nodes_is_a_dead_letter,
    deadline_ends_a_lease_that_is_renewed,
    leases_of_a_dead_process_are_taken_before_they_end,
    long_sweep_goes_by_pages,
    deposed_leader_sweeps_nothing,
    sweep_and_completion_end_a_task_once,
    lease_that_is_being_renewed_is_left_alone,
    process_that_is_gone_frees_its_lock,
);

pub(crate) async fn crashed_task_is_found_without_its_node(world: World) {
    world.store.register_node(&record(profile("node"), boot(1))).await.unwrap();
    let task = world.submit_one().await;
    world.claim_one().await;
    world.store.deregister_node("node", boot(1)).await.unwrap();
    world.store.register_node(&record(profile("node"), boot(2))).await.unwrap();
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    assert_eq!(world.sweep(&leadership).await.tasks, [(task, Status::Pending)]);
}

pub(crate) async fn crash_is_counted_and_written_with_the_epoch(world: World) {
    let task = world.submit_one().await;
    let held = world.claim_one().await.held;
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    world.sweep(&leadership).await;
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.crashes, stored.failures), (1, 0));
    let last = world.store.events(Some(task), Position::default(), 9).await.unwrap().pop().unwrap();
    assert_eq!(
        (last.kind, last.fence, last.epoch),
        (EventKind::Reassigned, Some(held.fence), Some(leadership.epoch))
    );
}

pub(crate) async fn task_that_kills_nodes_is_a_dead_letter(world: World) {
    let task = world.submit(vec![TaskSpec { max_attempts: 100, ..task("one") }]).await[0];
    for crash in 1..=3 {
        world.claim_one().await;
        world.advance(LONGER).await;
        let leadership = world.lead().await;
        let status = if crash < 3 { Status::Pending } else { Status::Failed };
        assert_eq!(world.sweep(&leadership).await.tasks, [(task, status)]);
    }
    assert!(world.store.task(task).await.unwrap().error.unwrap().starts_with("dead_letter"));
}

pub(crate) async fn deadline_ends_a_lease_that_is_renewed(world: World) {
    let task =
        world.submit(vec![TaskSpec { timeout_seconds: Some(90), max_attempts: 1, ..task("one") }]).await[0];
    let held = world.claim_one().await.held;
    world.advance(LEASE * 2 / 3).await;
    assert_eq!(world.store.renew(&[held], LEASE).await.unwrap().len(), 1);
    world.advance(LEASE).await;
    assert_eq!(world.store.renew(&[held], LEASE).await.unwrap(), []);
    let leadership = world.lead().await;
    assert_eq!(world.sweep(&leadership).await.tasks, [(task, Status::Failed)]);
    assert!(world.store.task(task).await.unwrap().error.unwrap().starts_with("timeout"));
}

pub(crate) async fn leases_of_a_dead_process_are_taken_before_they_end(world: World) {
    let tasks = world.submit(vec![task("a"), task("b")]).await;
    world.claim_one().await;
    world.store.claim(&claim("other", boot(2), 1)).await.unwrap();
    let leadership = world.lead().await;
    let swept = world.store.sweep(&leadership, &Sweep { dead: vec![boot(2)], ..sweep() }).await.unwrap();
    assert_eq!(swept.tasks, [(tasks[1], Status::Pending)]);
}

pub(crate) async fn long_sweep_goes_by_pages(world: World) {
    let mut tasks = world.submit((0..5).map(|number| task(&format!("t{number}"))).collect()).await;
    world.claim(5).await;
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    let (mut swept, mut page): (Vec<TaskId>, _) = (Vec::new(), Sweep { limit: 2, ..sweep() });
    loop {
        let found = world.store.sweep(&leadership, &page).await.unwrap();
        swept.extend(found.tasks.iter().map(|(task, _)| *task));
        match found.next {
            Some(next) => page.after = Some(next),
            None => break,
        }
    }
    swept.sort_unstable();
    tasks.sort_unstable();
    assert_eq!(swept, tasks);
}

pub(crate) async fn deposed_leader_sweeps_nothing(world: World) {
    let task = world.submit_one().await;
    world.claim_one().await;
    let deposed = world.lead().await;
    world.advance(LONGER).await;
    assert!(matches!(world.store.sweep(&deposed, &sweep()).await, Err(StoreError::StaleEpoch(_))));
    let leadership = world.store.acquire_leadership(&candidate("other", boot(2))).await.unwrap().unwrap();
    assert!(matches!(world.store.sweep(&deposed, &sweep()).await, Err(StoreError::StaleEpoch(_))));
    assert_eq!(world.status(task).await, Status::InProgress);
    assert_eq!(world.sweep(&leadership).await.tasks.len(), 1);
}

pub(crate) async fn sweep_and_completion_end_a_task_once(world: World) {
    let other = world.another().await;
    for round in 0..20 {
        let task = world.submit(vec![TaskSpec { max_attempts: 1, ..task("one") }]).await[0];
        let held = world.claim_one().await.held;
        world.advance(LONGER).await;
        let leadership = world.lead().await;
        let page = sweep();
        let (swept, completed) = tokio::join!(other.sweep(&leadership, &page), world.complete(held));
        let swept = !swept.unwrap().tasks.is_empty();
        let events = world.store.events(Some(task), Position::default(), 9).await.unwrap();
        let ends = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Completed | EventKind::Failed))
            .count();
        assert!(swept != completed, "round {round}: swept {swept}, completed {completed}");
        assert_eq!(ends, 1);
        let status = if completed { Status::Completed } else { Status::Failed };
        assert_eq!(world.status(task).await, status);
    }
}

/// A renewal that has not committed yet when the sweep looks. Only PostgreSQL has such moments.
pub(crate) async fn lease_that_is_being_renewed_is_left_alone(world: World) {
    let Some(config) = world.postgres_config() else { return };
    let task = world.submit_one().await;
    let held = world.claim_one().await.held;
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    let (mut client, connection) = config.connect(NoTls).await.unwrap();
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(connection);
    let renewal = client.transaction().await.unwrap();
    let sql = "UPDATE task_leases SET expires_at = clock_timestamp() + interval '1 min' WHERE task_id = $1";
    renewal.execute(sql, &[&task.0]).await.unwrap();
    assert_eq!(world.sweep(&leadership).await.tasks, []);
    renewal.commit().await.unwrap();
    assert_eq!(world.sweep(&leadership).await.tasks, []);
    assert!(world.complete(held).await);
}

pub(crate) async fn process_that_is_gone_frees_its_lock(world: World) {
    let (alive, dead) = (world.another().await, world.another().await);
    for (store, boot) in [(&alive, boot(11)), (&dead, boot(12))] {
        store.hold_liveness(boot).await.unwrap();
        store.register_node(&record(profile("node"), boot)).await.unwrap();
    }
    let boots = [boot(11), boot(12), boot(13)];
    assert_eq!(world.store.dead_boots(&boots).await.unwrap(), []);
    drop(dead);
    while world.store.dead_boots(&boots).await.unwrap() != [boot(12)] {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
