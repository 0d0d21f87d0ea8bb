//! What the leader alone does: sweeps, states of nodes, schedules, retention, maintenance. Every statement checks again that it leads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Shared;
use crate::domain::{BootId, NodeAges, Schedule, Timestamp};
use crate::store::{Fire, Leadership, Retention, StoreError, Sweep};

/// Leases that are taken in one transaction: it holds up a change of leader while it runs.
const SWEEP_PAGE: usize = 200;

/// How often processes whose liveness lock is free are looked for while others hold leases, and while none does.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOK_IDLE_EVERY: Duration = Duration::from_secs(5);

/// How long after a change others are taken to hold leases: what failed is tried again after a pause, which nobody announces.
const ALERT_FOR: Duration = Duration::from_secs(10);

/// Dead is whose lock was free in looks so far apart, and in all between them.
const GONE_FOR: Duration = Duration::from_secs(1);

/// Shortest pause between looks at the schedules.
const SCHEDULES_SOONEST: Duration = Duration::from_millis(200);

/// How often and how much is put away; how soon the rest follows if that was not all.
const RETAIN_EVERY: Duration = Duration::from_mins(10);
const RETAIN_LIMIT: usize = 500;
const RETAIN_REST_AFTER: Duration = Duration::from_secs(1);

/// How often the database is kept in shape: bounds the changes of counts that a look at them adds up.
const MAINTAIN_EVERY: Duration = Duration::from_secs(30);

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
    next_maintenance: Instant,
    /// Processes whose lock was free in the last look, and since when it was in all of them.
    suspects: BTreeMap<BootId, Instant>,
    /// When something changed last.
    last_change: Instant,
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
            next_maintenance: now,
            suspects: BTreeMap::new(),
            last_change: now,
        }
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Instant {
        let others = [
            self.next_look,
            self.next_nodes,
            self.next_schedules,
            self.next_retention,
            self.next_maintenance,
        ];
        others.into_iter().fold(self.next_sweep, Instant::min)
    }

    /// Something changed: a schedule may be new, and others may hold leases.
    pub(super) fn wake(&mut self) {
        self.last_change = Instant::now();
        self.next_look = self.next_look.min(self.last_change + LOOK_EVERY);
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
            self.look(now).await?;
        }
        if self.next_schedules <= now {
            // Changes are announced; this is for who hears nothing.
            (self.next_schedules, self.schedules_read) = (now + settings.poll * 2, now);
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
            if self.shared.store.retain(&self.leadership, retention).await?.has_more {
                self.next_retention = now + RETAIN_REST_AFTER;
            }
        }
        if self.next_maintenance <= now {
            self.next_maintenance = now + MAINTAIN_EVERY;
            self.shared.store.maintain(&self.leadership).await?;
        }
        Ok(())
    }

    async fn sweep(&self, dead: Vec<BootId>) -> Result<(), StoreError> {
        sweep(&self.shared, &self.leadership, dead).await.map(drop)
    }

    /// Takes the leases of processes whose lock stays free.
    async fn look(&mut self, now: Instant) -> Result<(), StoreError> {
        let holders = self.shared.store.other_holders(self.shared.boot).await?;
        let is_quiet = holders.is_empty() && now.duration_since(self.last_change) >= ALERT_FOR;
        self.next_look = now + if is_quiet { LOOK_IDLE_EVERY } else { LOOK_EVERY };
        let gone = |boot: &BootId| holders.iter().any(|holder| holder.boot == *boot && holder.is_gone);
        self.suspects.retain(|boot, _| gone(boot));
        for holder in holders.iter().filter(|holder| holder.is_gone) {
            self.suspects.entry(holder.boot).or_insert(now);
        }
        let is_dead = |since: &Instant| now.duration_since(*since) >= GONE_FOR;
        let dead: Vec<BootId> =
            self.suspects.iter().filter(|(_, since)| is_dead(since)).map(|(boot, _)| *boot).collect();
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
