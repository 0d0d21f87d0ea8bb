//! Effects happen once for all attempts of a task.

use hyperscale_tasks::domain::effect_key;
use hyperscale_tasks::store::{Effect, StoreError};
use serde_json::json;

use super::cases;
use crate::support::{World, failed};

cases!(
    effect_is_replayed_to_later_attempts,
    effect_that_was_not_finished_is_said_to_be_interrupted,
    effect_needs_the_lease,
);

pub(crate) async fn effect_is_replayed_to_later_attempts(world: World) {
    let key = effect_key(world.submit_one().await, "send");
    let first = world.claim_one().await.held;
    assert_eq!(world.store.begin_effect(&key, first).await.unwrap(), Effect::New);
    world.store.finish_effect(&key, first, json!({"id": 7})).await.unwrap();
    world.finish(first, failed()).await;
    let second = world.claim_one().await.held;
    assert_eq!(world.store.begin_effect(&key, second).await.unwrap(), Effect::Done(json!({"id": 7})));
}

pub(crate) async fn effect_that_was_not_finished_is_said_to_be_interrupted(world: World) {
    let key = effect_key(world.submit_one().await, "send");
    let first = world.claim_one().await.held;
    world.store.begin_effect(&key, first).await.unwrap();
    world.finish(first, failed()).await;
    let second = world.claim_one().await.held;
    assert_eq!(world.store.begin_effect(&key, second).await.unwrap(), Effect::Interrupted);
    world.store.finish_effect(&key, second, json!(1)).await.unwrap();
}

pub(crate) async fn effect_needs_the_lease(world: World) {
    let key = effect_key(world.submit_one().await, "send");
    let lost = world.claim_one().await.held;
    world.store.begin_effect(&key, lost).await.unwrap();
    world.finish(lost, failed()).await;
    for error in [
        world.store.begin_effect(&key, lost).await.unwrap_err(),
        world.store.finish_effect(&key, lost, json!(1)).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::LeaseLost(_)), "{error}");
    }
}
