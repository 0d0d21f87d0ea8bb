//! The order in which members are probed: round-robin over a shuffled list (SWIM §4.3).
//!
//! Every member is probed once before any is probed twice, so detection has an upper bound. Newcomers enter at a random
//! place among those still to come. Who no longer counts is taken out when its turn comes.

use fastrand::Rng;

use super::Slot;

#[derive(Clone, Debug, Default)]
pub(crate) struct ProbeOrder {
    order: Vec<Slot>,
    next: usize,
    /// By slot: whether it is in `order`. Belongs to the slot, not to its member: a slot given to another member while
    /// its entry still waits simply serves the new one.
    listed: Vec<bool>,
}

impl ProbeOrder {
    /// Adds a member that counts from now on.
    pub(crate) fn add(&mut self, slot: Slot, rng: &mut Rng) {
        if self.listed.len() <= slot.index() {
            self.listed.resize(slot.index() + 1, false);
        }
        if std::mem::replace(&mut self.listed[slot.index()], true) {
            return;
        }
        self.order.push(slot);
        let place = rng.usize(self.next..self.order.len());
        let last = self.order.len() - 1;
        self.order.swap(place, last);
    }

    /// The next member that `counts`; those that do not are taken out.
    pub(crate) fn next(&mut self, rng: &mut Rng, mut counts: impl FnMut(Slot) -> bool) -> Option<Slot> {
        while !self.order.is_empty() {
            if self.next >= self.order.len() {
                self.next = 0;
                rng.shuffle(&mut self.order);
            }
            let slot = self.order[self.next];
            if counts(slot) {
                self.next += 1;
                return Some(slot);
            }
            self.listed[slot.index()] = false;
            self.order.swap_remove(self.next);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(count: u32, rng: &mut Rng) -> ProbeOrder {
        let mut order = ProbeOrder::default();
        for slot in 0..count {
            order.add(Slot(slot), rng);
        }
        order
    }

    fn pass(order: &mut ProbeOrder, rng: &mut Rng, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| order.next(rng, |_| true)).map(|slot| slot.0).collect()
    }

    #[test]
    fn each_pass_visits_everyone_once_in_another_order() {
        let mut rng = Rng::with_seed(3);
        let mut order = order(20, &mut rng);
        let passes: Vec<_> = (0..3).map(|_| pass(&mut order, &mut rng, 20)).collect();
        assert_ne!(passes[0], passes[1]);
        assert_ne!(passes[1], passes[2]);
        for mut pass in passes {
            pass.sort_unstable();
            assert_eq!(pass, (0..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn newcomer_is_visited_within_the_running_pass() {
        let mut rng = Rng::with_seed(4);
        let mut order = order(10, &mut rng);
        pass(&mut order, &mut rng, 5);
        order.add(Slot(10), &mut rng);
        order.add(Slot(10), &mut rng);
        let rest = pass(&mut order, &mut rng, 6);
        assert_eq!(rest.iter().filter(|slot| **slot == 10).count(), 1);
    }

    #[test]
    fn who_no_longer_counts_is_dropped_and_can_come_back() {
        let mut rng = Rng::with_seed(5);
        let mut order = order(3, &mut rng);
        for _ in 0..6 {
            assert_ne!(order.next(&mut rng, |slot| slot.0 != 1), Some(Slot(1)));
        }
        assert_eq!(order.order.len(), 2);
        order.add(Slot(1), &mut rng);
        assert!(pass(&mut order, &mut rng, 3).contains(&1));
        assert_eq!(order.next(&mut rng, |_| false), None);
    }
}
