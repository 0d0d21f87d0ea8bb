//! Models in which each virtual user starts its next iteration by itself: closed, iterations, paced.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hyperscale_job::StopPhase;
use hyperscale_plan::load::paced::{self, Behind};
use hyperscale_plan::load::{closed, iterations};
use hyperscale_plan::model::Load;
use hyperscale_plan::model::workflow::IterationCount;
use hyperscale_types::Span;
use tokio::task::JoinError;
use tokio::time::{self, Instant};

use super::slots::Slots;
use super::spread::Spread;
use super::{Feed, Vus, finish, unwind};
use crate::core::Core;
use crate::core::vu::{self, Start, VuEnd};

/// How often the number of virtual users follows a ramping curve.
const RAMP_TICK: Duration = Duration::from_millis(10);

/// What the feeds of a core share.
struct Shared {
    /// Virtual users with a slot below this number may start iterations.
    target: Cell<u32>,
    /// Iterations left for this core, if they are counted together.
    left: Cell<Option<u64>>,
    /// Iterations of each virtual user, if they are counted apart.
    per_vu: Option<u64>,
    /// Between the starts of one virtual user.
    interval: Option<Span>,
    /// Iterations of virtual users that nobody wants at the moment, by slot; only kept when they are counted apart.
    retired: RefCell<BTreeMap<u32, u64>>,
}

/// Runs the load to its end.
pub(super) async fn run(core: &Rc<Core>) {
    let shared = Rc::new(Shared::new(core));
    let spread = Spread::planned(core.workflow().vus_max(), core.slice.begin.offset.as_nanos() as u64);
    let mut spawner = Spawner { core, shared: &shared, vus: Vus::new(), slots: Slots::default(), spread };
    let end = core.workflow().planned().map(Span::as_nanos);
    while core.phase.get() == StopPhase::Running {
        core.while_paused().await;
        let now = core.time.load_ns();
        if end.is_some_and(|end| now >= end) {
            break;
        }
        let next = spawner.fill(now);
        if spawner.all_ended() {
            break;
        }
        let wake = [next, end.map(|end| core.time.wall(end))].into_iter().flatten().min();
        let changed = core.changed.notified();
        if core.phase.get() != StopPhase::Running {
            break;
        }
        tokio::select! {
            Some(ended) = spawner.vus.join_next() => spawner.note(ended),
            () = sleep_until(wake) => {}
            () = changed => {}
        }
    }
    core.advance(StopPhase::Finishing);
    finish(core, &mut spawner.vus, core.workflow().timing.graceful_stop).await;
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

impl Shared {
    fn new(core: &Core) -> Self {
        let share = core.slice.share;
        let (left, per_vu, interval) = match &core.workflow().load {
            Load::Iterations { count: IterationCount::Shared(total), .. } => {
                let own = iterations::of_core(IterationCount::Shared(*total), share);
                (Some(own.saturating_sub(core.slice.begin.iterations_done)), None, None)
            }
            Load::Iterations { count: IterationCount::PerVu(each), .. } => (None, Some(*each), None),
            Load::Paced { interval, .. } => (None, None, Some(*interval)),
            Load::Closed { .. } | Load::Open { .. } => (None, None, None),
        };
        Shared { target: Cell::new(0), left: Cell::new(left), per_vu, interval, retired: RefCell::default() }
    }
}

struct Spawner<'a> {
    core: &'a Rc<Core>,
    shared: &'a Rc<Shared>,
    vus: Vus,
    slots: Slots,
    spread: Spread,
}

