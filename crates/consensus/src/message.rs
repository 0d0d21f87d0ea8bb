//! What replicas say to each other and keep, as plain data. raft-rs speaks its own types; `convert` maps field by field.
//!
//! Messages that raft-rs knows but peers must not send (proposals, read-index requests, transfer requests, everything
//! local) have no word here: followers use requests of the layer above, which return the result of applying.

use std::fmt;
use std::net::SocketAddr;

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId};

use crate::apply::StateHash;
use crate::id::{DirectoryId, RaftId};

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// The leader sends entries.
    Append,
    /// Answer to entries or to a snapshot.
    AppendResponse,
    /// A candidate asks for a vote.
    Vote,
    /// Answer to it.
    VoteResponse,
    /// Somebody asks whether he would be voted for.
    PreVote,
    /// Answer to it.
    PreVoteResponse,
    /// The leader sends a snapshot.
    Snapshot,
    /// The leader is there, and knows this much to be committed.
    Heartbeat,
    /// Answer to it.
    HeartbeatResponse,
    /// The leader hands over: campaign now.
    TimeoutNow,
}

impl MessageKind {
    /// Whether it answers something, and therefore only a member may say it.
    pub const fn is_response(self) -> bool {
        matches!(
            self,
            Self::AppendResponse | Self::VoteResponse | Self::PreVoteResponse | Self::HeartbeatResponse
        )
    }
}

/// One message between two replicas. Which fields mean something depends on the kind, as in the Raft thesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Request or response, and of which part of the protocol.
    pub kind: MessageKind,
    /// The member it is for.
    pub to: RaftId,
    /// The member that sent it; compared with the node of its connection before it is believed.
    pub from: RaftId,
    /// Term of the sender; of a pre-vote the term it would begin.
    pub term: u64,
    /// Term of the entry at `index`.
    pub log_term: u64,
    /// Entry before `entries`, last entry of a candidate, or entry answered about.
    pub index: u64,
    /// Entries of an append.
    pub entries: Vec<Entry>,
    /// What the sender knows to be committed.
    pub commit: u64,
    /// Term of the entry at `commit`.
    pub commit_term: u64,
    /// In an install-snapshot message only.
    pub snapshot: Option<Snapshot>,
    /// The answer is no, and where to try next.
    pub rejection: Option<u64>,
    /// Carried back unchanged by the answer.
    pub context: Bytes,
    /// Priority of a candidate.
    pub priority: i64,
    /// What the sender's state was after an entry; on heartbeats and their answers.
    pub proof: Option<StateProof>,
    /// Blobs that the sender's state names are missing on its disk; on answers to heartbeats.
    pub lacks_blobs: bool,
}

impl Message {
    /// The message that brings a snapshot: all that such a message says.
    pub fn of_snapshot(from: RaftId, to: RaftId, term: u64, snapshot: Snapshot) -> Self {
        Self {
            kind: MessageKind::Snapshot,
            to,
            from,
            term,
            log_term: 0,
            index: 0,
            entries: Vec::new(),
            commit: 0,
            commit_term: 0,
            snapshot: Some(snapshot),
            rejection: None,
            context: Bytes::new(),
            priority: 0,
            proof: None,
            lacks_blobs: false,
        }
    }
}

/// Hash of the state after an entry: equal on all replicas or one of them is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateProof {
    /// The entry after which the hash was taken.
    pub index: u64,
    /// The rolling hash over everything applied so far.
    pub hash: StateHash,
}

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place. Of an entry that grants something, the token.
    pub index: u64,
    /// Term of the leader that wrote it.
    pub term: u64,
    /// A command, a change of the configuration, or nothing: the first entry of a leader.
    pub body: EntryBody,
}

/// What an entry says. A command may carry secrets: `Debug` shows its size only.
#[derive(Clone, PartialEq, Eq)]
pub enum EntryBody {
    /// Nothing: a leader begins its term with it.
    Empty,
    /// A command to the machine, encoded.
    Command(Bytes),
    /// A change of the configuration.
    Configuration(ConfigurationChange),
}

impl fmt::Debug for EntryBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "Empty"),
            Self::Command(bytes) => write!(f, "Command({} bytes)", bytes.len()),
            Self::Configuration(change) => f.debug_tuple("Configuration").field(change).finish(),
        }
    }
}

impl EntryBody {
    /// Roughly what it takes in memory and on disk.
    pub fn size(&self) -> usize {
        const OVERHEAD: usize = 32;
        match self {
            Self::Empty => OVERHEAD,
            Self::Command(bytes) => OVERHEAD + bytes.len(),
            Self::Configuration(change) => OVERHEAD * (1 + change.steps.len()),
        }
    }
}

