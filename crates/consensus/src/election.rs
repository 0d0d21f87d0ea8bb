//! When a follower loses patience: a fixed function of seed, node, term and role.
//!
//! raft-rs draws its election timeout from the operating system's randomness. The group overwrites it after every call
//! into raft-rs, before anything reads it, so that equal inputs give equal runs.

use std::ops::Range;

use hyperscale_types::split_mix;
use raft::StateRole;

use crate::id::RaftId;

/// The election timeout in ticks, within the range.
pub(crate) fn timeout(seed: u64, node: RaftId, term: u64, role: StateRole, ticks: Range<usize>) -> usize {
    let role = match role {
        StateRole::Follower => 1,
        StateRole::PreCandidate => 2,
        StateRole::Candidate => 3,
        StateRole::Leader => 4,
    };
    let drawn = [node.get(), term, role].iter().fold(seed, |hash, part| mix(hash ^ part));
    let width = (ticks.end - ticks.start) as u64;
    ticks.start + (drawn % width) as usize
}

/// A bijective scrambling of 64 bits: equal everywhere, unlike a seeded hasher.
pub(crate) const fn mix(value: u64) -> u64 {
    split_mix::step(value).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(seed: u64, node: u64, term: u64, role: StateRole) -> usize {
        timeout(seed, RaftId::new(node).unwrap(), term, role, 50..100)
    }

    #[test]
    fn timeout_is_within_the_range_and_reaches_all_of_it() {
        let drawn: std::collections::BTreeSet<usize> =
            (0..2000).map(|term| draw(1, 1, term, StateRole::Follower)).collect();
        assert_eq!(drawn, (50..100).collect());
    }

    #[test]
    fn timeout_depends_on_seed_node_term_and_role_and_on_nothing_else() {
        let series =
            |seed, node, role| -> Vec<usize> { (0..20).map(|term| draw(seed, node, term, role)).collect() };
        let base = series(1, 1, StateRole::Follower);
        assert_eq!(base, series(1, 1, StateRole::Follower));
        assert_ne!(base, series(2, 1, StateRole::Follower));
        assert_ne!(base, series(1, 2, StateRole::Follower));
        assert_ne!(base, series(1, 1, StateRole::Candidate));
    }
}
