//! Election: followers become candidates when there is no leader; a leader renews, and stops its duties before its own
//! monotonic deadline.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::duties::Duties;
use super::{NodeError, Shared};
use crate::domain::{BootId, Role};
use crate::store::{Candidate, Leadership, StoreError};

/// Shortest pause between looks whether the leader is still there.
const LOOK_SOONEST: Duration = Duration::from_millis(250);

/// Pause between looks at a leader that has not renewed its lease since the last one.
const LOOK_CLOSELY: Duration = Duration::from_secs(1);

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
        let end = (current == Role::Leader).then_some(must_lead_by);
        tokio::select! {
            () = follow(&shared, &mut role, &shutdown) => {}
            () = past(end) => {}
        }
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

/// Leads if nobody does. A look is enough to see that somebody does.
async fn try_acquire(shared: &Shared) -> Result<Option<Leadership>, StoreError> {
    let dead = match vacancy(shared).await? {
        Vacancy::Taken(_) => return Ok(None),
        Vacancy::Free => None,
        Vacancy::Dead(boot) => Some(boot),
    };
    let (node, boot, lease) = (shared.profile.name.clone(), shared.boot, shared.settings.leader_lease);
    shared.store.acquire_leadership(&Candidate { node, boot, lease, dead }).await
}

/// How the leader's row looks to a candidate.
enum Vacancy {
    /// This process leads.
    Taken(BootId),
    /// Nobody does, or the lease is over.
    Free,
    /// This process does, and its liveness lock is free.
    Dead(BootId),
}

async fn vacancy(shared: &Shared) -> Result<Vacancy, StoreError> {
    let Some(leader) = shared.store.leader().await?.filter(|leader| leader.is_current) else {
        return Ok(Vacancy::Free);
    };
    let is_dead = !shared.store.dead_boots(&[leader.boot]).await?.is_empty();
    Ok(if is_dead { Vacancy::Dead(leader.boot) } else { Vacancy::Taken(leader.boot) })
}

/// Waits until the leader may be gone: its lock is free, it has resigned, or its lease was not renewed.
async fn follow(shared: &Shared, role: &mut watch::Receiver<Role>, shutdown: &CancellationToken) {
    let Ok(Vacancy::Taken(leader)) = vacancy(shared).await else {
        // Gone, or the database is: not asked again without a pause.
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = sleep(LOOK_SOONEST) => {}
        }
        return;
    };
    let third = (shared.settings.leader_lease / 3).mul_f64(0.75 + 0.5 * jitter(shared));
    let (mut pause, mut seen_until) = (third, None);
    let mut changes = shared.store.changes();
    let mut gone = pin!(shared.store.until_gone(leader));
    let mut is_watched = true;
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = role.changed() => return,
            seen = &mut gone, if is_watched => match seen {
                Ok(()) => return,
                // Looks must do.
                Err(error) => {
                    tracing::debug!(%error, "the leader cannot be watched");
                    is_watched = false;
                }
            },
            // The leader may have resigned. Most changes are new work, so the look is delayed to limit queries.
            Ok(()) = changes.changed() => sleep(LOOK_SOONEST).await,
            () = sleep(pause) => {}
        }
        match shared.store.leader().await {
            Ok(Some(row)) if row.is_current && row.boot == leader => {
                // One that has not renewed since the last look may not do so before its lease is over.
                pause = if seen_until == Some(row.expires_at) { LOOK_CLOSELY } else { third };
                seen_until = Some(row.expires_at);
            }
            _ => return,
        }
    }
}

async fn past(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
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
