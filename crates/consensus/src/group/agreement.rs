//! Which voters came to the leader's state. A leader sends a hash only once a majority has confirmed it, so that a replica
//! that differs from it is the one that is wrong; and a leader that most voters differ from is wrong itself.
//!
//! | voters that differ from the leader | stops                                                                            |
//! | ---------------------------------- | -------------------------------------------------------------------------------- |
//! | a minority                         | each of them, when the leader's next confirmed hash reaches it                    |
//! | a majority                         | the leader                                                                       |
//! | half of an even number             | nobody: who is wrong cannot be told. The leader says whose state differs         |
//!
//! Hashes are rolling: a voter that agrees after an entry agrees after all before it.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::RaftId;
use crate::message::Configuration;

/// What voters said in the present term of this leader.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    term: u64,
    /// The last entry after which each agreed.
    agreed: BTreeMap<RaftId, u64>,
    differing: BTreeSet<RaftId>,
}

impl Agreement {
    fn enter(&mut self, term: u64) {
        if self.term != term {
            *self = Self { term, ..Self::default() };
        }
    }

    /// A voter came to the leader's state after this entry.
    pub(super) fn agrees(&mut self, term: u64, voter: RaftId, index: u64) {
        self.enter(term);
        let known = self.agreed.entry(voter).or_default();
        *known = index.max(*known);
    }

    /// A voter came to another state.
    pub(super) fn differs(&mut self, term: u64, voter: RaftId) {
        self.enter(term);
        self.differing.insert(voter);
    }

    /// Whether a majority differs, of either configuration while one changes.
    pub(super) fn is_outvoted(&self, term: u64, configuration: &Configuration) -> bool {
        let differ = |voters: &[RaftId]| {
            let count = voters.iter().filter(|id| self.differing.contains(id)).count();
            !voters.is_empty() && count > voters.len() / 2
        };
        self.term == term && (differ(&configuration.voters) || differ(&configuration.voters_outgoing))
    }

    /// The last entry after which a majority agrees, of both configurations while one changes; `own` is where the leader is.
    pub(super) fn confirmed(&self, term: u64, own: (RaftId, u64), configuration: &Configuration) -> u64 {
        let of = |voters: &[RaftId]| {
            let mut agreed: Vec<u64> = voters.iter().map(|id| self.agreed_to(term, own, *id)).collect();
            agreed.sort_unstable_by(|a, b| b.cmp(a));
            agreed.get(voters.len() / 2).copied()
        };
        let both = [of(&configuration.voters), of(&configuration.voters_outgoing)];
        both.into_iter().flatten().min().unwrap_or(0)
    }

    fn agreed_to(&self, term: u64, (own, applied): (RaftId, u64), voter: RaftId) -> u64 {
        match voter {
            _ if voter == own => applied,
            _ if self.term != term => 0,
            _ => self.agreed.get(&voter).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u64]) -> Vec<RaftId> {
        numbers.iter().map(|number| RaftId::new(*number).unwrap()).collect()
    }

    fn voters(numbers: &[u64]) -> Configuration {
        Configuration { voters: ids(numbers), ..Configuration::default() }
    }

    #[test]
    fn hash_is_confirmed_once_a_majority_has_it() {
        let (three, own) = (voters(&[1, 2, 3]), (RaftId::FIRST, 100));
        let mut agreement = Agreement::default();
        assert_eq!(agreement.confirmed(5, own, &three), 0);
        agreement.agrees(5, ids(&[2])[0], 60);
        agreement.agrees(5, ids(&[2])[0], 40);
        assert_eq!(agreement.confirmed(5, own, &three), 60);
        assert_eq!(agreement.confirmed(6, own, &three), 0, "not in another term");
        assert_eq!(agreement.confirmed(5, own, &voters(&[1])), 100, "one voter is a majority");
        let joint = Configuration { voters_outgoing: ids(&[1, 4, 5]), ..three };
        assert_eq!(agreement.confirmed(5, own, &joint), 0, "both majorities");
    }

    #[test]
    fn leader_is_outvoted_by_a_majority_only() {
        let (three, four) = (voters(&[1, 2, 3]), voters(&[1, 2, 3, 4]));
        let mut agreement = Agreement::default();
        agreement.differs(5, ids(&[2])[0]);
        agreement.differs(5, ids(&[2])[0]);
        assert!(!agreement.is_outvoted(5, &three));
        agreement.differs(5, ids(&[3])[0]);
        assert!(agreement.is_outvoted(5, &three) && !agreement.is_outvoted(5, &four));
        assert!(!agreement.is_outvoted(6, &three), "not in another term");
    }
}
