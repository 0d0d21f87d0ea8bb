//! Claim, renew, finish, release.

use std::time::Duration;

use hyperscale_tasks::domain::{Backoff, Fence, Position, Priority, Status, TaskId, TaskSpec};
use hyperscale_tasks::store::Held;
use serde_json::json;
use tokio::task::JoinSet;

use super::cases;
use crate::support::{LEASE, LONGER, PATIENCE, World, boot, claim, failed, profile, task};

cases!(
    due_tasks_are_claimed_by_priority_and_age,
    task_is_claimed_when_it_is_due_and_its_time_is_known,
    claimed_task_is_leased_to_one_process,
    claimers_never_share_a_task,
    completion_consumes_the_lease,
    late_completion_after_a_sweep_is_rejected,
    repeated_report_is_rejected,
    fence_of_another_lease_is_rejected,
    expired_lease_that_nobody_took_still_completes,
    renewed_lease_outlives_its_first_end,
    lost_lease_is_not_renewed,
    released_task_spends_no_attempt_and_needs_its_fence,
    failure_is_retried_after_its_pause,
    failure_without_attempts_left_is_final,
    fences_rise_and_are_never_reused,
    progress_needs_the_lease,
    life_of_a_task_is_in_its_events,
    event_stream_misses_nothing,
    submission_wakes_other_processes,
);

pub(crate) async fn due_tasks_are_claimed_by_priority_and_age(world: World) {
    let urgent =
        |name: &str, priority: u8| TaskSpec { priority: Priority::try_from(priority).unwrap(), ..task(name) };
    world.submit(vec![urgent("c", 3), urgent("a", 0), urgent("b", 1), urgent("d", 3)]).await;
    let names: Vec<String> = world.claim(3).await.into_iter().map(|claimed| claimed.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(world.claim(9).await.len(), 1);
}

pub(crate) async fn task_is_claimed_when_it_is_due_and_its_time_is_known(world: World) {
    let later = world.store.now().await.unwrap().plus(LEASE);
    world.submit(vec![TaskSpec { run_at: Some(later), ..task("later") }]).await;
    assert_eq!(world.claim(9).await, []);
    let wait = world.store.next_due(&profile("node")).await.unwrap().unwrap();
    assert!(wait <= LEASE && wait > LEASE / 2, "{wait:?}");
    world.advance(LONGER).await;
    assert_eq!(world.store.next_due(&profile("node")).await.unwrap(), Some(Duration::ZERO));
    assert_eq!(world.claim(9).await.len(), 1);
    assert_eq!(world.store.next_due(&profile("node")).await.unwrap(), None);
}

pub(crate) async fn claimed_task_is_leased_to_one_process(world: World) {
    let task = world.submit_one().await;
    let claimed = world.claim_one().await;
    assert_eq!((claimed.held.task, claimed.attempt, claimed.inputs), (task, 1, json!({})));
    assert_eq!(world.claim(9).await, []);
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.status, stored.last_assigned_node.as_deref()), (Status::InProgress, Some("node")));
    let counts = world.store.counts().await.unwrap();
    assert_eq!((counts.in_progress, counts.leases, counts.pending), (1, 1, 0));
}

pub(crate) async fn claimers_never_share_a_task(world: World) {
    world.submit((0..200).map(|number| task(&format!("t{number}"))).collect()).await;
    let mut claimers = JoinSet::new();
    for number in 0..4 {
        let store = world.another().await;
        claimers.spawn(async move {
            let mut claimed = Vec::new();
            loop {
                let batch = store.claim(&claim(&format!("n{number}"), boot(number), 7)).await.unwrap();
                if batch.is_empty() {
                    return claimed;
                }
                claimed.extend(batch.into_iter().map(|claimed| claimed.held));
            }
        });
    }
    let mut all: Vec<Held> = claimers.join_all().await.into_iter().flatten().collect();
    // A claimer leaves out what another one is just taking.
    all.extend(world.claim(200).await.into_iter().map(|claimed| claimed.held));
    let mut tasks: Vec<TaskId> = all.iter().map(|held| held.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    assert_eq!((all.len(), tasks.len()), (200, 200));
}

pub(crate) async fn completion_consumes_the_lease(world: World) {
    let task = world.submit_one().await;
    let claimed = world.claim_one().await;
    assert!(world.complete(claimed.held).await);
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.status, stored.result), (Status::Completed, Some(json!({"done": true}))));
    assert!(stored.completed_at.is_some());
    assert_eq!(world.store.counts().await.unwrap().leases, 0);
}

