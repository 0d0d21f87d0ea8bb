//! Messages are looked at before raft-rs sees them: it trusts its peers and panics where they contradict themselves.
//!
//! | refused                                            | because                                                   |
//! | -------------------------------------------------- | --------------------------------------------------------- |
//! | receiver is another one                            | misrouted                                                 |
//! | sender is this node or was removed                 | ids are never reused                                      |
//! | sender was never a member, as far as is known      | a message of anybody would be obeyed                      |
//! | sender is the node of another member               | a member speaks for itself                                |
//! | answer of somebody who is not in the configuration | raft-rs counts answers of members only                    |
//! | hand-over by somebody who does not lead            | anybody could start elections                             |
//! | heartbeat that commits beyond the log              | this disk lost what was acknowledged; raft-rs would panic |
//! | entries with gaps, or against committed ones       | two histories; raft-rs would panic                        |
//! | entries without a term, or after one without        | raft-rs takes it for a match beyond its log, and panics   |
//! | answer about entries that do not exist             | the peer has another history                              |
//! | snapshot without a term, or with an impossible configuration | raft-rs would panic                             |
//! | terms and indexes near overflow                    | raft-rs adds one                                          |
//! | no term                                            | raft-rs takes it for a message of its own and obeys it    |
//!
//! A replica that is behind has to listen to a leader that joined meanwhile, and to vote for it. Its own log does not name that
//! one, so a member has to: what members say about newer ones is *vouched* for, and nobody else is listened to.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::NodeId;
use raft::RaftLog;

use crate::id::RaftId;
use crate::log::Log;
use crate::message::{Configuration, Message, MessageKind, Snapshot};
use crate::roster::Roster;

/// Largest term or index that is believed.
const NUMBER_MAX: u64 = 1 << 60;

/// Why a message was not taken. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum MessageRefusal {
    /// For another replica.
    #[error("message is for another replica")]
    NotForUs,
    /// From somebody who is not a member any more, or answers without being one.
    #[error("sender is not a member")]
    UnknownSender,
    /// From an id that was never a member: neither this log nor another member knows it.
    #[error("sender was never a member, as far as this replica and the members it knows can say")]
    NeverMember,
    /// From a node that is another member, or none.
    #[error("message is of a member that is another node")]
    Impersonated,
    /// A hand-over by somebody who does not lead.
    #[error("only the leader hands over")]
    NotFromLeader,
    /// Commits entries that this log does not have.
    #[error("commits entries this log does not have: the disk lost what was acknowledged")]
    CommitBeyondLog,
    /// Contradicts committed entries, or itself.
    #[error("entries contradict the committed log or have gaps")]
    BadEntries,
    /// About entries that do not exist.
    #[error("answers about entries that do not exist")]
    BadAnswer,
    /// A configuration that cannot be.
    #[error("snapshot has an impossible configuration")]
    BadSnapshot,
    /// Terms or indexes that cannot be.
    #[error("term or index out of range")]
    BadNumber,
    /// This replica has stopped.
    #[error("replica has stopped")]
    Halted,
}

/// What a message is compared with.
pub(crate) struct View<'a> {
    pub(crate) id: RaftId,
    pub(crate) leader: Option<RaftId>,
    /// Entries that are not on disk yet included.
    pub(crate) log: &'a RaftLog<Log>,
    pub(crate) roster: &'a Roster,
    /// Members that this log does not know yet, as others said.
    pub(crate) vouched: &'a BTreeMap<RaftId, NodeId>,
    pub(crate) configuration: &'a Configuration,
}

impl View<'_> {
    /// Whether raft-rs may see the message of that node.
    pub(crate) fn check(&self, sender: NodeId, message: &Message) -> Result<(), MessageRefusal> {
        let require = |holds: bool, refusal: MessageRefusal| if holds { Ok(()) } else { Err(refusal) };
        require(message.to == self.id, MessageRefusal::NotForUs)?;
        let node = self.known_sender(message)?;
        require(node == sender, MessageRefusal::Impersonated)?;
        let last = self.log.last_index();
        let numbers = [message.term, message.log_term, message.index, message.commit, message.commit_term];
        let in_range = message.term > 0 && numbers.iter().all(|number| *number < NUMBER_MAX);
        require(in_range, MessageRefusal::BadNumber)?;
        match message.kind {
            MessageKind::TimeoutNow => {
                require(self.leader == Some(message.from), MessageRefusal::NotFromLeader)
            }
            MessageKind::Heartbeat => require(message.commit <= last, MessageRefusal::CommitBeyondLog),
            MessageKind::Append => require(self.is_consistent(message), MessageRefusal::BadEntries),
            MessageKind::AppendResponse => {
                let exists = message.index <= last && message.rejection.unwrap_or_default() <= last;
                require(exists, MessageRefusal::BadAnswer)
            }
            MessageKind::Snapshot => {
                let sound = message.snapshot.as_ref().is_some_and(is_sound);
                require(sound, MessageRefusal::BadSnapshot)
            }
            _ => Ok(()),
        }
    }

    /// The node that the sender's id belongs to.
    fn known_sender(&self, message: &Message) -> Result<NodeId, MessageRefusal> {
        let from = message.from;
        let is_newer = self.roster.is_beyond(from) && !message.kind.is_response();
        let member = self.roster.member(from).filter(|_| self.configuration.contains(from));
        match member {
            _ if from == self.id => Err(MessageRefusal::UnknownSender),
            Some(member) => Ok(member.node),
            None if is_newer => self.vouched.get(&from).copied().ok_or(MessageRefusal::NeverMember),
            None => Err(MessageRefusal::UnknownSender),
        }
    }

    fn is_consistent(&self, message: &Message) -> bool {
        // raft-rs takes entries it does not have for entries of term 0, and would append behind a gap.
        let has_terms = (message.index == 0) == (message.log_term == 0)
            && message.entries.iter().all(|entry| entry.term > 0);
        let in_order =
            message.entries.iter().zip(message.index + 1..).all(|(entry, index)| entry.index == index);
        let terms = std::iter::once(message.log_term).chain(message.entries.iter().map(|entry| entry.term));
        // What was compacted cannot be compared; raft-rs answers it with how far this log is.
        let known = self.log.first_index()..=self.log.committed;
        let mut settled = message.entries.iter().filter(|entry| known.contains(&entry.index));
        has_terms
            && in_order
            && terms.is_sorted()
            && message.entries.last().is_none_or(|entry| entry.term <= message.term)
            && settled.all(|entry| self.log.term(entry.index).is_ok_and(|term| term == entry.term))
    }
}

/// Whether a configuration can be: somebody votes, nobody twice, who will listen votes now.
fn is_sound(snapshot: &Snapshot) -> bool {
    let configuration = &snapshot.configuration;
    let distinct = |ids: &[RaftId]| ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
    let listens_only = |id: &RaftId| !configuration.is_voter(*id);
    let steps_down =
        |id: &RaftId| configuration.voters_outgoing.contains(id) && !configuration.voters.contains(id);
    snapshot.index > 0
        && snapshot.index < NUMBER_MAX
        && (1..NUMBER_MAX).contains(&snapshot.term)
        && !configuration.voters.is_empty()
        && distinct(&configuration.voters)
        && distinct(&configuration.learners)
        && distinct(&configuration.voters_outgoing)
        && distinct(&configuration.learners_next)
        && configuration.learners.iter().all(listens_only)
        && configuration.learners_next.iter().all(steps_down)
}
