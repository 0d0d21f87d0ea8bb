//! Deadlines of members, ordered by time: the next one is found without looking at the others.
//!
//! A member has at most one deadline; what it means follows from its status (suspicion ends, dead is forgotten,
//! unreached is tried again). The owner keeps the time beside the member, so that it can be taken out exactly.

use std::collections::BTreeSet;

use hyperscale_types::Now;

use crate::table::Slot;

#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines(BTreeSet<(Now, Slot)>);

impl Deadlines {
    pub(crate) fn insert(&mut self, at: Now, slot: Slot) {
        self.0.insert((at, slot));
    }

    pub(crate) fn remove(&mut self, at: Now, slot: Slot) {
        self.0.remove(&(at, slot));
    }

    pub(crate) fn next(&self) -> Option<Now> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes out one that has passed, the earliest first.
    pub(crate) fn pop_due(&mut self, now: Now) -> Option<Slot> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_out_in_time_order_and_only_when_due() {
        let mut deadlines = Deadlines::default();
        deadlines.insert(Now(30), Slot(1));
        deadlines.insert(Now(10), Slot(2));
        deadlines.insert(Now(20), Slot(3));
        deadlines.remove(Now(20), Slot(3));
        assert_eq!(deadlines.next(), Some(Now(10)));
        assert_eq!(deadlines.pop_due(Now(9)), None);
        assert_eq!(deadlines.pop_due(Now(30)), Some(Slot(2)));
        assert_eq!(deadlines.pop_due(Now(30)), Some(Slot(1)));
        assert_eq!(deadlines.pop_due(Now(99)), None);
    }
}