pub(crate) async fn late_completion_after_a_sweep_is_rejected(world: World) {
    let task = world.submit_one().await;
    let late = world.claim_one().await.held;
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    assert_eq!(world.sweep(&leadership).await.tasks, [(task, Status::Pending)]);
    assert!(!world.complete(late).await);
    assert_eq!(world.status(task).await, Status::Pending);
    let second = world.claim_one().await.held;
    assert!(!world.complete(late).await);
    assert_eq!(world.status(task).await, Status::InProgress);
    assert!(world.complete(second).await);
}

pub(crate) async fn repeated_report_is_rejected(world: World) {
    let task = world.submit_one().await;
    let held = world.claim_one().await.held;
    assert!(world.complete(held).await);
    assert!(!world.finish(held, failed()).await);
    assert!(!world.complete(held).await);
    assert_eq!(world.status(task).await, Status::Completed);
}

pub(crate) async fn fence_of_another_lease_is_rejected(world: World) {
    let task = world.submit_one().await;
    let held = world.claim_one().await.held;
    let forged = Held { fence: Fence(held.fence.0 + 1), ..held };
    assert!(!world.complete(forged).await);
    assert_eq!(world.store.renew(&[forged], LEASE).await.unwrap(), []);
    assert_eq!(world.status(task).await, Status::InProgress);
}

pub(crate) async fn expired_lease_that_nobody_took_still_completes(world: World) {
    world.submit_one().await;
    let held = world.claim_one().await.held;
    world.advance(LONGER).await;
    assert!(world.complete(held).await);
}

pub(crate) async fn renewed_lease_outlives_its_first_end(world: World) {
    let task = world.submit_one().await;
    let held = world.claim_one().await.held;
    world.advance(LEASE / 2).await;
    let renewed = world.store.renew(&[held], LEASE).await.unwrap();
    assert_eq!(
        renewed.iter().map(|renewed| (renewed.task, renewed.cancel)).collect::<Vec<_>>(),
        [(task, false)]
    );
    world.advance(LEASE / 2 + Duration::from_secs(1)).await;
    let leadership = world.lead().await;
    assert_eq!(world.sweep(&leadership).await.tasks, []);
    assert!(world.complete(held).await);
}

pub(crate) async fn lost_lease_is_not_renewed(world: World) {
    world.submit_one().await;
    let lost = world.claim_one().await.held;
    world.advance(LONGER).await;
    let leadership = world.lead().await;
    world.sweep(&leadership).await;
    let held = world.claim_one().await.held;
    let renewed = world.store.renew(&[lost, held], LEASE).await.unwrap();
    assert_eq!(renewed.len(), 1);
    assert_eq!(world.store.renew(&[lost], LEASE).await.unwrap(), []);
}

pub(crate) async fn released_task_spends_no_attempt_and_needs_its_fence(world: World) {
    let task = world.submit(vec![TaskSpec { max_attempts: 1, ..task("one") }]).await[0];
    let first = world.claim_one().await.held;
    assert_eq!(world.store.release(&[first]).await.unwrap(), [task]);
    let second = world.claim_one().await.held;
    assert_eq!(world.store.release(&[first]).await.unwrap(), []);
    assert_eq!(world.status(task).await, Status::InProgress);
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.failures, stored.crashes), (0, 0));
    assert!(world.complete(second).await);
}

