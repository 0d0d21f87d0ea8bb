//! The last membership transitions, with cause and witnesses. A bounded ring: the oldest entry falls out.

use std::collections::VecDeque;

use hyperscale_types::{NodeId, Now};

use crate::claim::{Claim, Status};
use crate::suspicion::Witnesses;

/// Why a member changed its state in this node's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It spoke to this node.
    Contact,
    /// Another node said so.
    Gossip,
    /// Nothing came back from a probe of this node.
    ProbeFailed,
    /// Its connection was reset or its port refused.
    ConnectionRefused,
    /// It did not contradict in time.
    SuspicionExpired,
    /// It was dead or gone for so long that it was forgotten.
    Forgotten,
    /// It was known by hearsay only and never reached.
    NeverReached,
}

/// One change of what this node believes of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When, on this node's clock.
    pub at: Now,
    /// Whom it is about.
    pub node: NodeId,
    /// What held before; `None` for a newcomer.
    pub before: Option<Claim>,
    /// What holds now; `None` once it is forgotten.
    pub after: Option<Claim>,
    /// What spoke for the change.
    pub cause: Cause,
    /// Who said so: the accusers of a suspicion, or the node the news came from.
    pub witnesses: Witnesses,
}

impl AuditEntry {
    /// The status before, for display.
    pub fn status_before(&self) -> Option<Status> {
        self.before.map(|claim| claim.status)
    }
}

/// The ring.
#[derive(Clone, Debug)]
pub(crate) struct AuditRing {
    entries: VecDeque<AuditEntry>,
    entries_max: usize,
    total: u64,
}

impl AuditRing {
    pub(crate) fn new(entries_max: usize) -> Self {
        Self { entries: VecDeque::new(), entries_max, total: 0 }
    }

    pub(crate) fn push(&mut self, entry: AuditEntry) {
        self.total += 1;
        if self.entries.len() >= self.entries_max {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &AuditEntry> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Transitions ever recorded, those that fell out included.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_keeps_the_newest_and_counts_all() {
        let mut ring = AuditRing::new(3);
        let node = NodeId::new(1).unwrap();
        for at in 0..10 {
            ring.push(AuditEntry {
                at: Now(at),
                node,
                before: None,
                after: None,
                cause: Cause::Contact,
                witnesses: Witnesses::default(),
            });
        }
        assert_eq!(ring.iter().map(|entry| entry.at.0).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!((ring.len(), ring.total()), (3, 10));
    }
}
