//! Election: followers become candidates when there is no leader; a leader renews, and stops its duties before its own
//! monotonic deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::duties::Duties;
use super::{NodeError, Shared};
use crate::domain::{BootId, Role};
use crate::store::{Candidate, Leadership, StoreError};

/// How often a follower looks whether the leader is still there.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Shortest pause between such looks.
const LOOK_SOONEST: Duration = Duration::from_millis(250);

/// Duties that fail so often one after the other make a leader resign: another one may be able to do them.
const FAILURES_MAX: u32 = 3;

/// Runs until it is told to stop; gives the leadership back then.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut role: watch::Receiver<Role>,
    shutdown: CancellationToken,
) -> Result<(), NodeError> {
    let patience = shared.settings.leader_lease + shared.settings.leader_lease / 3;
    let mut must_lead_by = Instant::now() + patience;
    while !shutdown.is_cancelled() {
        let current = *role.borrow_and_update();
        if matches!(current, Role::Worker | Role::Observer) {
            tokio::select! {
                _ = role.changed() => must_lead_by = Instant::now() + patience,
                () = shutdown.cancelled() => {}
            }
            continue;
        }
        if let Some((leadership, asked)) = campaign(&shared).await {
            lead(&shared, leadership, asked, &mut role, &shutdown).await;
            must_lead_by = Instant::now() + patience;
            continue;
        }
        if current == Role::Leader && Instant::now() >= must_lead_by {
            return Err(NodeError::NotLeader(patience));
        }
        follow(&shared, &mut role, &shutdown).await;
    }
    Ok(())
}

/// Tries to lead, over the row of a dead leader too.
async fn campaign(shared: &Shared) -> Option<(Leadership, Instant)> {
    let asked = Instant::now();
    let acquired = timeout(shared.settings.leader_renew, try_acquire(shared)).await;
    match acquired {
        Ok(Ok(leadership)) => leadership.map(|leadership| (leadership, asked)),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the election could not be held");
            None
        }
        Err(_) => None,
    }
}

async fn try_acquire(shared: &Shared) -> Result<Option<Leadership>, StoreError> {
    let dead = dead_leader(shared).await?;
    let (node, boot, lease) = (shared.profile.name.clone(), shared.boot, shared.settings.leader_lease);
    shared.store.acquire_leadership(&Candidate { node, boot, lease, dead }).await
}

/// The leader's process, if its liveness lock is free.
async fn dead_leader(shared: &Shared) -> Result<Option<BootId>, StoreError> {
    let Some(leader) = shared.store.leader().await?.filter(|leader| leader.is_current) else {
        return Ok(None);
    };
    Ok(shared.store.dead_boots(&[leader.boot]).await?.pop())
}

/// Waits for a third of a lease, or until the leader is seen to be gone.
async fn follow(shared: &Shared, role: &mut watch::Receiver<Role>, shutdown: &CancellationToken) {
    let third = shared.settings.leader_lease / 3;
    let end = Instant::now() + third.mul_f64(0.75 + 0.5 * jitter(shared));
    let mut changes = shared.store.changes();
    loop {
        let look = (Instant::now() + LOOK_EVERY).min(end);
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = role.changed() => return,
            // The leader may have resigned. Most changes are new work, so the look is delayed to limit queries.
            Ok(()) = changes.changed() => sleep(LOOK_SOONEST).await,
            () = sleep_until(look) => {}
        }
        if Instant::now() >= end || is_leader_gone(shared).await.unwrap_or(false) {
            return;
        }
    }
}

/// Whether the leadership is over, or its holder is dead.
async fn is_leader_gone(shared: &Shared) -> Result<bool, StoreError> {
    match shared.store.leader().await? {
        Some(leader) if leader.is_current => Ok(!shared.store.dead_boots(&[leader.boot]).await?.is_empty()),
        _ => Ok(true),
    }
}

/// Differs from node to node, so that candidates do not collide.
fn jitter(shared: &Shared) -> f64 {
    let (_, seed) = shared.boot.0.as_u64_pair();
    fastrand::Rng::with_seed(seed).f64()
}

/// Leads until the leadership is lost, given up or not renewed in time.
async fn lead(
    shared: &Arc<Shared>,
    leadership: Leadership,
    asked: Instant,
    role: &mut watch::Receiver<Role>,
    shutdown: &CancellationToken,
) {
    tracing::info!(epoch = leadership.epoch.0, "leads");
    shared.leads.send_replace(Some(leadership.epoch));
    let mut duties = Duties::new(shared.clone(), leadership.clone());
    let mut changes = shared.store.changes();
    let (mut trusted_until, mut next_renew) = (trust(shared, asked), asked + shared.settings.leader_renew);
    let mut failures = 0;
    let resigned = loop {
        tokio::select! {
            () = shutdown.cancelled() => break true,
            _ = role.changed() => if matches!(*role.borrow_and_update(), Role::Worker | Role::Observer) { break true },
            // Before its own clock says that the lease may be over.
            () = sleep_until(trusted_until) => break false,
            () = sleep_until(next_renew) => {
                let asked = Instant::now();
                next_renew = asked + shared.settings.leader_renew;
                let renewal = shared.store.renew_leadership(&leadership, shared.settings.leader_lease);
                match timeout(shared.settings.leader_renew, renewal).await {
                    Ok(Ok(true)) => trusted_until = trust(shared, asked),
                    Ok(Ok(false)) => break false,
                    Ok(Err(_)) | Err(_) => next_renew = Instant::now() + shared.settings.leader_renew / 4,
                }
            }
            Ok(()) = changes.changed() => duties.wake(),
            () = sleep_until(duties.next()) => match timeout(shared.settings.leader_renew, duties.run()).await {
                Ok(Ok(())) => failures = 0,
                Ok(Err(StoreError::StaleEpoch(_))) => break false,
                failed => {
                    failures += 1;
                    tracing::warn!(?failed, failures, "a duty of the leader failed");
                    if failures >= FAILURES_MAX {
                        break true;
                    }
                }
            },
        }
    };
    shared.leads.send_replace(None);
    tracing::info!(epoch = leadership.epoch.0, resigned, "leads no more");
    if resigned && let Err(error) = shared.store.release_leadership(&leadership).await {
        tracing::warn!(%error, "the leadership was not given back; others wait for its end");
    }
}

/// Until when a leadership that was asked for then surely lasts.
fn trust(shared: &Shared, asked: Instant) -> Instant {
    asked + shared.settings.leader_lease * 9 / 10
}
