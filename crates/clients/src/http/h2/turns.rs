//! Hot: who may open a stream. As many exchanges at once as the peer allows; of those that wait the oldest call is next.
//!
//! A peer that closes each connection after a number of streams refuses what was opened beyond it, and those calls come
//! back with the same request. In the order in which they find the next connection, new calls would take its streams
//! again and again before the ones that were refused: an old call would use up its retries.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use hyperscale_types::Now;

/// The turns of one connection.
#[derive(Debug)]
pub(super) struct Turns {
    /// Exchanges that may have a turn at once.
    limit: Cell<usize>,
    /// Exchanges that have one.
    taken: Cell<usize>,
    is_closed: Cell<bool>,
    queue: RefCell<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Those that wait, the oldest call first.
    waiting: VecDeque<Waiter>,
    /// Those whose turn has come and who have not noticed yet; already counted as taken.
    called: Vec<u64>,
    next_id: u64,
}

#[derive(Debug)]
struct Waiter {
    /// When its call began.
    since: Now,
    id: u64,
    waker: Waker,
}

/// A turn. Its drop lets the next one in.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

/// A place in the queue. Its drop leaves it.
struct Place<'a> {
    turns: &'a Turns,
    since: Now,
    id: Option<u64>,
}

impl Turns {
    pub(super) fn new(limit: usize) -> Self {
        Turns {
            limit: Cell::new(limit),
            taken: Cell::new(0),
            is_closed: Cell::new(false),
            queue: RefCell::default(),
        }
    }

    /// Waits for a turn of a call that began at `since`; `None` once the connection is closed.
    #[inline]
    pub(super) async fn take(&self, since: Now) -> Option<Turn<'_>> {
        if self.is_closed.get() {
            return None;
        }
        // Nobody waits while there is room.
        if self.taken.get() < self.limit.get() {
            self.taken.set(self.taken.get() + 1);
            return Some(Turn(self));
        }
        let mut place = Place { turns: self, since, id: None };
        poll_fn(|cx| place.poll(cx)).await
    }

    /// Follows what the peer allows. Turns that were taken stay so.
    pub(super) fn allow(&self, limit: usize) {
        self.limit.set(limit);
        self.call_next();
    }

    /// What the peer allows.
    #[cfg(test)]
    pub(super) fn limit(&self) -> usize {
        self.limit.get()
    }

    /// Nobody gets a turn any more.
    pub(super) fn close(&self) {
        self.is_closed.set(true);
        self.queue.borrow_mut().waiting.drain(..).for_each(|waiter| waiter.waker.wake());
    }

    fn give_back(&self) {
        self.taken.set(self.taken.get() - 1);
        self.call_next();
    }

    /// Calls those whose turn it is.
    fn call_next(&self) {
        while self.taken.get() < self.limit.get() {
            let mut queue = self.queue.borrow_mut();
            let Some(Waiter { id, waker, .. }) = queue.waiting.pop_front() else { return };
            self.taken.set(self.taken.get() + 1);
            queue.called.push(id);
            drop(queue);
            waker.wake();
        }
    }
}

impl Queue {
    /// Takes a place behind all calls that began no later. Most are the newest, and go to the end.
    fn enter(&mut self, since: Now, waker: Waker) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let younger = self.waiting.iter().rev().take_while(|waiter| waiter.since > since).count();
        self.waiting.insert(self.waiting.len() - younger, Waiter { since, id, waker });
        id
    }

    /// Whether somebody was called; it is not called twice.
    fn take_call(&mut self, id: u64) -> bool {
        let at = self.called.iter().position(|called| *called == id);
        at.map(|at| self.called.swap_remove(at)).is_some()
    }
}

