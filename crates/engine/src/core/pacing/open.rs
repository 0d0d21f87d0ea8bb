//! The open model: iterations start when the curve says so, whether or not earlier ones have finished.
//!
//! ```text
//! arrivals ──due──► idle VU? ──► it starts
//!                     │no
//!                     ├─ fewer than max_vus? ──► a new VU starts
//!                     └─ queue (late: queue) or dropped (late: drop, queue full)
//! ```
//! Every start carries its intended time. `scheduled = started + dropped` at the end, always.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use hyperscale_clients::clock::Anchor;
use hyperscale_job::StopPhase;
use hyperscale_job::segment::RateChange;
use hyperscale_plan::load::Arrivals;
use hyperscale_plan::model::Load;
use hyperscale_plan::model::workflow::Late;
use hyperscale_types::{Now, limits};

use super::{Feed, Vus, finish, unwind};
use crate::core::Core;
use crate::core::seed::Stream;
use crate::core::ticker::Ticker;
use crate::core::vu::{self, Start};

/// Starts are released at most this often: often enough for a lag of a fraction of a millisecond, seldom enough that
/// waking up does not eat the core at high rates.
const TICK: Duration = Duration::from_micros(100);

/// Starts released at once. A core that is far behind has as many due as it likes; between two lots its virtual users
/// and whoever wants to stop it have their turn.
const LOT: usize = 1_024;

/// What the virtual users of a core share.
#[derive(Default)]
struct Shared {
    /// Virtual users without work, newest last.
    idle: RefCell<Vec<Rc<Post>>>,
    /// Intended times of starts that found no free virtual user.
    queue: RefCell<Queue>,
    /// No further start will become due.
    over: Cell<bool>,
}

/// Starts that wait for a free virtual user, oldest first.
struct Queue {
    intended: VecDeque<Now>,
    max: usize,
}

impl Queue {
    /// Whether there was room for one more.
    fn push(&mut self, intended: Now) -> bool {
        let fits = self.intended.len() < self.max;
        if fits {
            self.intended.push_back(intended);
        }
        fits
    }
}

impl Default for Queue {
    fn default() -> Self {
        Queue { intended: VecDeque::new(), max: limits::QUEUED_STARTS_MAX }
    }
}

/// Where an idle virtual user waits for its next start.
#[derive(Default)]
struct Post {
    start: Cell<Option<Start>>,
    waker: RefCell<Option<Waker>>,
}

/// Runs the load to its end.
pub(super) async fn run(core: &Rc<Core>) -> io::Result<()> {
    let Load::Open { rate, arrivals, late, .. } = &core.workflow().load else { return Ok(()) };
    let share = core.slice.share;
    let mut pacer = Pacer {
        core,
        shared: Rc::default(),
        vus: Vus::new(),
        spawned: 0,
        vus_max: share.own_vus(),
        late: *late,
    };
    let mut starts = Arrivals::new(rate.clone(), arrivals.clone(), share, core.slice.seed(Stream::Arrivals));
    starts.begin_at(ns(core.slice.begin.offset));
    let mut changed_rate: Option<RateChange> = None;
    let ticker = Ticker::new()?;
    let mut next = starts.next();
    let length = rate.length().as_nanos();
    loop {
        core.while_paused().await;
        if core.phase.get() != StopPhase::Running {
            break;
        }
        let now = core.time.load_ns();
        let wanted_rate = core.wanted.get().rate.filter(|change| Some(*change) != changed_rate);
        if let Some(change) = wanted_rate.filter(|change| ns(change.from) <= now) {
            changed_rate = Some(change);
            starts.rescale(now, change.rate.as_per_second());
            next = starts.next();
        }
        if next.is_some_and(|due| due <= now) {
            pacer.release_due(&mut next, &mut starts, now);
            if next.is_some_and(|due| due <= now) {
                tokio::task::yield_now().await;
            }
            continue;
        }
        // The load lasts as long as its curve, not until its last start.
        if now >= length {
            break;
        }
        pacer.reap();
        let due = next.unwrap_or(length).min(wanted_rate.map_or(u64::MAX, |change| ns(change.from)));
        let wake = core.time.wall(due).into_std().max(Instant::now() + TICK);
        let changed = core.changed.notified();
        tokio::select! {
            fired = ticker.until(wake) => fired?,
            () = changed => {}
        }
    }
    pacer.end().await;
    Ok(())
}

fn ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

struct Pacer<'a> {
    core: &'a Rc<Core>,
    shared: Rc<Shared>,
    vus: Vus,
    spawned: u32,
    vus_max: u32,
    late: Late,
}

