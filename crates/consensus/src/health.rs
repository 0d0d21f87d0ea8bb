//! Who should lead: priority from health, patience with an ill leader, and what peers say about their own health.
//!
//! | health multiplier (LHM) | priority               |
//! | ----------------------- | ---------------------- |
//! | 0–2                     | normal                 |
//! | 3–5                     | lower                  |
//! | 6 and above             | lowest                 |
//!
//! `leader_priority` is added; it orders nodes of equal health. Nobody is ever ineligible: raft-rs refuses a candidate of
//! lower priority unless its log is longer, so when nobody leads for a while all priorities are taken for equal.
//! (Otherwise a voter with a newer but shorter log and one with an older but longer log could refuse each other for ever.)

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::Now;

use crate::id::RaftId;

/// A leader with this multiplier is ill.
pub const ILL_AT: u8 = 6;

/// Distance of the three classes of health; above twice any `leader_priority`.
const CLASS: i64 = 200;

/// The election priority of a node.
pub fn priority(lhm: u8, leader_priority: i64) -> i64 {
    let class = match lhm {
        0..=2 => 3 * CLASS,
        3..=5 => 2 * CLASS,
        ILL_AT.. => CLASS,
    };
    class + leader_priority
}

/// Health of this node and of its peers.
#[derive(Debug, Default)]
pub(crate) struct Health {
    lhm: u8,
    ill_since: Option<Now>,
    leaderless_since: Option<Now>,
    peers: BTreeMap<RaftId, u8>,
}

impl Health {
    pub(crate) fn set_own(&mut self, now: Now, lhm: u8) {
        self.lhm = lhm;
        self.ill_since = if lhm >= ILL_AT { self.ill_since.or(Some(now)) } else { None };
    }

    pub(crate) fn set_peer(&mut self, peer: RaftId, lhm: u8) {
        self.peers.insert(peer, lhm);
    }

    pub(crate) fn forget_others(&mut self, is_member: impl Fn(RaftId) -> bool) {
        self.peers.retain(|id, _| is_member(*id));
    }

    /// Health of a peer; one that never said is taken for well.
    pub(crate) fn peer(&self, peer: RaftId) -> u8 {
        self.peers.get(&peer).copied().unwrap_or(0)
    }

    pub(crate) fn own(&self) -> u8 {
        self.lhm
    }

    /// Whether this node was ill for so long without a break.
    pub(crate) fn is_ill_for(&self, now: Now, patience: Duration) -> bool {
        self.ill_since.is_some_and(|since| now.since(since) >= patience)
    }

    pub(crate) fn set_leaderless(&mut self, now: Now, is_leaderless: bool) {
        self.leaderless_since = if is_leaderless { self.leaderless_since.or(Some(now)) } else { None };
    }

    /// The priority to campaign and vote with.
    pub(crate) fn priority(&self, now: Now, leader_priority: i64, patience: Duration) -> i64 {
        match self.leaderless_since {
            Some(since) if now.since(since) >= patience => CLASS,
            _ => priority(self.lhm, leader_priority),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LEADER_PRIORITY_MAX;

    fn at(seconds: u64) -> Now {
        Now::after_start(Duration::from_secs(seconds))
    }

    #[test]
    fn priority_has_three_classes_of_health() {
        let classes: Vec<i64> = (0..=8).map(|lhm| priority(lhm, 0)).collect();
        assert_eq!(classes, [600, 600, 600, 400, 400, 400, 200, 200, 200]);
    }

    #[test]
    fn leader_priority_is_added_and_never_beats_health() {
        assert!(priority(0, 5) > priority(0, 4));
        assert!(priority(0, -LEADER_PRIORITY_MAX) > priority(3, LEADER_PRIORITY_MAX));
        assert!(priority(5, -LEADER_PRIORITY_MAX) > priority(6, LEADER_PRIORITY_MAX));
    }

    #[test]
    fn illness_counts_only_without_a_break() {
        let mut health = Health::default();
        let patience = Duration::from_secs(5);
        health.set_own(at(0), 6);
        health.set_own(at(4), 8);
        assert!(!health.is_ill_for(at(4), patience));
        assert!(health.is_ill_for(at(5), patience));
        health.set_own(at(5), 5);
        health.set_own(at(6), 7);
        assert!(!health.is_ill_for(at(10), patience));
    }

    #[test]
    fn without_a_leader_for_long_all_priorities_are_equal() {
        let (mut well, mut ill) = (Health::default(), Health::default());
        ill.set_own(at(0), 8);
        for health in [&mut well, &mut ill] {
            health.set_leaderless(at(0), true);
        }
        let patience = Duration::from_secs(4);
        assert_ne!(well.priority(at(3), 0, patience), ill.priority(at(3), 0, patience));
        assert_eq!(well.priority(at(4), 9, patience), ill.priority(at(4), 0, patience));
        well.set_leaderless(at(5), false);
        assert_eq!(well.priority(at(9), 9, patience), priority(0, 9));
    }
}