impl<'a> Place<'a> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Turn<'a>>> {
        if self.turns.is_closed.get() {
            return Poll::Ready(None);
        }
        let queue = &mut *self.turns.queue.borrow_mut();
        let Some(id) = self.id else {
            self.id = Some(queue.enter(self.since, cx.waker().clone()));
            return Poll::Pending;
        };
        if queue.take_call(id) {
            self.id = None;
            return Poll::Ready(Some(Turn(self.turns)));
        }
        if let Some(waiter) = queue.waiting.iter_mut().find(|waiter| waiter.id == id) {
            waiter.waker.clone_from(cx.waker());
        }
        Poll::Pending
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut queue = self.turns.queue.borrow_mut();
        queue.waiting.retain(|waiter| waiter.id != id);
        let was_called = queue.take_call(id);
        drop(queue);
        if was_called {
            self.turns.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};

    use super::*;

    fn poll<F: Future>(work: Pin<&mut F>) -> Poll<F::Output> {
        work.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// A turn that is there at once.
    fn take(turns: &Turns) -> Turn<'_> {
        match poll(pin!(turns.take(Now(0)))) {
            Poll::Ready(Some(turn)) => turn,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_oldest_call_is_next_whenever_it_came() {
        let turns = Turns::new(1);
        let mut turn = Some(take(&turns));
        let calls = [5, 7, 7, 2, 6];
        let mut waiting: Vec<_> = calls.iter().map(|since| Box::pin(turns.take(Now(*since)))).collect();
        assert!(waiting.iter_mut().all(|call| poll(call.as_mut()).is_pending()));
        let mut order = Vec::new();
        while order.len() < calls.len() {
            drop(turn.take());
            let called: Vec<usize> = (0..calls.len()).filter(|at| !order.contains(at)).collect();
            for at in called {
                if let Poll::Ready(taken) = poll(waiting[at].as_mut()) {
                    order.push(at);
                    assert!(turn.is_none(), "one at a time");
                    turn = taken;
                }
            }
        }
        assert_eq!(order, [3, 0, 4, 1, 2], "equal ones in the order in which they came");
    }

    #[test]
    fn limits_are_followed_and_what_runs_is_not_stopped() {
        let turns = Turns::new(1);
        let first = take(&turns);
        let mut second = pin!(turns.take(Now(0)));
        assert!(poll(second.as_mut()).is_pending());
        turns.allow(3);
        let Poll::Ready(Some(second)) = poll(second.as_mut()) else { panic!("there is room") };
        let third = take(&turns);
        turns.allow(1);
        drop((second, third));
        let mut fourth = pin!(turns.take(Now(0)));
        assert!(poll(fourth.as_mut()).is_pending(), "one of three is left");
        drop(first);
        assert!(poll(fourth.as_mut()).is_ready());
    }

    #[test]
    fn those_that_leave_let_others_in() {
        let turns = Turns::new(1);
        let first = take(&turns);
        let mut third = pin!(turns.take(Now(9)));
        assert!(poll(third.as_mut()).is_pending());
        let (mut called, mut waits) = (Box::pin(turns.take(Now(1))), Box::pin(turns.take(Now(2))));
        assert!(poll(called.as_mut()).is_pending() && poll(waits.as_mut()).is_pending());
        drop(first);
        assert_eq!(turns.taken.get(), 1, "one was called");
        drop(waits);
        assert!(poll(third.as_mut()).is_pending());
        drop(called);
        assert!(matches!(poll(third.as_mut()), Poll::Ready(Some(_))));
        assert_eq!(turns.taken.get(), 0);
    }

    #[test]
    fn nobody_gets_a_turn_of_a_closed_connection() {
        let turns = Turns::new(1);
        let first = take(&turns);
        let mut waits = pin!(turns.take(Now(0)));
        assert!(poll(waits.as_mut()).is_pending());
        turns.close();
        drop(first);
        assert!(matches!(poll(waits.as_mut()), Poll::Ready(None)));
        assert!(matches!(poll(pin!(turns.take(Now(0)))), Poll::Ready(None)));
    }
}
