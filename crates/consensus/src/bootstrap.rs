//! How a group begins, and how a node finds out what it is in it.
//!
//! An empty directory founds a group from `--peers` (which names this node too, and is the same on all) only if every peer
//! is reached and empty. Founding has two steps, as reports are old when they arrive:
//!
//! 1. A node that heard from every peer lately, all of them empty, writes the founding down. That is its *acknowledgement*:
//!    a directory acknowledges one founding and never another one.
//! 2. It takes part once every founder has acknowledged the same founding, or one of them takes part: then all did.
//!
//! | this directory | a peer says                                              | decision                             |
//! | -------------- | -------------------------------------------------------- | ------------------------------------ |
//! | has a log      | anything                                                 | resume; `--peers` is a hint          |
//! | empty          | nothing, or was empty more than [`REPORT_AGE_MAX`] ago   | ask again                            |
//! | empty          | all of them: empty                                       | acknowledge                          |
//! | empty          | acknowledged a founding with this directory              | acknowledge the same                 |
//! | empty          | acknowledged a founding with another directory of this node | wait: this node lost its disk     |
//! | empty          | has a log in which this directory listens                | join                                 |
//! | empty          | has another log                                          | wait for `cluster add`               |
//! | acknowledged   | all founders: the same acknowledged, or one has that log | open                                 |
//!
//! A founder that acknowledged and lost its disk comes with another directory. It cannot be founded with again: the others
//! keep what they acknowledged, and that names the directory which is gone. If the founding was complete it is removed and
//! added as new; if not, nobody ever took part, and the operator empties the directories of all founders.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::apply::founding_state;
use crate::id::{DirectoryId, RaftId};
use crate::message::{Addresses, Configuration, Founder, HardState, Member, Snapshot};
use crate::roster::Roster;
use crate::storage::{Batch, Loaded, SnapshotWrite};

/// Index and term of the state a group begins with.
const FOUNDING: u64 = 1;
/// Most peers that found a group.
pub const FOUNDERS_MAX: usize = 9;
/// A peer that said it is empty is asked again before a founding counts on it: it may have lost its disk or joined another
/// group since. Longer than a few lost questions, shorter than anybody takes to replace a disk.
pub const REPORT_AGE_MAX: Duration = Duration::from_secs(2);

/// What every founder writes to its empty directory to acknowledge the founding: the same on all of them.
pub(crate) fn acknowledgement(founders: &BTreeMap<NodeId, Founder>) -> Batch {
    let roster = Roster::founding(founders);
    let voters = roster.members().map(|member| member.raft_id).collect();
    let snapshot = Snapshot {
        index: FOUNDING,
        term: FOUNDING,
        configuration: Configuration { voters, ..Configuration::default() },
        state: founding_state(&roster),
    };
    Batch {
        // Nothing is committed before all founders have acknowledged.
        hard_state: Some(HardState { term: FOUNDING, vote: None, commit: 0 }),
        snapshot: Some(SnapshotWrite { snapshot, drop_to: FOUNDING, replaces_log: true }),
        ..Batch::default()
    }
}

/// What a founder writes once all have acknowledged: after a restart it resumes without asking anybody.
pub(crate) fn opening() -> Batch {
    let hard_state = Some(HardState { term: FOUNDING, vote: None, commit: FOUNDING });
    Batch { hard_state, ..Batch::default() }
}

/// The directory of a founder whose group takes part: acknowledged and opened.
pub fn founding(founders: &BTreeMap<NodeId, Founder>) -> Batch {
    Batch { hard_state: opening().hard_state, ..acknowledgement(founders) }
}

/// Whether a directory holds a founding that its node acknowledged and does not know to be complete.
pub(crate) fn is_acknowledged_only(loaded: &Loaded) -> bool {
    let unopened = HardState { term: FOUNDING, vote: None, commit: 0 };
    loaded.hard_state == unopened && loaded.snapshot.index == FOUNDING && loaded.entries.is_empty()
}

/// What a peer says about itself when asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The node that reports.
    pub node: NodeId,
    /// The data directory that it runs on now.
    pub directory: DirectoryId,
    /// Where it is reached.
    pub addresses: Addresses,
    /// How far it is.
    pub state: PeerState,
}

