//! The heart of the simulator: a queue of events in the order of true time. One thread, no clock, no randomness.
//!
//! Events of the same moment happen in the order they were scheduled, so a seed decides everything.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::moment::Moment;
use crate::trace::Trace;

/// Events waiting for their moment. The heap holds small keys only; events stay in their slots until they happen.
#[derive(Debug)]
pub struct Kernel<E> {
    now: Moment,
    heap: BinaryHeap<Reverse<(Moment, u64, u32)>>,
    slots: Vec<Option<E>>,
    free: Vec<u32>,
    scheduled: u64,
    happened: u64,
    /// Hash of what happened.
    pub trace: Trace,
}

impl<E> Default for Kernel<E> {
    fn default() -> Self {
        Self {
            now: Moment::ZERO,
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            scheduled: 0,
            happened: 0,
            trace: Trace::default(),
        }
    }
}

impl<E> Kernel<E> {
    /// The true time.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Events that happened so far.
    pub fn happened(&self) -> u64 {
        self.happened
    }

    /// Lets an event happen at that moment; at once if it has passed.
    pub fn at(&mut self, moment: Moment, event: E) {
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(event);
            slot
        } else {
            self.slots.push(Some(event));
            (self.slots.len() - 1) as u32
        };
        self.scheduled += 1;
        self.heap.push(Reverse((moment.max(self.now), self.scheduled, slot)));
    }

    /// Lets an event happen after that time.
    pub fn after(&mut self, span: Duration, event: E) {
        self.at(self.now.plus(span), event);
    }

    /// Gives waiting events another moment; those for which there is none keep theirs.
    pub fn reschedule(&mut self, moment: impl Fn(&E) -> Option<Moment>) {
        let (slots, now) = (&self.slots, self.now);
        let moved = std::mem::take(&mut self.heap).into_iter().map(|Reverse((at, number, slot))| {
            let other = slots[slot as usize].as_ref().and_then(&moment).map(|at| at.max(now));
            Reverse((other.unwrap_or(at), number, slot))
        });
        self.heap = moved.collect();
    }

    /// The next event up to and including `until`; time moves to it, or to `until` if there is none.
    pub fn next(&mut self, until: Moment) -> Option<E> {
        let due = self.heap.peek().is_some_and(|Reverse((at, _, _))| *at <= until);
        if !due {
            self.now = self.now.max(until);
            return None;
        }
        let Reverse((at, _, slot)) = self.heap.pop()?;
        self.now = at;
        self.happened += 1;
        self.free.push(slot);
        self.slots[slot as usize].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_happen_in_order_of_time_and_then_of_scheduling() {
        let mut kernel = Kernel::default();
        for (at, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
            kernel.at(Moment(at), event);
        }
        let order: String = std::iter::from_fn(|| kernel.next(Moment(9))).collect();
        assert_eq!(order, "abcd");
        assert_eq!(kernel.now(), Moment(9));
    }

    #[test]
    fn time_stops_at_the_limit_and_never_goes_back() {
        let mut kernel = Kernel::default();
        kernel.at(Moment(10), 'x');
        assert_eq!(kernel.next(Moment(9)), None);
        assert_eq!(kernel.now(), Moment(9));
        kernel.at(Moment(3), 'y');
        assert_eq!(kernel.next(Moment(20)), Some('y'));
        assert_eq!(kernel.now(), Moment(9));
    }

    #[test]
    fn events_can_be_given_another_moment_and_no_earlier_one_than_now() {
        let mut kernel = Kernel::default();
        for (at, event) in [(4, 'a'), (5, 'b'), (6, 'c'), (7, 'd')] {
            kernel.at(Moment(at), event);
        }
        kernel.next(Moment(4));
        kernel.reschedule(|event| match event {
            'd' => Some(Moment(1)),
            'b' => Some(Moment(9)),
            _ => None,
        });
        assert_eq!(kernel.next(Moment(4)), Some('d'));
        let order: String = std::iter::from_fn(|| kernel.next(Moment(9))).collect();
        assert_eq!(order, "cb");
    }

    #[test]
    fn slots_are_used_again() {
        let mut kernel = Kernel::default();
        for round in 0..100u64 {
            kernel.at(Moment(round), round);
            assert_eq!(kernel.next(Moment(round)), Some(round));
        }
        assert_eq!(kernel.slots.len(), 1);
    }
}
