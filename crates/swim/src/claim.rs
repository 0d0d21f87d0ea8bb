//! What is said about a member, and which of two sayings holds.
//!
//! A [`Claim`] is `(boot, incarnation, status)`. Claims about one node are totally ordered in that order of fields, and
//! merging is taking the larger: that makes merging commutative, associative, idempotent and monotone, whatever order
//! gossip arrives in. Everything else in this crate that stores a claim must store the merge of all it has heard.
//!
//! | stored \ heard    | smaller                       | equal   | larger                                     |
//! | ----------------- | ----------------------------- | ------- | ------------------------------------------ |
//! | any               | kept                          | kept    | replaced                                   |
//!
//! Status order for equal identity: `Alive < Suspect < Dead < Left` (SWIM §4.2, with the voluntary leave on top: the
//! node itself says it, so nobody's accusation outweighs it). Whoever is said to have left and did not is told and
//! contradicts with a higher incarnation, as with an accusation.

use std::fmt;

use hyperscale_types::BootEpoch;

/// How often a node had to contradict an accusation in its present boot. Raised by the node itself, by nobody else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u32);

impl Incarnation {
    /// The incarnation that supersedes this one. The last one has no successor and stays.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of a member, in order of precedence for equal identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Answers, as far as anybody knows.
    Alive,
    /// Did not answer somebody; may still contradict.
    Suspect,
    /// Did not contradict in time.
    Dead,
    /// Said itself that it goes. Not a failure.
    Left,
}

impl Status {
    /// Whether such a member takes part in the cluster: gossiped to, counted, probed.
    pub fn is_live(self) -> bool {
        matches!(self, Status::Alive | Status::Suspect)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Alive => "alive",
            Status::Suspect => "suspect",
            Status::Dead => "dead",
            Status::Left => "left",
        })
    }
}

/// A status of one life and incarnation of a node. The derived order is the precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// Which life of the node.
    pub boot: BootEpoch,
    /// Which incarnation in that life.
    pub incarnation: Incarnation,
    /// What is said about it.
    pub status: Status,
}

impl Claim {
    /// An `Alive` claim.
    pub fn alive(boot: BootEpoch, incarnation: Incarnation) -> Self {
        Self { boot, incarnation, status: Status::Alive }
    }

    /// The same identity with another status.
    #[must_use]
    pub fn with(self, status: Status) -> Self {
        Self { status, ..self }
    }

    /// The part that only the node itself raises.
    pub fn identity(self) -> (BootEpoch, Incarnation) {
        (self.boot, self.incarnation)
    }

    /// What holds after hearing both.
    #[must_use]
    pub fn merge(self, other: Claim) -> Claim {
        self.max(other)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn any_claim() -> impl Strategy<Value = Claim> {
        let status =
            prop_oneof![Just(Status::Alive), Just(Status::Suspect), Just(Status::Dead), Just(Status::Left)];
        (0u64..3, 0u32..4, status).prop_map(|(boot, incarnation, status)| Claim {
            boot: BootEpoch(boot),
            incarnation: Incarnation(incarnation),
            status,
        })
    }

    fn claim(boot: u64, incarnation: u32, status: Status) -> Claim {
        Claim { boot: BootEpoch(boot), incarnation: Incarnation(incarnation), status }
    }

    proptest! {
        #[test]
        fn merge_is_commutative_associative_and_idempotent(a in any_claim(), b in any_claim(), c in any_claim()) {
            prop_assert_eq!(a.merge(b), b.merge(a));
            prop_assert_eq!(a.merge(b).merge(c), a.merge(b.merge(c)));
            prop_assert_eq!(a.merge(a), a);
        }

        #[test]
        fn merge_never_lowers_the_identity(a in any_claim(), b in any_claim()) {
            prop_assert!(a.merge(b).identity() >= a.identity());
            prop_assert!(a.merge(b) >= b);
        }
    }

    #[test]
    fn dead_beats_suspect_beats_alive_for_equal_identity() {
        let [alive, suspect, dead] = [Status::Alive, Status::Suspect, Status::Dead].map(|s| claim(1, 5, s));
        assert_eq!(alive.merge(suspect), suspect);
        assert_eq!(suspect.merge(dead), dead);
        assert_eq!(dead.merge(alive), dead);
    }

    #[test]
    fn newer_incarnation_beats_any_status() {
        assert_eq!(claim(1, 5, Status::Dead).merge(claim(1, 6, Status::Alive)).status, Status::Alive);
    }

    #[test]
    fn restarted_node_supersedes_its_old_self_at_any_incarnation() {
        assert_eq!(claim(1, 100, Status::Dead).merge(claim(2, 0, Status::Alive)), claim(2, 0, Status::Alive));
    }

    #[test]
    fn announced_leave_is_not_turned_into_a_death() {
        assert_eq!(claim(1, 5, Status::Left).merge(claim(1, 5, Status::Dead)).status, Status::Left);
    }

    #[test]
    fn last_incarnation_has_no_successor() {
        assert_eq!(Incarnation(7).next(), Incarnation(8));
        assert_eq!(Incarnation(u32::MAX).next(), Incarnation(u32::MAX));
    }
}
