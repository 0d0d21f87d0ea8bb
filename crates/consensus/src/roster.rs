//! Who is in the group: raft ids, the directories they are bound to, and the id that comes next.
//!
//! Part of the replicated state: changed only by applied configuration entries, the same way on every replica. Ids are
//! never reused: the next one only grows, and a directory that was ever bound is not bound again.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::messages as wire;
use prost::Message as _;

use crate::id::{DirectoryId, RaftId};
use crate::message::{Configuration, ConfigurationChange, ConfigurationStep, Founder, Member};
use crate::record;

/// Most directories of former members that are remembered; the oldest are forgotten first.
pub const RETIRED_MAX: usize = 1024;

/// Members of a group by raft id, as the log names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    members: BTreeMap<RaftId, Member>,
    retired: BTreeMap<RaftId, DirectoryId>,
    next: RaftId,
}

/// Why a change of the configuration is not made. It changes nothing then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Another one is not finished.
    #[error("another configuration change is under way")]
    Pending,
    /// The directory belongs to a member, or did.
    #[error(
        "this data directory belongs or belonged to member {0}; a node that comes back needs an empty one"
    )]
    DirectoryKnown(RaftId),
    /// The node has another member id already.
    #[error("this node is member {0} already; remove that one first")]
    NodeKnown(RaftId),
    /// Somebody else got the id.
    #[error("the raft id was allocated to another member meanwhile")]
    IdTaken,
    /// No such member.
    #[error("no member with this raft id")]
    UnknownMember,
    /// Only learners become voters.
    #[error("the member is not a learner")]
    NotLearner,
    /// Nobody would be left to decide.
    #[error("the last voter cannot be removed")]
    LastVoter,
    /// A leader hands over first.
    #[error("the leader hands over before it is removed")]
    IsLeader,
    /// Only the leader changes the configuration.
    #[error("not the leader")]
    NotLeader,
    /// The member is reached there already.
    #[error("the member has these addresses already")]
    SameAddresses,
    /// These addresses are of an earlier life of the member than those that are known, or of the same: a leader that heard of
    /// them before it was told of the newer ones must not bring them back.
    #[error("addresses of a later life of the member are known")]
    EarlierLife,
    /// raft-rs did not apply it, though the checks above passed.
    #[error("the change was not applied: {0}")]
    NotApplied(&'static str),
}

impl ChangeError {
    /// Why raft-rs did not apply a change, in its words where they are known.
    pub(crate) fn not_applied(error: &raft::Error) -> Self {
        const KNOWN: [&str; 8] = [
            "config is already joint",
            "can't make a zero-voter config joint",
            "can't leave a non-joint config",
            "configuration is not joint",
            "removed all voters",
            "no progress for voter",
            "no progress for learner",
            "is in learners and",
        ];
        let text = error.to_string();
        let known = KNOWN.into_iter().find(|known| text.contains(known));
        Self::NotApplied(known.unwrap_or("the protocol refused it for another reason"))
    }
}

impl Default for Roster {
    fn default() -> Self {
        Self { members: BTreeMap::new(), retired: BTreeMap::new(), next: RaftId::FIRST }
    }
}

impl Roster {
    /// The members of a new group, numbered in the order of their node ids, the same on all founders.
    pub fn founding(founders: &BTreeMap<NodeId, Founder>) -> Self {
        let mut roster = Self::default();
        for (&node, &Founder { directory, addresses }) in founders {
            let raft_id = roster.next;
            roster
                .members
                .insert(raft_id, Member { raft_id, node, directory, addresses, boot: BootEpoch(0) });
            roster.next = raft_id.next();
        }
        roster
    }

