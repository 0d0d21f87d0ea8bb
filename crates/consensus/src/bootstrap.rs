//! How a group begins, and how a node finds out what it is in it.
//!
//! An empty directory founds a group from `--peers` (which names this node too, and is the same on all) only if every peer
//! is reached and empty; otherwise it waits until an operator adds it.
//!
//! | this directory | peers                                                  | decision                              |
//! | -------------- | ------------------------------------------------------ | ------------------------------------- |
//! | has a log      | whatever                                               | resume; `--peers` is a hint           |
//! | empty          | one is not reached yet                                 | ask on                                |
//! | empty          | all reached, all empty                                 | found                                 |
//! | empty          | one has founded with this node *in this directory* and changed nothing since | found the same: the others were first |
//! | empty          | one has a log that does not know this directory        | wait for `cluster add`                |
//!
//! A voter that lost its disk has a new directory: it falls into the last row, and is removed and added as new.

use std::collections::BTreeMap;

use hyperscale_types::NodeId;

use crate::apply::founding_state;
use crate::id::{DirectoryId, RaftId};
use crate::message::{Configuration, HardState, Member, Snapshot};
use crate::roster::Roster;
use crate::storage::{Batch, Loaded, SnapshotWrite};

/// Index and term of the state a group begins with.
const FOUNDING: u64 = 1;
/// Most peers that found a group.
pub const FOUNDERS_MAX: usize = 9;

/// What every founder writes to its empty directory before it starts: the same on all of them.
pub fn founding(founders: &BTreeMap<NodeId, DirectoryId>) -> Batch {
    let roster = Roster::founding(founders);
    let voters = roster.members().map(|member| member.raft_id).collect();
    let snapshot = Snapshot {
        index: FOUNDING,
        term: FOUNDING,
        configuration: Configuration { voters, ..Configuration::default() },
        state: founding_state(&roster),
    };
    Batch {
        hard_state: Some(HardState { term: FOUNDING, vote: None, commit: FOUNDING }),
        snapshot: Some(SnapshotWrite { snapshot, drop_to: FOUNDING, replaces_log: true }),
        ..Batch::default()
    }
}

/// What a peer says about itself when asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Who it is.
    pub node: NodeId,
    /// Its directory.
    pub directory: DirectoryId,
    /// Its members, if it has a log.
    pub members: Option<Vec<Member>>,
    /// Those of them that only listen.
    pub learners: Vec<RaftId>,
}

/// What a node does at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Goes on with its log.
    Resume,
    /// Asks peers that did not answer yet.
    Ask {
        /// Answers that are missing.
        missing: usize,
    },
    /// Writes [`founding`] with these founders, then starts under this id.
    Found {
        /// All of them.
        founders: BTreeMap<NodeId, DirectoryId>,
        /// This node's id.
        raft_id: RaftId,
    },
    /// Waits until an operator adds it.
    Wait {
        /// The peer that has a log.
        known_by: NodeId,
    },
}

/// Why a node does not start at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// `--peers` names too few or too many.
    #[error("a group is founded by 1 to {FOUNDERS_MAX} peers, this node included")]
    PeerCount,
    /// Two addresses of `--peers` are the same node.
    #[error("two peers are the same node; every peer is named once")]
    SamePeerTwice,
}

/// A node at its start.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    own: Report,
    is_empty: bool,
    /// Peers named, this node included.
    peers: usize,
    reports: BTreeMap<NodeId, Report>,
    #[cfg(feature = "bugs")]
    bugs: crate::bugs::Bugs,
}

impl Bootstrap {
    /// With what its directory holds, and how many peers are configured, itself included.
    pub fn new(
        node: NodeId,
        directory: DirectoryId,
        loaded: &Loaded,
        peers: usize,
    ) -> Result<Self, BootstrapError> {
        if !(1..=FOUNDERS_MAX).contains(&peers) {
            return Err(BootstrapError::PeerCount);
        }
        let own = Report { node, directory, members: None, learners: Vec::new() };
        Ok(Self {
            own,
            is_empty: loaded.is_empty(),
            peers,
            reports: BTreeMap::new(),
            #[cfg(feature = "bugs")]
            bugs: crate::bugs::Bugs::default(),
        })
    }

    /// The same with deliberate bugs.
    #[cfg(feature = "bugs")]
    #[must_use]
    pub fn with_bugs(self, bugs: crate::bugs::Bugs) -> Self {
        Self { bugs, ..self }
    }

    /// A peer answered. A later answer of the same peer replaces the earlier one.
    pub fn heard(&mut self, report: Report) -> Result<(), BootstrapError> {
        if report.node == self.own.node {
            return Err(BootstrapError::SamePeerTwice);
        }
        self.reports.insert(report.node, report);
        if self.reports.len() < self.peers { Ok(()) } else { Err(BootstrapError::SamePeerTwice) }
    }

    /// What to do, as far as is known.
    pub fn decide(&self) -> Decision {
        if !self.is_empty {
            return Decision::Resume;
        }
        if let Some(founded) = self.reports.values().find(|report| report.members.is_some()) {
            return self.join(founded);
        }
        let missing = self.peers - 1 - self.reports.len();
        if missing > usize::from(bug!(self.bugs, FoundWithoutOne)) {
            return Decision::Ask { missing };
        }
        let all = self.reports.values().chain([&self.own]);
        self.found(all.map(|report| (report.node, report.directory)).collect())
    }

