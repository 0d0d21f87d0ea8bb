//! Models in which each virtual user starts its next iteration by itself: closed, iterations, paced.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hyperscale_clients::http::Network;
use hyperscale_plan::load::{closed, iterations};
use hyperscale_plan::model::Load;
use hyperscale_plan::model::workflow::IterationCount;
use hyperscale_types::Span;
use tokio::task::JoinError;
use tokio::time;

use super::{Feed, Vus, finish, unwind};
use crate::control::StopPhase;
use crate::core::Core;
use crate::core::vu::{self, Start, VuEnd};

/// How often the number of virtual users follows a ramping curve.
const RAMP_TICK: Duration = Duration::from_millis(10);

/// A virtual user's place on this core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Nobody is there; may be filled.
    Free,
    /// A virtual user lives there.
    Taken,
    /// Its virtual user ended for good.
    Closed,
}

/// What the feeds of a core share.
struct Shared {
    /// Virtual users with a slot below this number may start iterations.
    target: Cell<u32>,
    /// Iterations left for this core, if they are counted together.
    left: Cell<Option<u64>>,
    /// Iterations of each virtual user, if they are counted apart.
    per_vu: Option<u64>,
    /// Between the starts of one virtual user.
    interval: Option<Duration>,
    /// Iterations of virtual users that nobody wants at the moment, by slot; only kept when they are counted apart.
    retired: RefCell<BTreeMap<u32, u64>>,
}

/// When the virtual users begin that were added last, so that not all begin in the same millisecond.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// The override that was last seen.
    seen: Option<u32>,
    /// Virtual users of the workflow before it, and how many it added.
    before: u32,
    added: u32,
    /// When it was seen, on the load clock.
    at_ns: u64,
}

/// Runs the load to its end.
pub(super) async fn run<N: Network>(core: &Rc<Core<N>>) {
    let shared = Rc::new(Shared::new(core));
    let vus_max = core.workflow().vus_max();
    let spread = Spread { seen: None, before: 0, added: vus_max, at_ns: 0 };
    let mut spawner = Spawner { core, shared: &shared, vus: Vus::new(), slots: RefCell::default(), spread };
    let end = core.workflow().planned().map(Span::as_nanos);
    while core.phase.get() == StopPhase::Running {
        core.while_paused().await;
        let now = core.load_time();
        if end.is_some_and(|end| now.as_nanos() as u64 >= end) {
            break;
        }
        let next = spawner.fill(now);
        if spawner.all_ended() {
            break;
        }
        let wake = [next, end.map(|end| core.wall(end))].into_iter().flatten().min();
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
    finish(core, &mut spawner.vus, core.workflow().graceful_stop).await;
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}

impl Shared {
    fn new<N: Network>(core: &Core<N>) -> Self {
        let share = core.segment.share;
        let (left, per_vu, interval) = match &core.workflow().load {
            Load::Iterations { count: IterationCount::Shared(total), .. } => {
                (Some(iterations::of_core(IterationCount::Shared(*total), share)), None, None)
            }
            Load::Iterations { count: IterationCount::PerVu(each), .. } => (None, Some(*each), None),
            Load::Paced { interval, .. } => (None, None, Some(interval.to_duration())),
            Load::Closed { .. } | Load::Open { .. } => (None, None, None),
        };
        Shared { target: Cell::new(0), left: Cell::new(left), per_vu, interval, retired: RefCell::default() }
    }
}

struct Spawner<'a, N: Network> {
    core: &'a Rc<Core<N>>,
    shared: &'a Rc<Shared>,
    vus: Vus,
    slots: RefCell<Vec<Slot>>,
    spread: Spread,
}