impl Spawner<'_> {
    /// Sets the target for this moment and spawns who is missing and due. Returns when to look again.
    fn fill(&mut self, now_ns: u64) -> Option<Instant> {
        let workflow = self.core.workflow();
        let share = self.core.slice.share;
        let planned = match &workflow.load {
            Load::Closed { vus } => closed::vus_at(vus, now_ns),
            _ => workflow.vus_max(),
        };
        let changed = self.core.wanted.get().vus;
        self.spread.follow(changed, planned, now_ns);
        let all = changed.unwrap_or(planned);
        let target = closed::share(all, share.core, share.cores);
        self.shared.target.set(target);
        let mut next = self.is_ramping().then(|| Instant::now() + RAMP_TICK);
        while let Some(slot) = self.slots.first_free(target) {
            let global = slot * share.cores + share.core;
            let due_ns = self.spread.due_ns(workflow.timing.ramp, global, workflow.vus_max());
            if due_ns > now_ns {
                let at = self.core.time.wall(due_ns);
                next = Some(next.map_or(at, |next| next.min(at)));
                break; // slots are due in order
            }
            self.spawn(slot);
        }
        next
    }

    fn is_ramping(&self) -> bool {
        match &self.core.workflow().load {
            Load::Closed { vus } => vus.stages.len() > 1 || closed::vus_at(vus, 0) != vus.peak_vus(),
            Load::Iterations { .. } | Load::Paced { .. } | Load::Open { .. } => false,
        }
    }

    fn spawn(&mut self, slot: u32) {
        let lives = self.slots.take(slot);
        let started = self.shared.retired.borrow_mut().remove(&slot).unwrap_or(0);
        let feed = LoopFeed {
            shared: Rc::clone(self.shared),
            slot,
            started,
            began_ns: None,
            behind: Behind::default(),
        };
        let core = Rc::clone(self.core);
        self.vus.spawn_local(async move { (slot, vu::live(core, slot, lives, feed).await) });
    }

    fn note(&mut self, ended: Result<(u32, VuEnd), JoinError>) {
        if let Some((slot, end)) = unwind(ended) {
            let counted = matches!(self.core.workflow().load, Load::Iterations { .. });
            let unwanted = slot >= self.shared.target.get();
            if end == VuEnd::NoStart && (!counted || unwanted) {
                self.slots.free(slot);
            }
        }
    }

    /// Nobody is left and nobody will come.
    fn all_ended(&self) -> bool {
        // Those that nobody wants at the moment are not waited for; without any, somebody may want some again.
        let changed = self.core.wanted.get().vus.map(|_| self.shared.target.get());
        let wanted = changed.unwrap_or_else(|| self.core.slice.share.own_vus());
        self.vus.is_empty() && wanted > 0 && self.slots.first_free(wanted).is_none()
    }
}

/// Starts of one virtual user that loops.
struct LoopFeed {
    shared: Rc<Shared>,
    slot: u32,
    started: u64,
    /// When the last iteration was to begin, on the load clock; only kept when paced.
    began_ns: Option<u64>,
    behind: Behind,
}

impl Feed for LoopFeed {
    async fn next(&mut self, core: &Core) -> Option<Start> {
        if core.time.is_paused() {
            core.while_paused().await;
        }
        if let Some(interval) = self.shared.interval {
            self.wait_for_pace(core, interval).await;
        }
        if core.phase.get() != StopPhase::Running {
            return None;
        }
        if self.slot >= self.shared.target.get() {
            self.retire();
            return None;
        }
        if self.shared.per_vu.is_some_and(|most| self.started >= most) {
            return None;
        }
        if let Some(left) = self.shared.left.get() {
            self.shared.left.set(Some(left.checked_sub(1)?));
        }
        self.started += 1;
        Some(Start::default())
    }

    fn give_back(&mut self, _core: &Core, _start: Start) {
        if let Some(left) = self.shared.left.get() {
            self.shared.left.set(Some(left + 1));
        }
    }
}

impl LoopFeed {
    /// Nobody wants this virtual user at the moment. If it comes back it goes on counting.
    fn retire(&self) {
        if self.shared.per_vu.is_some() {
            self.shared.retired.borrow_mut().insert(self.slot, self.started);
        }
    }

    /// Waits until the next iteration is due by the load clock; ends early when the run does. A timer that fires late
    /// does not move the pace.
    async fn wait_for_pace(&mut self, core: &Core, interval: Span) {
        let now = core.time.load_ns();
        let due = match self.began_ns {
            None => now,
            Some(began) => {
                let due = paced::next_start_ns(began, interval, now);
                let missed = self.behind.slip(due - began, interval);
                core.window.borrow_mut().missed(missed);
                due
            }
        };
        self.began_ns = Some(due);
        loop {
            let changed = core.changed.notified();
            if core.phase.get() != StopPhase::Running || self.slot >= self.shared.target.get() {
                return;
            }
            let is_paused = core.time.is_paused();
            if !is_paused && core.time.load_ns() >= due {
                return;
            }
            tokio::select! {
                () = time::sleep_until(core.time.wall(due)), if !is_paused => {}
                () = changed => {}
            }
        }
    }
}