    /// Somebody has a log. If it was founded with this very directory, nothing was ever lost here: found the same.
    fn join(&self, founded: &Report) -> Decision {
        let members = founded.members.as_deref().unwrap_or_default();
        let mut founders: BTreeMap<_, _> =
            members.iter().map(|member| (member.node, member.directory)).collect();
        let is_ours = |member: &Member| {
            let is_same = member.directory == self.own.directory || bug!(self.bugs, FoundAgainWithoutDisk);
            member.node == self.own.node && is_same
        };
        // One that was added may look like a founder: members are numbered in the order they come. But it is not among
        // the peers that the others were started with, or it still listens; once it votes it has a log.
        let is_founding = Roster::founding(&founders).members().eq(members.iter())
            && (members.len() == self.peers && founded.learners.is_empty()
                || bug!(self.bugs, FoundWhenAdded));
        if is_founding && members.iter().any(is_ours) {
            if bug!(self.bugs, FoundAgainWithoutDisk) {
                founders.insert(self.own.node, self.own.directory);
            }
            self.found(founders)
        } else {
            Decision::Wait { known_by: founded.node }
        }
    }

    fn found(&self, founders: BTreeMap<NodeId, DirectoryId>) -> Decision {
        let roster = Roster::founding(&founders);
        let own = roster.bound_to(self.own.directory).expect("this node is a founder");
        Decision::Found { raft_id: own.raft_id, founders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn report(number: u64, members: Option<Vec<Member>>) -> Report {
        let directory = DirectoryId([number as u8; 16]);
        Report { node: node(number), directory, members, learners: Vec::new() }
    }

    fn founders(numbers: &[u64]) -> BTreeMap<NodeId, DirectoryId> {
        numbers.iter().map(|number| (node(*number), DirectoryId([*number as u8; 16]))).collect()
    }

    fn members(numbers: &[u64]) -> Vec<Member> {
        Roster::founding(&founders(numbers)).members().copied().collect()
    }

    fn empty(peers: usize) -> Bootstrap {
        Bootstrap::new(node(2), DirectoryId([2; 16]), &Loaded::default(), peers).unwrap()
    }

    #[test]
    fn founds_only_when_every_peer_is_reached_and_empty() {
        let mut bootstrap = empty(3);
        assert_eq!(bootstrap.decide(), Decision::Ask { missing: 2 });
        bootstrap.heard(report(1, None)).unwrap();
        assert_eq!(bootstrap.decide(), Decision::Ask { missing: 1 });
        bootstrap.heard(report(3, None)).unwrap();
        let found = Decision::Found { founders: founders(&[1, 2, 3]), raft_id: RaftId::new(2).unwrap() };
        assert_eq!(bootstrap.decide(), found);
    }

    #[test]
    fn all_founders_write_the_same() {
        assert_eq!(founding(&founders(&[3, 1, 2])), founding(&founders(&[1, 2, 3])));
    }

    #[test]
    fn one_voter_founds_alone() {
        let found = Decision::Found { founders: founders(&[2]), raft_id: RaftId::FIRST };
        assert_eq!(empty(1).decide(), found);
    }

    #[test]
    fn node_that_comes_second_founds_what_the_others_founded_with_its_directory() {
        let mut bootstrap = empty(3);
        bootstrap.heard(report(1, Some(members(&[1, 2, 3])))).unwrap();
        let found = Decision::Found { founders: founders(&[1, 2, 3]), raft_id: RaftId::new(2).unwrap() };
        assert_eq!(bootstrap.decide(), found);
    }

    #[test]
    fn member_that_was_added_before_it_started_does_not_found() {
        let mut newcomer = empty(2);
        let added = Report { learners: vec![RaftId::FIRST], ..report(1, Some(members(&[1, 2]))) };
        newcomer.heard(added).unwrap();
        assert_eq!(newcomer.decide(), Decision::Wait { known_by: node(1) });
    }

    #[test]
    fn founder_that_comes_after_others_were_added_does_not_found() {
        let mut late = empty(3);
        late.heard(report(1, Some(members(&[1, 2, 3, 4])))).unwrap();
        assert_eq!(late.decide(), Decision::Wait { known_by: node(1) });
    }

    #[test]
    fn node_that_lost_its_disk_waits_to_be_added() {
        let mut known = members(&[1, 2, 3]);
        known[1].directory = DirectoryId([99; 16]);
        let mut bootstrap = empty(3);
        bootstrap.heard(report(1, Some(known))).unwrap();
        assert_eq!(bootstrap.decide(), Decision::Wait { known_by: node(1) });
    }

    #[test]
    fn group_that_changed_since_its_founding_is_joined_by_being_added() {
        let mut changed = members(&[1, 2, 3]);
        changed.remove(0);
        let mut bootstrap = empty(3);
        bootstrap.heard(report(3, Some(changed))).unwrap();
        assert_eq!(bootstrap.decide(), Decision::Wait { known_by: node(3) });
    }

    #[test]
    fn node_with_a_log_resumes_whatever_its_peers_are() {
        let loaded =
            Loaded { hard_state: HardState { term: 1, ..HardState::default() }, ..Loaded::default() };
        let bootstrap = Bootstrap::new(node(2), DirectoryId([2; 16]), &loaded, 3).unwrap();
        assert_eq!(bootstrap.decide(), Decision::Resume);
    }

    #[test]
    fn peers_are_counted_and_distinct() {
        let none = Bootstrap::new(node(2), DirectoryId([2; 16]), &Loaded::default(), 0);
        assert_eq!(none.unwrap_err(), BootstrapError::PeerCount);
        assert_eq!(empty(2).heard(report(2, None)), Err(BootstrapError::SamePeerTwice));
        let mut bootstrap = empty(2);
        bootstrap.heard(report(1, None)).unwrap();
        bootstrap.heard(report(1, None)).unwrap();
        assert_eq!(bootstrap.heard(report(3, None)), Err(BootstrapError::SamePeerTwice));
    }
}