impl Pacer<'_> {
    /// Releases what is due, at most a lot.
    fn release_due(&mut self, next: &mut Option<u64>, starts: &mut Arrivals, now: u64) {
        if next.is_none_or(|due| due > now) {
            return;
        }
        let anchor = Anchor::new();
        for _ in 0..LOT {
            let Some(due) = next.filter(|due| *due <= now) else { return };
            self.release(anchor.at(self.core.time.wall(due).into_std()));
            *next = starts.next();
        }
    }

    /// A start is due.
    fn release(&mut self, intended: Now) {
        self.core.window.borrow_mut().scheduled(1);
        let start = Start { intended: Some(intended), queued: false };
        if let Some(post) = self.shared.idle.borrow_mut().pop() {
            post.start.set(Some(start));
            if let Some(waker) = post.waker.borrow_mut().take() {
                waker.wake();
            }
        } else if self.spawned < self.vus_max {
            self.spawn(start);
        } else {
            self.wait_or_drop(intended);
        }
    }

    /// No virtual user is free: the start is late, whatever becomes of it.
    fn wait_or_drop(&mut self, intended: Now) {
        self.core.window.borrow_mut().late(1);
        if self.late == Late::Drop || !self.shared.queue.borrow_mut().push(intended) {
            self.core.window.borrow_mut().dropped(1);
        }
    }

    fn spawn(&mut self, start: Start) {
        let slot = self.spawned;
        self.spawned += 1;
        let post = Rc::new(Post { start: Cell::new(Some(start)), waker: RefCell::default() });
        let feed = OpenFeed { shared: Rc::clone(&self.shared), post };
        let core = Rc::clone(self.core);
        self.vus.spawn_local(async move { (slot, vu::live(core, slot, 0, feed).await) });
    }

    /// Forgets virtual users that ended early.
    fn reap(&mut self) {
        while let Some(ended) = self.vus.try_join_next() {
            let _ = unwind(ended);
        }
    }

    /// No further start becomes due. Queued ones may still begin within `graceful_stop`, unless the run was stopped
    /// from outside.
    async fn end(mut self) {
        self.shared.over.set(true);
        self.wake_idle();
        if self.core.phase.get() != StopPhase::Running {
            self.drop_queue();
        }
        finish(self.core, &mut self.vus, self.core.workflow().timing.graceful_stop).await;
        self.drop_queue();
    }

    fn wake_idle(&self) {
        for post in self.shared.idle.take() {
            if let Some(waker) = post.waker.borrow_mut().take() {
                waker.wake();
            }
        }
    }

    fn drop_queue(&self) {
        let dropped = self.shared.queue.take().intended.len();
        self.core.window.borrow_mut().dropped(dropped as u64);
    }
}

/// Starts of one virtual user of an open model.
struct OpenFeed {
    shared: Rc<Shared>,
    post: Rc<Post>,
}

impl Feed for OpenFeed {
    async fn next(&mut self, core: &Core) -> Option<Start> {
        if let Some(start) = self.post.start.take() {
            return admit(core, start);
        }
        if core.time.is_paused() {
            core.while_paused().await;
        }
        if core.phase.get() != StopPhase::Running {
            return None;
        }
        if let Some(intended) = self.shared.queue.borrow_mut().intended.pop_front() {
            return Some(Start { intended: Some(intended), queued: true });
        }
        if self.shared.over.get() {
            return None;
        }
        self.shared.idle.borrow_mut().push(Rc::clone(&self.post));
        let start = self.wait().await?;
        admit(core, start)
    }

    fn give_back(&mut self, core: &Core, _start: Start) {
        core.window.borrow_mut().dropped(1);
    }
}

impl OpenFeed {
    /// Waits for a start, or for the end of all starts.
    async fn wait(&self) -> Option<Start> {
        poll_fn(|context| {
            if let Some(start) = self.post.start.take() {
                return Poll::Ready(Some(start));
            }
            if self.shared.over.get() {
                return Poll::Ready(None);
            }
            *self.post.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// A start that was handed over just before the run was stopped does not begin any more.
fn admit(core: &Core, start: Start) -> Option<Start> {
    if core.phase.get() == StopPhase::Running {
        return Some(start);
    }
    core.window.borrow_mut().dropped(1);
    None
}

impl Drop for OpenFeed {
    /// Nothing may be lost: a start handed to a virtual user that was cut off before it took it goes to the queue,
    /// where it is dropped and counted at the end.
    fn drop(&mut self) {
        if let Some(Start { intended: Some(intended), .. }) = self.post.start.take() {
            self.shared.queue.borrow_mut().intended.push_back(intended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_starts_up_to_its_limit() {
        let mut queue = Queue { max: 2, ..Queue::default() };
        assert_eq!([1, 2, 3].map(|ns| queue.push(Now(ns))), [true, true, false]);
        assert_eq!(queue.intended.pop_front(), Some(Now(1)), "the oldest first");
        assert!(queue.push(Now(4)), "there is room again");
        assert_eq!(Queue::default().max, 1_000_000);
    }
}