impl Report {
    fn founder(&self) -> Founder {
        Founder { directory: self.directory, addresses: self.addresses }
    }
}

/// How far a peer is on its way into a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerState {
    /// Its directory is empty.
    Empty,
    /// It acknowledged a founding with these members and does not take part yet.
    Acknowledged(Vec<Member>),
    /// It takes part in a group.
    Running {
        /// Its members, as far as its log says.
        members: Vec<Member>,
        /// Those of them that only listen.
        learners: Vec<RaftId>,
    },
}

impl PeerState {
    /// Members of the founding or group it knows of.
    pub fn members(&self) -> &[Member] {
        match self {
            Self::Empty => &[],
            Self::Acknowledged(members) | Self::Running { members, .. } => members,
        }
    }
}

/// What a node with an empty directory does at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Asks peers that did not report lately.
    Ask {
        /// Reports that are missing or too old.
        missing: usize,
    },
    /// Writes [`acknowledgement`] with these founders.
    Acknowledge {
        /// All founders, this node included.
        founders: BTreeMap<NodeId, Founder>,
        /// This node's id in the group.
        raft_id: RaftId,
    },
    /// An operator added it: begins with nothing under this id and gets the log from the leader.
    Join(RaftId),
    /// Waits until an operator adds it.
    Wait {
        /// The peer that has a log, or acknowledged one.
        known_by: NodeId,
        /// Why it does not go on by itself.
        reason: WaitReason,
    },
}

/// Why a node with an empty directory waits for an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitReason {
    /// There is a group, and this node is not in it.
    #[error("the group exists and does not know this data directory; add this node with `cluster add`")]
    NotAdded,
    /// There is a group, and this node votes in it with what it has lost.
    #[error(
        "this node is a member of the group and its data directory is empty; remove it and add it as a new member"
    )]
    LostLog,
    /// Others acknowledged a founding that cannot be completed.
    #[error(
        "a peer acknowledged a founding with another data directory of this node or with other peers; if no founder takes \
         part in a group yet, nothing was accepted: empty the data directories of all founders and start them again"
    )]
    OtherFounding,
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

/// A node with an empty directory at its start.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    node: NodeId,
    own: Founder,
    /// Peers named, this node included.
    peers: usize,
    /// The last report of each, and when it came.
    reports: BTreeMap<NodeId, (Report, Now)>,
    #[cfg(feature = "bugs")]
    bugs: crate::bugs::Bugs,
}