pub(crate) async fn failure_is_retried_after_its_pause(world: World) {
    let backoff = Backoff { initial_ms: 60_000, factor: 2.0, max_ms: 600_000, jitter: 0.0 };
    let task = world.submit(vec![TaskSpec { backoff, ..task("one") }]).await[0];
    assert!(world.finish(world.claim_one().await.held, failed()).await);
    let stored = world.store.task(task).await.unwrap();
    assert_eq!(
        (stored.status, stored.failures, stored.error.as_deref()),
        (Status::Pending, 1, Some("broken"))
    );
    assert_eq!(world.claim(1).await, []);
    world.advance(LONGER).await;
    assert!(world.complete(world.claim_one().await.held).await);
    assert_eq!(world.store.task(task).await.unwrap().error, None);
}

pub(crate) async fn failure_without_attempts_left_is_final(world: World) {
    let task = world.submit(vec![TaskSpec { max_attempts: 2, ..task("one") }]).await[0];
    for _ in 0..2 {
        assert!(world.finish(world.claim_one().await.held, failed()).await);
    }
    let stored = world.store.task(task).await.unwrap();
    assert_eq!((stored.status, stored.failures, stored.attempt), (Status::Failed, 2, 2));
    assert_eq!(world.claim(1).await, []);
}

pub(crate) async fn fences_rise_and_are_never_reused(world: World) {
    let task = world.submit(vec![TaskSpec { max_attempts: 9, ..task("one") }]).await[0];
    let mut last = Fence(0);
    for round in 0..4 {
        let held = world.claim_one().await.held;
        assert!(held.fence > last);
        last = held.fence;
        match round {
            0 => drop(world.store.release(&[held]).await.unwrap()),
            1 => assert!(world.finish(held, failed()).await),
            2 => {
                assert!(
                    world
                        .finish(held, hyperscale_tasks::domain::Outcome::FailedForGood("no".to_owned()))
                        .await
                );
                world.store.retry(task).await.unwrap();
            }
            _ => assert!(world.complete(held).await),
        }
    }
}

pub(crate) async fn progress_needs_the_lease(world: World) {
    let task = world.submit_one().await;
    let held = world.claim_one().await.held;
    assert!(world.store.progress(held, 0.5).await.unwrap());
    assert_eq!(world.store.task(task).await.unwrap().progress, Some(0.5));
    assert!(!world.store.progress(Held { fence: Fence(held.fence.0 + 1), ..held }, 0.9).await.unwrap());
}

pub(crate) async fn life_of_a_task_is_in_its_events(world: World) {
    let task = world.submit_one().await;
    let first = world.claim_one().await.held;
    world.finish(first, failed()).await;
    let second = world.claim_one().await.held;
    world.complete(second).await;
    let events = world.store.events(Some(task), Position::default(), 100).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["created", "assigned", "started", "retried", "assigned", "started", "completed"]);
    let last = events.last().unwrap();
    assert_eq!((last.fence, last.attempt, last.node.as_deref()), (Some(second.fence), Some(2), Some("node")));
    assert_eq!(events[3].details, Some(json!("broken")));
}

pub(crate) async fn event_stream_misses_nothing(world: World) {
    let before = world.store.events_end().await.unwrap();
    let mut writers = JoinSet::new();
    for number in 0..4 {
        let store = world.another().await;
        writers.spawn(async move {
            for round in 0..10 {
                let key = format!("{number}-{round}");
                store.submit(crate::support::keyed(&key, json!({}))).await.unwrap();
            }
        });
    }
    let (mut position, mut seen) = (before, 0);
    while seen < 40 {
        for event in world.store.events(None, position, 7).await.unwrap() {
            assert!(event.position > position);
            position = event.position;
            seen += 1;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(world.store.events(None, position, 7).await.unwrap(), []);
}

pub(crate) async fn submission_wakes_other_processes(world: World) {
    let other = world.another().await;
    let mut changes = other.changes();
    for _ in 0..3 {
        changes.mark_unchanged();
        // As many as come within one pause of the notifier: the last one must not be left out.
        for _ in 0..3 {
            world.submit_one().await;
        }
        let mut claimed = 0;
        while claimed < 3 {
            tokio::time::timeout(PATIENCE, changes.changed()).await.expect("nobody is woken").unwrap();
            claimed += other.claim(&claim("node", boot(1), 9)).await.unwrap().len();
        }
    }
}