/// A change of the configuration: always entered as a joint one; without steps the joint one is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigurationChange {
    /// Members that come, change or go; none: the joint configuration is left.
    pub steps: Vec<ConfigurationStep>,
    /// The member that comes, so that every replica binds its id to its directory.
    pub member: Option<Member>,
}

/// One step of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationStep {
    /// The member votes from now on; it was a learner, or is new.
    AddVoter(RaftId),
    /// The member gets the log and does not vote.
    AddLearner(RaftId),
    /// The member leaves the group; its id is never used again.
    Remove(RaftId),
}

/// Who a raft id belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id in the group.
    pub raft_id: RaftId,
    /// The node that takes part under this id.
    pub node: NodeId,
    /// The data directory it lives in.
    pub directory: DirectoryId,
    /// Where it is reached. If it moved, the leader changes this as soon as it hears of it.
    pub addresses: Addresses,
    /// The life of the node in which it was reached there; zero for what it was founded or added with. It orders moves: see
    /// [`ChangeError::EarlierLife`](crate::ChangeError::EarlierLife).
    pub boot: BootEpoch,
}

/// The leader as the log knows it. A client that asked another replica sends its request there instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The node it runs on.
    pub node: NodeId,
    /// Where that is reached.
    pub addresses: Addresses,
}

/// Where a member is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Of its datagrams and streams.
    pub peer: SocketAddr,
    /// Of its HTTP API, for clients that are to ask there.
    pub api: Option<SocketAddr>,
}

#[cfg(test)]
impl Addresses {
    /// Of the node with this number.
    pub(crate) fn example(number: u8) -> Self {
        let at = |port| SocketAddr::from(([10, 0, 0, number], port));
        Self { peer: at(7101), api: Some(at(7100)) }
    }
}

impl Member {
    /// What it was when it founded or was added.
    pub(crate) fn founder(&self) -> Founder {
        Founder { directory: self.directory, addresses: self.addresses }
    }
}

/// A node that founds a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Founder {
    /// The data directory it founds with; a founder with another one is not the same.
    pub directory: DirectoryId,
    /// Where it is reached.
    pub addresses: Addresses,
}

/// What must survive a restart beside the log. The commit index is written with the next entries:
/// what was committed since is said again by the leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardState {
    /// The highest term seen.
    pub term: u64,
    /// Who was voted for in it.
    pub vote: Option<RaftId>,
    /// Known to be committed.
    pub commit: u64,
}

/// The voters and learners, as the committed log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Members whose majority decides.
    pub voters: Vec<RaftId>,
    /// Members that get the log and do not count.
    pub learners: Vec<RaftId>,
    /// Who voted before; not empty while a change is under way, and then both majorities are needed.
    pub voters_outgoing: Vec<RaftId>,
    /// Who will listen when the change is done.
    pub learners_next: Vec<RaftId>,
}

impl Configuration {
    /// Whether a change is under way.
    pub fn is_joint(&self) -> bool {
        !self.voters_outgoing.is_empty()
    }

    /// The step that leaves a member what it is.
    pub(crate) fn step_of(&self, id: RaftId) -> ConfigurationStep {
        if self.voters.contains(&id) {
            ConfigurationStep::AddVoter(id)
        } else {
            ConfigurationStep::AddLearner(id)
        }
    }

    /// Whether this member votes, by the new configuration or by the old one.
    pub fn is_voter(&self, id: RaftId) -> bool {
        self.voters.contains(&id) || self.voters_outgoing.contains(&id)
    }

    /// Whether this member is in it at all.
    pub fn contains(&self, id: RaftId) -> bool {
        self.is_voter(id) || self.learners.contains(&id) || self.learners_next.contains(&id)
    }

    /// How many of the voters must agree.
    pub fn quorum(&self) -> usize {
        self.voters.len() / 2 + 1
    }
}

/// The state after an entry, in place of everything up to it. It may carry secrets: `Debug` shows its size only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The last entry that it covers.
    pub index: u64,
    /// Term of that entry.
    pub term: u64,
    /// The configuration after it.
    pub configuration: Configuration,
    /// Members, rolling hash and state of the machine, encoded by `apply`.
    pub state: Bytes,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("index", &self.index)
            .field("term", &self.term)
            .field("configuration", &self.configuration)
            .field("state_bytes", &self.state.len())
            .finish()
    }
}