impl Bootstrap {
    /// With how many peers are configured, itself included.
    pub fn new(node: NodeId, own: Founder, peers: usize) -> Result<Self, BootstrapError> {
        if !(1..=FOUNDERS_MAX).contains(&peers) {
            return Err(BootstrapError::PeerCount);
        }
        Ok(Self {
            node,
            own,
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

    /// A peer reported. A later report of the same peer replaces the earlier one. With more of them than peers are named,
    /// one came back as another node: the oldest report goes.
    pub fn heard(&mut self, now: Now, report: Report) -> Result<(), BootstrapError> {
        if report.node == self.node {
            return Err(BootstrapError::SamePeerTwice);
        }
        self.reports.insert(report.node, (report, now));
        if self.reports.len() >= self.peers {
            let oldest = self.reports.iter().min_by_key(|(_, (_, heard))| *heard).map(|(node, _)| *node);
            oldest.and_then(|node| self.reports.remove(&node));
        }
        Ok(())
    }

    /// What to do, as far as is known.
    pub fn decide(&self, now: Now) -> Decision {
        let reports = || self.reports.values().map(|(report, _)| report);
        let is_in_group = |report: &&Report| matches!(report.state, PeerState::Running { .. });
        // Reports of peers that died since may be older than what made this node a member: one that knows it is enough.
        let known = reports().find(|report| self.listens(report));
        let known = known.or_else(|| reports().find(is_in_group));
        if let Some(report) = known.or_else(|| reports().find(|it| it.state != PeerState::Empty)) {
            return self.follow(report);
        }
        let fresh = || self.reports.values().filter(|(_, heard)| now.since(*heard) <= REPORT_AGE_MAX);
        let missing = self.peers - 1 - fresh().count();
        let is_one_left_out = self.peers > 4 && bug!(self.bugs, FoundWithoutOne);
        if missing > usize::from(is_one_left_out) {
            return Decision::Ask { missing };
        }
        let peers = fresh().map(|(report, _)| (report.node, report.founder()));
        self.acknowledge(peers.chain([(self.node, self.own)]).collect())
    }

    /// Whether a peer's group has this directory as a learner.
    fn listens(&self, report: &Report) -> bool {
        let PeerState::Running { members, learners } = &report.state else { return false };
        let is_own = |member: &&Member| member.node == self.node && member.directory == self.own.directory;
        members.iter().find(is_own).is_some_and(|own| learners.contains(&own.raft_id))
    }

    /// A peer has a log, or is about to.
    #[cfg_attr(
        not(feature = "bugs"),
        expect(clippy::overly_complex_bool_expr, reason = "without deliberate bugs an arm is never taken")
    )]
    fn follow(&self, report: &Report) -> Decision {
        let members = report.state.members();
        let is_same =
            |it: &Member| it.directory == self.own.directory || bug!(self.bugs, FoundAgainWithoutDisk);
        let own = members.iter().find(|it| it.node == self.node && is_same(it));
        match (&report.state, own) {
            (PeerState::Acknowledged(_), Some(_)) if members.len() == self.peers => {
                let founders = members.iter().map(|member| (member.node, member.founder()));
                self.acknowledge(founders.chain([(self.node, self.own)]).collect())
            }
            (PeerState::Running { learners, .. }, Some(own))
                if bug!(self.bugs, FoundAgainWithoutDisk) && !learners.contains(&own.raft_id)
                    || bug!(self.bugs, FoundWhenAdded) =>
            {
                let founders = members.iter().map(|member| (member.node, member.founder()));
                self.acknowledge(founders.chain([(self.node, self.own)]).collect())
            }
            // A directory that votes has acknowledged something: an empty one lost it.
            (PeerState::Running { learners, .. }, Some(own)) if learners.contains(&own.raft_id) => {
                Decision::Join(own.raft_id)
            }
            (PeerState::Running { .. }, own) => {
                let is_member = own.is_some() || members.iter().any(|member| member.node == self.node);
                let reason = if is_member { WaitReason::LostLog } else { WaitReason::NotAdded };
                Decision::Wait { known_by: report.node, reason }
            }
            _ => Decision::Wait { known_by: report.node, reason: WaitReason::OtherFounding },
        }
    }

    fn acknowledge(&self, founders: BTreeMap<NodeId, Founder>) -> Decision {
        let roster = Roster::founding(&founders);
        let own = roster.bound_to(self.own.directory).expect("this node is a founder");
        Decision::Acknowledge { raft_id: own.raft_id, founders }
    }
}

/// A founding that this node acknowledged, until all founders have.
#[derive(Clone, Debug)]
pub struct Founding {
    members: Vec<Member>,
    missing: BTreeSet<NodeId>,
}

impl Founding {
    /// Acknowledged by this node only, as far as is known.
    pub fn new(own: NodeId, roster: &Roster) -> Self {
        let members: Vec<Member> = roster.members().copied().collect();
        let missing = members.iter().map(|member| member.node).filter(|node| *node != own).collect();
        Self { members, missing }
    }

    /// Returns the founders with the raft ids they get.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A founder reported. What it acknowledged it never takes back, so reports do not age here.
    pub fn heard(&mut self, report: &Report) {
        let is_same = |members: &[Member]| members == self.members;
        match &report.state {
            PeerState::Acknowledged(members) if is_same(members) => {
                self.missing.remove(&report.node);
            }
            // Whoever takes part knew that all had acknowledged. The group may have changed since; its directories are not
            // used again, so that one which knows this founding's members is this founding's group.
            PeerState::Running { members, .. }
                if members.iter().any(|member| self.members.contains(member)) =>
            {
                self.missing.clear();
            }
            _ => {}
        }
    }

    /// Whether all founders have acknowledged it.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }
}

#[cfg(test)]
mod tests;
