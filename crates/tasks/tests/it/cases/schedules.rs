//! A schedule fires exactly once for each of its times, under any leader.

use std::time::Duration;

use hyperscale_tasks::domain::{MissedFires, Schedule, ScheduleSpec, Status, Timestamp, TreeSpec, Trigger};
use hyperscale_tasks::store::{Fire, StoreError};

use super::cases;
use crate::support::{LONGER, World, boot, candidate, schedule_id, task, tree};

cases!(
    schedule_fires_once_whoever_leads,
    deposed_leader_fires_nothing,
    leaders_at_once_fire_once,
    run_is_kept_with_its_result,
    schedule_of_the_same_name_is_replaced,
    paused_schedule_fires_only_when_it_is_triggered,
    resumed_schedule_leaves_out_what_was_due,
    triggered_runs_are_kept_and_the_next_fire_stays,
);

fn every_minute(name: &str) -> ScheduleSpec {
    ScheduleSpec {
        name: name.to_owned(),
        trigger: Trigger::Interval { seconds: 60 },
        missed: MissedFires::Coalesce,
        tree: TreeSpec::single(task("run")),
    }
}

/// What a leader makes of a schedule that is due.
fn fire(schedule: &Schedule, now: Timestamp) -> Fire {
    let due = schedule.next_run_at.unwrap();
    let fires = schedule.spec.trigger.fires(due, now, schedule.spec.missed).unwrap();
    let runs = fires.at.into_iter().map(|time| (time, tree(schedule.spec.tree.clone()))).collect();
    Fire { schedule: schedule.id, due, runs, next: fires.next }
}

async fn due_schedule(world: &World) -> Schedule {
    world.store.put_schedule(schedule_id(), &every_minute("beat")).await.unwrap();
    world.advance(LONGER).await;
    world.store.schedules().await.unwrap().remove(0)
}

pub(crate) async fn schedule_fires_once_whoever_leads(world: World) {
    let schedule = due_schedule(&world).await;
    let now = world.store.now().await.unwrap();
    let first = world.lead().await;
    assert!(world.store.fire(&first, fire(&schedule, now)).await.unwrap());
    world.store.release_leadership(&first).await.unwrap();
    let second = world.store.acquire_leadership(&candidate("other", boot(2))).await.unwrap().unwrap();
    // The new leader has read the schedule before the old one fired it.
    assert!(!world.store.fire(&second, fire(&schedule, now)).await.unwrap());
    assert_eq!(world.store.counts().await.unwrap().pending, 1);
    assert_eq!(world.store.runs(schedule.id, 9).await.unwrap().len(), 1);
}

pub(crate) async fn deposed_leader_fires_nothing(world: World) {
    let schedule = due_schedule(&world).await;
    let deposed = world.lead().await;
    world.store.release_leadership(&deposed).await.unwrap();
    let now = world.store.now().await.unwrap();
    let error = world.store.fire(&deposed, fire(&schedule, now)).await.unwrap_err();
    assert!(matches!(error, StoreError::StaleEpoch(_)), "{error}");
    assert_eq!(world.store.counts().await.unwrap().pending, 0);
}

pub(crate) async fn leaders_at_once_fire_once(world: World) {
    let schedule = due_schedule(&world).await;
    let now = world.store.now().await.unwrap();
    let leadership = world.lead().await;
    let other = world.another().await;
    let (one, two) = tokio::join!(
        world.store.fire(&leadership, fire(&schedule, now)),
        other.fire(&leadership, fire(&schedule, now))
    );
    assert!(one.unwrap() != two.unwrap());
    assert_eq!(world.store.counts().await.unwrap().pending, 1);
}

pub(crate) async fn run_is_kept_with_its_result(world: World) {
    let schedule = due_schedule(&world).await;
    let now = world.store.now().await.unwrap();
    let leadership = world.lead().await;
    world.store.fire(&leadership, fire(&schedule, now)).await.unwrap();
    world.complete(world.claim_one().await.held).await;
    let run = world.store.runs(schedule.id, 9).await.unwrap().remove(0);
    assert_eq!((run.status, run.result.is_some()), (Some(Status::Completed), true));
    let next = world.store.schedules().await.unwrap()[0].next_run_at.unwrap();
    assert_eq!(next, run.fire_time.plus(Duration::from_mins(1)));
}

pub(crate) async fn schedule_of_the_same_name_is_replaced(world: World) {
    let first = world.store.put_schedule(schedule_id(), &every_minute("beat")).await.unwrap();
    let other = ScheduleSpec { missed: MissedFires::Skip, ..every_minute("beat") };
    let second = world.store.put_schedule(schedule_id(), &other).await.unwrap();
    assert_eq!(first.id, second.id);
    assert_eq!(world.store.schedules().await.unwrap(), [second]);
    assert!(world.store.remove_schedule(first.id).await.unwrap());
    assert!(!world.store.remove_schedule(first.id).await.unwrap());
}

pub(crate) async fn paused_schedule_fires_only_when_it_is_triggered(world: World) {
    let schedule = due_schedule(&world).await;
    let now = world.store.now().await.unwrap();
    let leadership = world.lead().await;
    assert!(world.store.pause_schedule(schedule.id, true).await.unwrap().paused);
    // The leader has read the schedule before it was paused.
    assert!(!world.store.fire(&leadership, fire(&schedule, now)).await.unwrap());
    assert_eq!(world.store.counts().await.unwrap().pending, 0);
    let run = world.store.trigger_schedule(schedule.id, tree(schedule.spec.tree.clone())).await.unwrap();
    assert!(run.is_new);
    assert_eq!(world.store.counts().await.unwrap().pending, 1);
    assert!(matches!(
        world.store.pause_schedule(schedule_id(), true).await,
        Err(StoreError::UnknownSchedule(_))
    ));
}

pub(crate) async fn resumed_schedule_leaves_out_what_was_due(world: World) {
    let schedule = world.store.put_schedule(schedule_id(), &every_minute("beat")).await.unwrap();
    let paused = world.store.pause_schedule(schedule.id, true).await.unwrap();
    assert_eq!(paused.next_run_at, schedule.next_run_at);
    world.advance(LONGER * 5).await;
    let before = world.store.now().await.unwrap();
    let resumed = world.store.pause_schedule(schedule.id, false).await.unwrap();
    assert!(!resumed.paused && resumed.next_run_at.unwrap() > before);
    assert_eq!(world.store.schedules().await.unwrap(), [resumed]);
}

pub(crate) async fn triggered_runs_are_kept_and_the_next_fire_stays(world: World) {
    let schedule = world.store.put_schedule(schedule_id(), &every_minute("beat")).await.unwrap();
    let mut trees = Vec::new();
    for _ in 0..3 {
        let tree = tree(schedule.spec.tree.clone());
        trees.push(world.store.trigger_schedule(schedule.id, tree).await.unwrap().tree);
    }
    let runs = world.store.runs(schedule.id, 9).await.unwrap();
    trees.reverse();
    assert_eq!(runs.iter().map(|run| run.tree).collect::<Vec<_>>(), trees);
    assert_eq!(world.store.schedules().await.unwrap()[0].next_run_at, schedule.next_run_at);
}
