//! Calls of this host and of other replicas, from the question to the one reply.
//!
//! ```text
//! host ── Call ──► leads? ── yes ──► group ──► Reply
//!                    │ no
//!                    └──► Propose, ReadIndex to the leader ──► Proposed, ReadIndexAnswer ──► Reply
//!                                                                 (a read waits for the own state first)
//! ```
//!
//! A question to the leader that is not answered fails after [`PATIENCE`] more than the group itself takes; what became of
//! it is not known then. A leader never passes a question on: two replicas that take each other for the leader would send
//! it back and forth.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::action::ProposeError;
use crate::id::{ProposalId, ReadId};
use crate::replica::CallId;

/// How much longer than the group an unanswered question to the leader waits.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Who waits for something the own group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// The host of this replica.
    Host(CallId),
    /// Another replica, under its own number.
    Peer(NodeId, u64),
}

/// A question that the leader was asked for the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) call: CallId,
    since: Now,
}

/// Open calls. All of them end: by an answer, with leadership, or after their time.
#[derive(Debug)]
pub(super) struct Calls {
    last: u64,
    proposed: BTreeMap<ProposalId, Caller>,
    reading: BTreeMap<ReadId, Caller>,
    asked: BTreeMap<u64, Asked>,
    /// Reads of the host that wait until the own state has come this far, with when they were asked.
    behind: Vec<(u64, Asked)>,
}

impl Calls {
    pub(super) fn new(first_number: u64) -> Self {
        Self {
            last: first_number,
            proposed: BTreeMap::new(),
            reading: BTreeMap::new(),
            asked: BTreeMap::new(),
            behind: Vec::new(),
        }
    }

    /// A number that was not used before.
    pub(super) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn propose(&mut self, proposal: ProposalId, caller: Caller) {
        self.proposed.insert(proposal, caller);
    }

    pub(super) fn read(&mut self, read: ReadId, caller: Caller) {
        self.reading.insert(read, caller);
    }

    pub(super) fn proposal_settled(&mut self, proposal: ProposalId) -> Option<Caller> {
        self.proposed.remove(&proposal)
    }

    pub(super) fn read_settled(&mut self, read: ReadId) -> Option<Caller> {
        self.reading.remove(&read)
    }

    /// Questions to the leader and reads that wait for the own state.
    pub(super) fn waiting(&self) -> usize {
        self.asked.len() + self.behind.len()
    }

    /// The leader is asked; the number of the question.
    pub(super) fn ask(&mut self, now: Now, call: CallId) -> u64 {
        let number = self.number();
        self.asked.insert(number, Asked { call, since: now });
        number
    }

    /// The leader answered; `None` if nobody waits any more.
    pub(super) fn answered(&mut self, number: u64) -> Option<Asked> {
        self.asked.remove(&number)
    }

    /// The leader says how far the state must have come.
    pub(super) fn wait_for(&mut self, index: u64, asked: Asked) {
        self.behind.push((index, asked));
    }

    /// Reads that the state is fresh enough for now.
    pub(super) fn fresh(&mut self, applied: u64) -> Vec<(u64, CallId)> {
        let fresh = self.behind.extract_if(.., |(index, _)| *index <= applied);
        fresh.map(|(index, asked)| (index, asked.call)).collect()
    }

    /// Calls that have waited longer than they may.
    pub(super) fn overdue(&mut self, now: Now, patience: Duration) -> Vec<CallId> {
        let is_due = |asked: &Asked| now.since(asked.since) >= patience;
        let asked = self.asked.extract_if(.., |_, asked| is_due(asked)).map(|(_, asked)| asked.call);
        let mut due: Vec<CallId> = asked.collect();
        due.extend(self.behind.extract_if(.., |(_, asked)| is_due(asked)).map(|(_, asked)| asked.call));
        due
    }
}

/// Whether the leader may be asked instead; everything else would be refused there too, or is not known to be.
pub(super) fn is_for_the_leader(error: ProposeError) -> bool {
    matches!(error, ProposeError::NotLeader { .. })
}
