//! The worker: claims tasks, runs them, renews their leases, reports how they ended.
//!
//! Every call to the store is given a third of a lease. Executors do not depend on this loop for stopping: each ends with its own
//! lease, which only a renewal that was confirmed moves.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::attempt::Attempt;
use super::executor::Context;
use super::{NodeError, Shared};
use crate::domain::{Outcome, Report, Role, TaskId};
use crate::store::{Claim, Claimed, Held, Liveness, StoreError};

/// The first pause between two looks for work; it doubles while there is none.
const POLL_FIRST: Duration = Duration::from_millis(250);

/// Renewals are brought forward to this after a change, because a cancellation may have been requested.
const CANCEL_LOOK: Duration = Duration::from_millis(500);

/// A task that runs here.
struct Running {
    held: Held,
    cancelled: CancellationToken,
    abort: AbortHandle,
    lease_end: watch::Sender<Instant>,
    progress: Arc<AtomicU32>,
    progress_written: u32,
}

struct Worker {
    shared: Arc<Shared>,
    role: watch::Receiver<Role>,
    attempts: JoinSet<Option<Outcome>>,
    running: HashMap<Id, Running>,
    /// Ends that the store has not accepted yet.
    reports: Vec<Report>,
    next_renew: Instant,
    last_renew: Instant,
    next_poll: Instant,
    poll: Duration,
    /// Whether there may be work; without a sign of it one look says when there will be some.
    is_woken: bool,
    /// The liveness session under which leases were confirmed last.
    session: Liveness,
}

/// Runs the worker until it is told to stop and has nothing left.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut role: watch::Receiver<Role>,
    shutdown: CancellationToken,
) -> Result<(), NodeError> {
    let mut changes = shared.store.changes();
    let mut worker = Worker::new(shared, role.clone());
    while !shutdown.is_cancelled() {
        role.mark_unchanged();
        let is_taking = !worker.is_observer() && worker.free() > 0;
        tokio::select! {
            () = shutdown.cancelled() => {}
            Some(ended) = worker.attempts.join_next_with_id() => worker.collect(ended).await,
            () = sleep_until(worker.next_renew) => worker.renew().await,
            Ok(()) = changes.changed() => worker.wake().await,
            _ = role.changed() => {}
            () = sleep_until(worker.next_poll), if is_taking => worker.poll().await,
        }
    }
    worker.drain().await;
    Ok(())
}

impl Worker {
    fn new(shared: Arc<Shared>, role: watch::Receiver<Role>) -> Self {
        let now = Instant::now();
        Self {
            attempts: JoinSet::new(),
            running: HashMap::new(),
            reports: Vec::new(),
            next_renew: now + shared.settings.renew(),
            last_renew: now,
            next_poll: now,
            poll: POLL_FIRST,
            is_woken: true,
            session: shared.store.liveness(),
            shared,
            role,
        }
    }

    fn free(&self) -> usize {
        self.shared.settings.max_parallel.saturating_sub(self.running.len())
    }

    fn is_observer(&self) -> bool {
        *self.role.borrow() == Role::Observer
    }