    /// All of them, by raft id.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.members.values()
    }

    /// The member with this id.
    pub fn member(&self, id: RaftId) -> Option<&Member> {
        self.members.get(&id)
    }

    /// The member that lives in this directory.
    pub fn bound_to(&self, directory: DirectoryId) -> Option<&Member> {
        self.members.values().find(|member| member.directory == directory)
    }

    /// The id the next member gets.
    pub fn next_id(&self) -> RaftId {
        self.next
    }

    /// Whether this id was allocated after everything this roster knows, so that nothing can be said about it.
    pub fn is_beyond(&self, id: RaftId) -> bool {
        id >= self.next
    }

    /// Whether the change is allowed on top of what is.
    pub fn check(&self, change: &ConfigurationChange, now: &Configuration) -> Result<(), ChangeError> {
        if now.is_joint() != change.steps.is_empty() {
            return Err(ChangeError::Pending);
        }
        let moved = self.moved(change);
        if let Some(member) = change.member.as_ref().filter(|_| moved.is_none()) {
            self.check_member(member)?;
        }
        if let Some(id) = moved {
            return self.check_move(id, change, now);
        }
        let mut voters: BTreeSet<RaftId> = now.voters.iter().copied().collect();
        for step in &change.steps {
            self.check_step(*step, change.member.as_ref(), now)?;
            match *step {
                ConfigurationStep::AddVoter(id) => voters.insert(id),
                ConfigurationStep::AddLearner(id) | ConfigurationStep::Remove(id) => voters.remove(&id),
            };
        }
        if voters.is_empty() { Err(ChangeError::LastVoter) } else { Ok(()) }
    }

    fn check_move(
        &self,
        id: RaftId,
        change: &ConfigurationChange,
        now: &Configuration,
    ) -> Result<(), ChangeError> {
        if change.steps != [now.step_of(id)] {
            return Err(ChangeError::UnknownMember);
        }
        let boots =
            self.members.get(&id).zip(change.member.as_ref()).map(|(known, it)| (known.boot, it.boot));
        if boots.is_some_and(|(known, said)| said <= known) { Err(ChangeError::EarlierLife) } else { Ok(()) }
    }

    /// The member that is reached elsewhere after this change.
    pub(crate) fn moved(&self, change: &ConfigurationChange) -> Option<RaftId> {
        let member = change.member.as_ref()?;
        let known = self.members.get(&member.raft_id)?;
        let is_same = (known.node, known.directory) == (member.node, member.directory);
        is_same.then_some(member.raft_id)
    }

    fn check_member(&self, member: &Member) -> Result<(), ChangeError> {
        let retired = self.retired.iter().find(|(_, directory)| **directory == member.directory);
        let known = self.bound_to(member.directory).map(|known| known.raft_id);
        if let Some(id) = known.or(retired.map(|(id, _)| *id)) {
            return Err(ChangeError::DirectoryKnown(id));
        }
        if let Some(other) = self.members.values().find(|other| other.node == member.node) {
            return Err(ChangeError::NodeKnown(other.raft_id));
        }
        if member.raft_id == self.next { Ok(()) } else { Err(ChangeError::IdTaken) }
    }

    fn check_step(
        &self,
        step: ConfigurationStep,
        newcomer: Option<&Member>,
        now: &Configuration,
    ) -> Result<(), ChangeError> {
        match step {
            ConfigurationStep::AddLearner(id) => {
                let announced = newcomer.is_some_and(|member| member.raft_id == id);
                if announced { Ok(()) } else { Err(ChangeError::UnknownMember) }
            }
            ConfigurationStep::AddVoter(id) => {
                if now.learners.contains(&id) {
                    Ok(())
                } else {
                    Err(ChangeError::NotLearner)
                }
            }
            ConfigurationStep::Remove(id) => {
                if now.contains(id) && self.members.contains_key(&id) {
                    Ok(())
                } else {
                    Err(ChangeError::UnknownMember)
                }
            }
        }
    }

    /// Makes a change that [`Roster::check`] allowed; `after` is the configuration with it. A voter that goes is a member for
    /// as long as the configuration is joint: its vote still counts, so others must know where to reach it.
    pub(crate) fn make(&mut self, change: &ConfigurationChange, after: &Configuration) {
        if let Some(member) = change.member {
            self.members.insert(member.raft_id, member);
            self.next = self.next.max(member.raft_id.next());
        }
        let gone = self.members.extract_if(.., |id, _| !after.contains(*id));
        self.retired.extend(gone.map(|(id, member)| (id, member.directory)));
        while self.retired.len() > RETIRED_MAX {
            self.retired.pop_first();
        }
    }

    /// The roster as bytes, with their length before them.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        let retired = |(id, directory): (&RaftId, &DirectoryId)| {
            let directory_id = Bytes::copy_from_slice(&directory.0);
            wire::Member { raft_id: id.get(), node: None, directory_id }
        };
        let written = wire::Roster {
            next_raft_id: self.next.get(),
            members: self.members.values().copied().map(record::member_out).collect(),
            retired: self.retired.iter().map(retired).collect(),
        };
        written.encode_length_delimited(out).expect("a buffer that grows has room");
    }

    /// Reads what [`Roster::write`] wrote, and takes it off the bytes.
    pub(crate) fn read(bytes: &mut Bytes) -> Option<Self> {
        let written = wire::Roster::decode_length_delimited(bytes).ok()?;
        let mut roster = Self { next: RaftId::new(written.next_raft_id)?, ..Self::default() };
        for member in written.members {
            let member = record::member_in(member).ok()?;
            roster.members.insert(member.raft_id, member);
        }
        for retired in written.retired {
            let directory = record::directory_in(&retired.directory_id).ok()?;
            roster.retired.insert(RaftId::new(retired.raft_id)?, directory);
        }
        Some(roster)
    }
}
