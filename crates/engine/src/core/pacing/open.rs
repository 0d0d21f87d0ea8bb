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
    /// Starts that found no free virtual user.
    queue: RefCell<Queue>,
    /// No further start will become due.
    over: Cell<bool>,
}

/// A start that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    /// On the load clock, which stands still while the load is paused.
    load_ns: u64,
    /// The same on the clock of calls, unless there was a pause since.
    intended: Now,
    /// Pauses before it became due.
    pauses: u32,
}

impl Due {
    /// Its start. A pause since it became due is nobody's delay.
    fn start(self, core: &Core, queued: bool) -> Start {
        let intended = if self.pauses == core.time.pauses() {
            self.intended
        } else {
            Anchor::new().at(core.time.wall(self.load_ns).into_std())
        };
        Start { intended: Some(intended), queued }
    }
}

/// Starts that wait for a free virtual user, oldest first.
struct Queue {
    due: VecDeque<Due>,
    max: usize,
}

impl Queue {
    /// Whether there was room for one more.
    fn push(&mut self, due: Due) -> bool {
        let fits = self.due.len() < self.max;
        if fits {
            self.due.push_back(due);
        }
        fits
    }
}

impl Default for Queue {
    fn default() -> Self {
        Queue { due: VecDeque::new(), max: limits::QUEUED_STARTS_MAX }
    }
}

/// Where an idle virtual user waits for its next start.
#[derive(Default)]
struct Post {
    start: Cell<Option<Due>>,
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
    let mut starts = Arrivals::new(rate, arrivals.clone(), share, core.slice.seed(Stream::Arrivals));
    let begin = ns(core.slice.begin.offset);
    // An attempt that takes over begins with the rate that holds then.
    let mut changed_rate = core.wanted.get().rate.filter(|change| ns(change.from) <= begin);
    if let Some(change) = changed_rate {
        rescale(&mut starts, change);
    }
    starts.begin_at(begin);
    let ticker = Ticker::new()?;
    let length = rate.length().as_nanos();
    loop {
        core.while_paused().await;
        if core.phase.get() != StopPhase::Running {
            break;
        }
        let now = core.time.load_ns();
        let change = core.wanted.get().rate.filter(|change| Some(*change) != changed_rate);
        let changes_at = change.map_or(u64::MAX, |change| ns(change.from));
        // What was due before a change is due at the old rate.
        let until = now.min(changes_at.saturating_sub(1));
        if starts.peek().is_some_and(|due| due <= until) {
            pacer.release_due(&mut starts, until);
            if starts.peek().is_some_and(|due| due <= until) {
                tokio::task::yield_now().await;
            }
            continue;
        }
        if let Some(change) = change.filter(|_| changes_at <= now) {
            changed_rate = Some(change);
            rescale(&mut starts, change);
            continue;
        }
        // The load lasts as long as its curve, not until its last start.
        if now >= length {
            break;
        }
        pacer.reap();
        let due = starts.peek().unwrap_or(length).min(changes_at);
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

fn rescale(starts: &mut Arrivals, change: RateChange) {
    starts.rescale(ns(change.from), change.rate.as_per_second(), change.before);
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
    fn release_due(&mut self, starts: &mut Arrivals, until: u64) {
        let (anchor, pauses) = (Anchor::new(), self.core.time.pauses());
        for _ in 0..LOT {
            let Some(load_ns) = starts.peek().filter(|due| *due <= until) else { return };
            starts.next();
            let intended = anchor.at(self.core.time.wall(load_ns).into_std());
            self.release(Due { load_ns, intended, pauses });
        }
    }

    /// A start is due.
    fn release(&mut self, due: Due) {
        self.core.window.borrow_mut().scheduled(1);
        if let Some(post) = self.shared.idle.borrow_mut().pop() {
            post.start.set(Some(due));
            if let Some(waker) = post.waker.borrow_mut().take() {
                waker.wake();
            }
        } else if self.spawned < self.vus_max {
            self.spawn(due);
        } else {
            self.wait_or_drop(due);
        }
    }

    /// No virtual user is free: the start is late, whatever becomes of it.
    fn wait_or_drop(&mut self, due: Due) {
        self.core.window.borrow_mut().late(1);
        if self.late == Late::Drop || !self.shared.queue.borrow_mut().push(due) {
            self.core.window.borrow_mut().dropped(1);
        }
    }

    fn spawn(&mut self, due: Due) {
        let slot = self.spawned;
        self.spawned += 1;
        let post = Rc::new(Post { start: Cell::new(Some(due)), waker: RefCell::default() });
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
        let dropped = self.shared.queue.take().due.len();
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
        if core.time.is_paused() {
            core.while_paused().await;
        }
        if let Some(due) = self.post.start.take() {
            return admit(core, due);
        }
        if core.phase.get() != StopPhase::Running {
            return None;
        }
        if let Some(due) = self.shared.queue.borrow_mut().due.pop_front() {
            return Some(due.start(core, true));
        }
        if self.shared.over.get() {
            return None;
        }
        self.shared.idle.borrow_mut().push(Rc::clone(&self.post));
        let due = self.wait().await?;
        admit(core, due)
    }

    fn give_back(&mut self, core: &Core, _start: Start) {
        core.window.borrow_mut().dropped(1);
    }
}

impl OpenFeed {
    /// Waits for a start, or for the end of all starts.
    async fn wait(&self) -> Option<Due> {
        poll_fn(|context| {
            if let Some(due) = self.post.start.take() {
                return Poll::Ready(Some(due));
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
fn admit(core: &Core, due: Due) -> Option<Start> {
    if core.phase.get() == StopPhase::Running {
        return Some(due.start(core, false));
    }
    core.window.borrow_mut().dropped(1);
    None
}

impl Drop for OpenFeed {
    /// Nothing may be lost: a start handed to a virtual user that was cut off before it took it goes to the queue,
    /// where it is dropped and counted at the end.
    fn drop(&mut self) {
        if let Some(due) = self.post.start.take() {
            self.shared.queue.borrow_mut().due.push_back(due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_starts_up_to_its_limit() {
        let mut queue = Queue { max: 2, ..Queue::default() };
        let due = |load_ns| Due { load_ns, intended: Now(load_ns), pauses: 0 };
        assert_eq!([1, 2, 3].map(|ns| queue.push(due(ns))), [true, true, false]);
        assert_eq!(queue.due.pop_front(), Some(due(1)), "the oldest first");
        assert!(queue.push(due(4)), "there is room again");
        assert_eq!(Queue::default().max, 1_000_000);
    }
}