impl<N: Network> Spawner<'_, N> {
    /// Sets the target for this moment and spawns who is missing and due. Returns when to look again.
    fn fill(&mut self, now: Duration) -> Option<Instant> {
        let workflow = self.core.workflow();
        let share = self.core.segment.share;
        let now_ns = now.as_nanos() as u64;
        let planned = match &workflow.load {
            Load::Closed { vus } => closed::vus_at(vus, now_ns),
            _ => workflow.vus_max(),
        };
        let changed = self.core.vus_override.get();
        self.spread.follow(changed, planned, now_ns);
        let all = changed.unwrap_or(planned);
        let target = closed::share(all, share.core, share.cores);
        self.shared.target.set(target);
        let mut next = self.is_ramping().then(|| Instant::now() + RAMP_TICK);
        for slot in 0..target {
            if self.slot(slot) != Slot::Free {
                continue;
            }
            let global = slot * share.cores + share.core;
            let due_ns = self.spread.due_ns(workflow.ramp, global, workflow.vus_max());
            if due_ns > now_ns {
                let at = self.core.wall(due_ns);
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

    fn slot(&self, slot: u32) -> Slot {
        let mut slots = self.slots.borrow_mut();
        if slots.len() <= slot as usize {
            slots.resize(slot as usize + 1, Slot::Free);
        }
        slots[slot as usize]
    }

    fn spawn(&mut self, slot: u32) {
        self.slots.borrow_mut()[slot as usize] = Slot::Taken;
        let started = self.shared.retired.borrow_mut().remove(&slot).unwrap_or(0);
        let feed = LoopFeed { shared: Rc::clone(self.shared), slot, started, last: None };
        let core = Rc::clone(self.core);
        self.vus.spawn_local(async move { (slot, vu::live(core, slot, feed).await) });
    }

    fn note(&mut self, ended: Result<(u32, VuEnd), JoinError>) {
        if let Some((slot, end)) = unwind(ended) {
            let counted = matches!(self.core.workflow().load, Load::Iterations { .. });
            let unwanted = slot >= self.shared.target.get();
            let again = end == VuEnd::NoStart && (!counted || unwanted);
            self.slots.borrow_mut()[slot as usize] = if again { Slot::Free } else { Slot::Closed };
        }
    }

    /// Nobody is left and nobody will come.
    fn all_ended(&self) -> bool {
        let slots = self.slots.borrow();
        let closed = |slots: &[Slot]| slots.iter().all(|slot| *slot == Slot::Closed);
        if !self.vus.is_empty() {
            return false;
        }
        if self.core.vus_override.get().is_some() {
            // Those that nobody wants at the moment are not waited for; without any, somebody may want some again.
            let target = self.shared.target.get() as usize;
            return target > 0 && slots.get(..target).is_some_and(closed);
        }
        slots.len() >= self.core.segment.share.own_vus() as usize && closed(&slots)
    }
}

impl Spread {
    /// Notes a new wish for virtual users.
    fn follow(&mut self, wanted: Option<u32>, planned: u32, now_ns: u64) {
        if wanted == self.seen {
            return;
        }
        let before = self.seen.unwrap_or(planned);
        let added = wanted.unwrap_or(planned).saturating_sub(before);
        *self = Spread { seen: wanted, before, added, at_ns: now_ns };
    }

    /// When a virtual user may begin, on the load clock.
    fn due_ns(&self, ramp: Span, global: u32, vus_max: u32) -> u64 {
        if self.seen.is_some() && global >= self.before {
            return self.at_ns + closed::spread(ramp, global - self.before, self.added).as_nanos();
        }
        closed::spread(ramp, global.min(vus_max), vus_max).as_nanos()
    }
}

/// Starts of one virtual user that loops.
struct LoopFeed {
    shared: Rc<Shared>,
    slot: u32,
    started: u64,
    /// Begin of the last iteration; only kept when paced.
    last: Option<Instant>,
}

impl<N: Network> Feed<N> for LoopFeed {
    async fn next(&mut self, core: &Core<N>) -> Option<Start> {
        if core.paused.get() {
            core.while_paused_vu().await;
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

    fn give_back(&mut self, _core: &Core<N>, _start: Start) {
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

    /// Waits until the interval since the last start is over; ends early when the run does.
    async fn wait_for_pace<N: Network>(&mut self, core: &Core<N>, interval: Duration) {
        if let Some(last) = self.last {
            let due = last + interval;
            loop {
                let changed = core.changed.notified();
                if core.phase.get() != StopPhase::Running || self.slot >= self.shared.target.get() {
                    return;
                }
                tokio::select! {
                    () = time::sleep_until(due.into()) => break,
                    () = changed => {}
                }
            }
        }
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn added_virtual_users_begin_spread_over_the_ramp() {
        let ramp = Span::from_secs(1);
        let mut spread = Spread { seen: None, before: 0, added: 4, at_ns: 0 };
        let due_ms = |spread: &Spread, vu| spread.due_ns(ramp, vu, 4) / MS;
        spread.follow(None, 4, 100 * MS);
        assert_eq!([0, 1, 2, 3].map(|vu| due_ms(&spread, vu)), [0, 250, 500, 750], "as planned");
        spread.follow(Some(8), 4, 5_000 * MS);
        assert_eq!(
            [0, 4, 5, 7].map(|vu| due_ms(&spread, vu)),
            [0, 5_000, 5_250, 5_750],
            "from the change on"
        );
        spread.follow(Some(8), 4, 6_000 * MS);
        assert_eq!(due_ms(&spread, 4), 5_000, "the same wish is not a new one");
        spread.follow(Some(2), 4, 7_000 * MS);
        spread.follow(Some(4), 4, 8_000 * MS);
        assert_eq!([1, 2, 3].map(|vu| due_ms(&spread, vu)), [250, 8_000, 8_500], "after fewer");
    }
}
