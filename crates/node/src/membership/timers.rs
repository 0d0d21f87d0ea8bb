//! Timers of the core, by their time. They are never cancelled: the core recognises those that it does not want any more,
//! and sets a bounded number of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hyperscale_swim::Timer;
use hyperscale_types::Now;

/// Timers that are set, the next one first.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Now, Timer)>>);

impl Timers {
    pub(super) fn set(&mut self, at: Now, timer: Timer) {
        self.0.push(Reverse((at, timer)));
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Now> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// A timer whose time has come, and when that was.
    pub(super) fn due(&mut self, now: Now) -> Option<(Now, Timer)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_the_order_of_their_times_and_not_before() {
        let mut timers = Timers::default();
        timers.set(Now(30), Timer::Sync(1));
        timers.set(Now(10), Timer::Period(1));
        timers.set(Now(20), Timer::Gossip(1));
        assert_eq!(timers.next(), Some(Now(10)));
        assert_eq!(timers.due(Now(5)), None);
        assert_eq!(timers.due(Now(25)), Some((Now(10), Timer::Period(1))));
        assert_eq!(timers.due(Now(25)), Some((Now(20), Timer::Gossip(1))));
        assert_eq!(timers.due(Now(25)), None);
    }
}