    /// Gives a call to the store its time.
    async fn within<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        let limit = self.shared.settings.renew();
        match timeout(limit, call).await {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => tracing::warn!(%error, "a call to the database failed"),
            Err(_) => tracing::warn!(?limit, "a call to the database took too long"),
        }
        None
    }

    /// Something changed: there may be work, or a cancel.
    async fn wake(&mut self) {
        if !self.running.is_empty() {
            self.next_renew = self.next_renew.min(self.last_renew + CANCEL_LOOK);
        }
        self.claim_next();
        self.report().await;
    }

    /// There may be work: the next thing to do is a claim.
    fn claim_next(&mut self) {
        (self.is_woken, self.next_poll) = (true, Instant::now());
    }

    /// Claims if there may be work, else looks when there will be some.
    async fn poll(&mut self) {
        if self.is_woken || self.plan_next_poll(false).await {
            self.claim().await;
        }
    }

    /// Claims what there is room for and begins it.
    async fn claim(&mut self) {
        self.next_poll = Instant::now() + self.poll;
        if !self.is_confirmed().await {
            return;
        }
        let wanted = self.free();
        let settings = &self.shared.settings;
        let (node, boot) = (self.shared.profile.clone(), self.shared.boot);
        let claim = Claim { node, boot, limit: wanted, lease: settings.lease };
        let asked = Instant::now();
        let Some(claimed) = self.within(self.shared.store.claim(&claim)).await else { return };
        self.is_woken = false;
        let count = claimed.len();
        self.shared.counters.claims.add(count);
        self.begin(claimed, asked).await;
        if count == wanted {
            self.poll = POLL_FIRST;
            self.claim_next();
        } else {
            self.plan_next_poll(count > 0).await;
        }
    }

    /// With work the pauses begin again; without they grow, up to the next task that will be due. Returns whether one is due now.
    async fn plan_next_poll(&mut self, found: bool) -> bool {
        let longest = self.shared.settings.poll;
        self.poll = if found { POLL_FIRST } else { self.poll * 2 }.min(longest);
        let due = self.within(self.shared.store.next_due(&self.shared.profile)).await.flatten();
        let wait = match due {
            // Due, and not claimed: another one has it locked, or classes have no room. Not asked for without a pause.
            Some(wait) if wait.is_zero() => self.poll,
            Some(wait) => wait.min(longest),
            None => self.poll,
        };
        self.is_woken = due.is_some_and(|due| due <= wait);
        self.next_poll = Instant::now() + wait;
        due == Some(Duration::ZERO)
    }

    /// Whether leases are safe from being taken early: not while the liveness session is lost, and after it was opened again only
    /// once the leases are confirmed.
    async fn is_confirmed(&mut self) -> bool {
        let session = self.shared.store.liveness();
        if session == Liveness::Lost {
            return false;
        }
        if session != self.session {
            self.renew().await;
            self.session = session;
        }
        true
    }

    async fn begin(&mut self, claimed: Vec<Claimed>, asked: Instant) {
        if claimed.is_empty() {
            return;
        }
        // The role may have changed since they were asked for, or the response took so long that their leases may be over.
        if self.is_observer() || Instant::now() >= self.lease_end(asked) {
            let held: Vec<Held> = claimed.iter().map(|claimed| claimed.held).collect();
            // Given back, or swept if that fails too.
            self.within(self.shared.store.release(&held)).await;
            return;
        }
        for claimed in claimed {
            self.spawn(claimed, asked);
        }
    }

    fn spawn(&mut self, claimed: Claimed, asked: Instant) {
        let Some(executor) = self.shared.executors.get(&claimed.executor) else {
            let outcome = Outcome::Failed(format!("node has no executor {}", claimed.executor));
            self.reports.push(Report { task: claimed.held.task, fence: claimed.held.fence, outcome });
            return;
        };
        let (cancelled, progress) = (CancellationToken::new(), Arc::new(AtomicU32::new(0)));
        let (lease_end, end) = watch::channel(self.lease_end(asked));
        let attempt = Attempt {
            executor: executor.clone(),
            inputs: claimed.inputs,
            context: Context {
                store: self.shared.store.clone(),
                held: claimed.held,
                attempt: claimed.attempt,
                dependencies: claimed.dependencies,
                cancelled: cancelled.clone(),
                progress: progress.clone(),
            },
            lease_end: end,
            deadline: claimed.timeout.map(|timeout| asked + timeout),
            grace: self.shared.settings.cancel_grace,
        };
        let abort = self.attempts.spawn(attempt.run());
        let held = claimed.held;
        let id = abort.id();
        self.running.insert(id, Running { held, cancelled, abort, lease_end, progress, progress_written: 0 });
    }

    /// Until when a lease that was asked for then surely lasts: a tenth less than its length.
    fn lease_end(&self, asked: Instant) -> Instant {
        asked + self.shared.settings.lease * 9 / 10
    }

    /// Takes the ends of attempts, as many as there are, and reports them together.
    async fn collect(&mut self, first: Result<(Id, Option<Outcome>), JoinError>) {
        let mut next = Some(first);
        while let Some(ended) = next {
            self.ended(ended);
            next = self.attempts.try_join_next_with_id();
        }
        self.report().await;
        self.claim_next();
    }

    fn ended(&mut self, ended: Result<(Id, Option<Outcome>), JoinError>) {
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, outcome),
            Err(error) if error.is_panic() => {
                (error.id(), Some(Outcome::Failed("the executor panicked".to_owned())))
            }
            Err(error) => (error.id(), None),
        };
        let Some(running) = self.running.remove(&id) else { return };
        match outcome {
            Some(outcome) => {
                self.reports.push(Report { task: running.held.task, fence: running.held.fence, outcome });
            }
            None => self.shared.counters.leases_lost.add(1),
        }
    }

    /// Sends reports. Those that could not be sent are sent again: a repeated report changes nothing.
    async fn report(&mut self) {
        if self.reports.is_empty() {
            return;
        }
        let Some(accepted) = self.within(self.shared.store.finish(self.reports.clone())).await else {
            return;
        };
        let sent = std::mem::take(&mut self.reports);
        let lost = sent.len() - accepted.len();
        self.shared.counters.finished.add(accepted.len());
        self.shared.counters.leases_lost.add(lost);
        self.shared.counters.stale_reports.add(lost);
        if lost > 0 {
            tracing::warn!(lost, "leases were lost before their attempts ended; the results are dropped");
        }
    }

    /// Extends all leases, and learns which are lost and which are to be cancelled.
    async fn renew(&mut self) {
        let asked = Instant::now();
        self.last_renew = asked;
        self.next_renew = asked + self.shared.settings.renew();
        self.report().await;
        if self.running.is_empty() {
            return;
        }
        let held: Vec<Held> = self.running.values().map(|running| running.held).collect();
        let lease = self.shared.settings.lease;
        let Some(renewed) = self.within(self.shared.store.renew(&held, lease)).await else {
            self.next_renew = asked + self.shared.settings.renew() / 4;
            return;
        };
        self.shared.counters.renewals.add(renewed.len());
        let renewed: HashMap<TaskId, bool> =
            renewed.iter().map(|renewed| (renewed.task, renewed.cancel)).collect();
        let end = self.lease_end(asked);
        for running in self.running.values() {
            match renewed.get(&running.held.task) {
                Some(cancel) => {
                    running.lease_end.send_replace(end);
                    if *cancel {
                        running.cancelled.cancel();
                    }
                }
                None => running.abort.abort(),
            }
        }
        self.write_progress().await;
    }

    async fn write_progress(&mut self) {
        let mut moved = Vec::new();
        for running in self.running.values_mut() {
            let progress = running.progress.load(Ordering::Relaxed);
            if progress != running.progress_written {
                running.progress_written = progress;
                moved.push((running.held, f32::from_bits(progress)));
            }
        }
        for (held, part) in moved {
            self.within(self.shared.store.progress(held, part)).await;
        }
    }

    /// Lets what runs finish within the grace, and gives the rest back without spending an attempt.
    async fn drain(&mut self) {
        let end = Instant::now() + self.shared.settings.cancel_grace;
        while !self.running.is_empty() && Instant::now() < end {
            tokio::select! {
                Some(ended) = self.attempts.join_next_with_id() => self.collect(ended).await,
                () = sleep_until(self.next_renew) => self.renew().await,
                () = sleep_until(end) => {}
            }
        }
        self.attempts.shutdown().await;
        let held: Vec<Held> = self.running.drain().map(|(_, running)| running.held).collect();
        if !held.is_empty() {
            self.within(self.shared.store.release(&held)).await;
        }
        self.report().await;
    }
}
