//! Deliberate bugs: each must break a case that holds without it.

use std::future::Future;

use hyperscale_tasks::bugs::{Bug, Bugs};
use tokio::task::JoinSet;

use crate::cases::{effects, leaders, leases, schedules, sweeps, trees};
use crate::server::Server;
use crate::support::World;

/// Whether a case fails with a bug.
async fn is_caught<F>(bug: Bug, case: impl FnOnce(World) -> F) -> bool
where
    F: Future<Output = ()> + Send + 'static,
{
    fails(case(World::with_bugs(Bugs::from_iter([bug])).await)).await
}

/// Whether a case fails with a bug on PostgreSQL.
async fn is_caught_on<F>(server: &Server, bug: Bug, case: impl FnOnce(World) -> F) -> bool
where
    F: Future<Output = ()> + Send + 'static,
{
    fails(case(World::postgres_with_bugs(server, Bugs::from_iter([bug])).await)).await
}

async fn fails(case: impl Future<Output = ()> + Send + 'static) -> bool {
    let mut cases = JoinSet::new();
    cases.spawn(case);
    cases.join_next().await.unwrap().is_err_and(|error| error.is_panic())
}

/// The bugs of earlier designs: two leaders by name, completion without token, sweep against renewal, attempt in the effect key.
#[tokio::test]
async fn bugs_of_earlier_designs_are_caught_on_postgres() {
    let server = Server::start().await;
    let one_name = leaders::processes_with_one_name_do_not_lead_together;
    assert!(is_caught_on(&server, Bug::RenewLeaderByName, one_name).await);
    let late = leases::late_completion_after_a_sweep_is_rejected;
    assert!(is_caught_on(&server, Bug::FinishWithoutFence, late).await);
    let renewed = sweeps::lease_that_is_being_renewed_is_left_alone;
    assert!(is_caught_on(&server, Bug::SweepUnlocked, renewed).await);
    let replayed = effects::effect_is_replayed_to_later_attempts;
    assert!(is_caught_on(&server, Bug::EffectPerLease, replayed).await);
}

#[tokio::test]
async fn completion_without_a_fence_is_caught() {
    assert!(is_caught(Bug::FinishWithoutFence, leases::late_completion_after_a_sweep_is_rejected).await);
}

#[tokio::test]
async fn release_without_a_fence_is_caught() {
    assert!(
        is_caught(Bug::ReleaseWithoutFence, leases::released_task_spends_no_attempt_and_needs_its_fence)
            .await
    );
}

#[tokio::test]
async fn renewal_beyond_the_deadline_is_caught() {
    assert!(is_caught(Bug::RenewBeyondDeadline, sweeps::deadline_ends_a_lease_that_is_renewed).await);
}

#[tokio::test]
async fn sweep_of_a_deposed_leader_is_caught() {
    assert!(is_caught(Bug::SweepWithoutEpoch, sweeps::deposed_leader_sweeps_nothing).await);
}

#[tokio::test]
async fn leadership_by_name_is_caught() {
    assert!(is_caught(Bug::RenewLeaderByName, leaders::processes_with_one_name_do_not_lead_together).await);
    assert!(is_caught(Bug::RenewLeaderByName, leaders::stale_epoch_renews_nothing).await);
}

#[tokio::test]
async fn fire_without_comparing_is_caught() {
    assert!(is_caught(Bug::FireWithoutCompare, schedules::schedule_fires_once_whoever_leads).await);
}

#[tokio::test]
async fn waiting_for_a_failed_optional_dependency_is_caught() {
    assert!(is_caught(Bug::WaitForFailedOptional, trees::optional_dependency_may_fail).await);
}

#[tokio::test]
async fn lease_in_the_effect_key_is_caught() {
    assert!(is_caught(Bug::EffectPerLease, effects::effect_is_replayed_to_later_attempts).await);
}
