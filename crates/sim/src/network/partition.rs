//! Cut links: between two sides, in one direction only, around a bridge, or coming and going.
//!
//! | kind     | sides                    | what still works                           |
//! | -------- | ------------------------ | ------------------------------------------ |
//! | halves   | all against all others   | everything within a side                   |
//! | one way  | any against any          | the other direction                        |
//! | bridge   | all but the bridge       | the bridge reaches both, they not each other |
//! | flapping | any of the above         | everything, every other while              |

use std::time::Duration;

use crate::moment::Moment;

/// Comes and goes: cut for one `period`, whole for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flapping {
    /// How long each state lasts.
    pub period: Duration,
}

/// Links that are cut, between places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    from: Vec<bool>,
    to: Vec<bool>,
    both_ways: bool,
    flapping: Option<Flapping>,
}

impl Partition {
    /// Nothing from `from` reaches `to`; `nodes` is how many there are.
    pub fn one_way(from: &[usize], to: &[usize], nodes: usize) -> Self {
        let set = |members: &[usize]| (0..nodes).map(|node| members.contains(&node)).collect();
        Self { from: set(from), to: set(to), both_ways: false, flapping: None }
    }

    /// The two sides do not reach each other. Nodes on neither side reach both: a bridge.
    pub fn between(one: &[usize], other: &[usize], nodes: usize) -> Self {
        Self { both_ways: true, ..Self::one_way(one, other, nodes) }
    }

    /// One place does not reach any of the others, nor they it.
    pub fn around(place: usize, places: usize) -> Self {
        let others: Vec<usize> = (0..places).filter(|other| *other != place).collect();
        Self::between(&[place], &others, places)
    }

    /// The same, coming and going.
    #[must_use]
    pub fn flapping(self, period: Duration) -> Self {
        Self { flapping: Some(Flapping { period }), ..self }
    }

    /// Whether it stops what is sent from one place to another now.
    pub fn blocks(&self, now: Moment, from: usize, to: usize) -> bool {
        let is_in = |set: &[bool], node: usize| set.get(node).copied().unwrap_or(false);
        let there = is_in(&self.from, from) && is_in(&self.to, to);
        let back = self.both_ways && is_in(&self.from, to) && is_in(&self.to, from);
        (there || back) && self.is_cut(now)
    }

    fn is_cut(&self, now: Moment) -> bool {
        self.flapping.is_none_or(|flapping| {
            let period = u64::try_from(flapping.period.as_nanos()).unwrap_or(u64::MAX).max(1);
            (now.0 / period).is_multiple_of(2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridge_reaches_both_sides() {
        let cut = Partition::between(&[0, 1], &[3], 4);
        let blocked = |from, to| cut.blocks(Moment(0), from, to);
        assert!(blocked(0, 3) && blocked(3, 1));
        assert!(!blocked(0, 2) && !blocked(2, 3) && !blocked(3, 2) && !blocked(0, 1));
        assert!(!blocked(0, 99));
    }

    #[test]
    fn flapping_cut_comes_and_goes() {
        let cut = Partition::one_way(&[0], &[1], 2).flapping(Duration::from_secs(1));
        let blocked = |second| cut.blocks(Moment::seconds(second), 0, 1);
        assert_eq!([blocked(0), blocked(1), blocked(2), blocked(3)], [true, false, true, false]);
        assert!(!cut.blocks(Moment(0), 1, 0));
    }
}
