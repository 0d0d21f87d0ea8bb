//! The places of virtual users on a core: which are free, and how often each was taken.
//!
//! ```text
//! free ──take──► taken ──free──► free
//! ```
//! A slot that is not freed when its virtual user ends is closed. Whatever happens costs the logarithm of their number: all of them may end in the same moment.

use std::collections::BTreeSet;

/// The slots of a core, numbered from 0. Those that were never taken are free.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Free ones among those that were taken before.
    free: BTreeSet<u32>,
    /// How often each was taken; as long as the largest one that ever was.
    lives: Vec<u32>,
}

impl Slots {
    /// The first free slot below `end`.
    pub(super) fn first_free(&self, end: u32) -> Option<u32> {
        let fresh = self.lives.len() as u32;
        let slot = self.free.first().copied().unwrap_or(fresh);
        (slot < end).then_some(slot)
    }

    /// Takes the slot that [`Slots::first_free`] gave. Returns how often it was taken before.
    pub(super) fn take(&mut self, slot: u32) -> u32 {
        self.free.remove(&slot);
        if slot as usize == self.lives.len() {
            self.lives.push(0);
        }
        let lives = &mut self.lives[slot as usize];
        *lives += 1;
        *lives - 1
    }

    /// Its virtual user ended; another one may live there.
    pub(super) fn free(&mut self, slot: u32) {
        self.free.insert(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_slot_is_taken_and_every_life_is_counted() {
        let mut slots = Slots::default();
        for slot in 0..3 {
            assert_eq!(slots.first_free(3), Some(slot));
            assert_eq!(slots.take(slot), 0);
        }
        assert_eq!(slots.first_free(3), None);
        slots.free(2);
        slots.free(1);
        assert_eq!((slots.first_free(3), slots.first_free(1)), (Some(1), None));
        assert_eq!(slots.take(1), 1, "its second life");
        assert_eq!(slots.first_free(4), Some(2));
        assert_eq!(slots.take(2), 1);
        assert_eq!(slots.first_free(4), Some(3));
    }

    #[test]
    fn a_slot_that_is_not_freed_stays_closed() {
        let mut slots = Slots::default();
        slots.take(0);
        assert_eq!(slots.first_free(1), None);
        slots.take(1);
        slots.free(1);
        assert_eq!(slots.first_free(2), Some(1), "one may live again");
    }
}
