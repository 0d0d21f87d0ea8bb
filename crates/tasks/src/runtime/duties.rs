//! What the leader alone does: sweeps, states of nodes, schedules, retention. Every statement checks again that it leads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Shared;
use crate::domain::{BootId, NodeAges, Schedule, Timestamp};
use crate::store::{Fire, Leadership, Retention, StoreError, Sweep};

/// Leases that are taken in one transaction: it holds up a change of leader while it runs.
const SWEEP_PAGE: usize = 200;

/// How often processes whose liveness lock is free are looked for; dead is who is among them twice.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Shortest pause between looks at the schedules.
const SCHEDULES_SOONEST: Duration = Duration::from_millis(200);

/// How often and how much is put away.
const RETAIN_EVERY: Duration = Duration::from_mins(10);
const RETAIN_LIMIT: usize = 500;

/// The duties of one leadership, and when each is due.
pub(super) struct Duties {
    shared: Arc<Shared>,
    leadership: Leadership,
    next_sweep: Instant,
    next_look: Instant,
    next_nodes: Instant,
    next_schedules: Instant,
    schedules_read: Instant,
    next_retention: Instant,
    /// Processes whose lock was free in the last look.
    suspects: BTreeSet<BootId>,
}

impl Duties {
    pub(super) fn new(shared: Arc<Shared>, leadership: Leadership) -> Self {
        let now = Instant::now();
        Self {
            shared,
            leadership,
            next_sweep: now,
            next_look: now,
            next_nodes: now,
            next_schedules: now,
            schedules_read: now,
            next_retention: now + RETAIN_EVERY,
            suspects: BTreeSet::new(),
        }
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Instant {
        let others = [self.next_look, self.next_nodes, self.next_schedules, self.next_retention];
        others.into_iter().fold(self.next_sweep, Instant::min)
    }

    /// Something changed: a schedule may be new.
    pub(super) fn wake(&mut self) {
        self.next_schedules = self.next_schedules.min(self.schedules_read + SCHEDULES_SOONEST);
    }

    /// Does what is due.
    pub(super) async fn run(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        let settings = self.shared.settings;
        if self.next_sweep <= now {
            self.next_sweep = now + settings.cleanup;
            self.sweep(Vec::new()).await?;
        }
        if self.next_look <= now {
            self.next_look = now + LOOK_EVERY;
            self.look().await?;
        }
        if self.next_schedules <= now {
            (self.next_schedules, self.schedules_read) = (now + settings.poll, now);
            self.fire_schedules().await?;
        }
        if self.next_nodes <= now {
            self.next_nodes = now + settings.heartbeat;
            let ages = NodeAges { stale: settings.node_stale, dead: settings.node_dead };
            self.shared.store.mark_nodes(&self.leadership, ages).await?;
        }
        if self.next_retention <= now {
            self.next_retention = now + RETAIN_EVERY;
            let (tasks, events) = (settings.task_retention, settings.event_retention);
            let retention = Retention { tasks, events, limit: RETAIN_LIMIT };
            self.shared.store.retain(&self.leadership, retention).await?;
        }
        Ok(())
    }

    async fn sweep(&self, dead: Vec<BootId>) -> Result<(), StoreError> {
        sweep(&self.shared, &self.leadership, dead).await.map(drop)
    }

    /// Takes the leases of processes whose lock was free in two looks.
    async fn look(&mut self) -> Result<(), StoreError> {
        let mut others = self.shared.store.holders().await?;
        others.retain(|boot| *boot != self.shared.boot);
        let free: BTreeSet<BootId> = if others.is_empty() {
            BTreeSet::new()
        } else {
            self.shared.store.dead_boots(&others).await?.into_iter().collect()
        };
        let dead: Vec<BootId> = free.intersection(&self.suspects).copied().collect();
        self.suspects = free;
        if dead.is_empty() { Ok(()) } else { self.sweep(dead).await }
    }

    async fn fire_schedules(&mut self) -> Result<(), StoreError> {
        let schedules = self.shared.store.schedules().await?;
        if schedules.is_empty() {
            return Ok(());
        }
        let now = self.shared.store.now().await?;
        for schedule in schedules.into_iter().filter(|schedule| !schedule.paused) {
            let Some(due) = schedule.next_run_at else { continue };
            if due > now {
                self.next_schedules = self.next_schedules.min(Instant::now() + due.since(now));
            } else if let Err(error) = self.fire(&schedule, due, now).await {
                // One that cannot fire must not keep the others from it.
                if matches!(error, StoreError::StaleEpoch(_)) {
                    return Err(error);
                }
                tracing::warn!(%error, schedule = schedule.spec.name, "a schedule did not fire");
            } else {
                self.next_schedules = Instant::now();
            }
        }
        Ok(())
    }

    async fn fire(&self, schedule: &Schedule, due: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        let fires = schedule.spec.trigger.fires(due, now, schedule.spec.missed)?;
        let mut runs = Vec::new();
        for time in fires.at {
            let mut spec = schedule.spec.tree.clone();
            spec.idempotency_key = None;
            let tree = self.shared.executors.prepare(spec);
            runs.push((time, tree.map_err(|error| StoreError::Corrupt(error.to_string()))?));
        }
        let count = runs.len();
        let fire = Fire { schedule: schedule.id, due, runs, next: fires.next };
        if self.shared.store.fire(&self.leadership, fire).await? {
            self.shared.counters.fires.add(count);
        }
        Ok(())
    }
}

/// Takes leases that are over, page by page, and those of processes that are dead. Returns how many.
pub(super) async fn sweep(
    shared: &Shared,
    leadership: &Leadership,
    dead: Vec<BootId>,
) -> Result<usize, StoreError> {
    let max_crashes = shared.settings.max_crashes;
    let mut page = Sweep { max_crashes, dead, after: None, limit: SWEEP_PAGE };
    let mut count = 0;
    shared.counters.sweeps.add(1);
    loop {
        let swept = shared.store.sweep(leadership, &page).await?;
        if !swept.tasks.is_empty() {
            tracing::info!(tasks = swept.tasks.len(), "took leases that were over");
        }
        count += swept.tasks.len();
        shared.counters.swept.add(swept.tasks.len());
        match swept.next {
            Some(next) => page.after = Some(next),
            None => return Ok(count),
        }
    }
}
