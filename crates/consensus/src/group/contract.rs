//! The contract of a replicated log, and how it is kept.

use bytes::Bytes;
use hyperscale_types::{NodeId, Now};

use super::{Change, RaftGroup, TransferError};
use crate::action::{Action, ProposeError};
use crate::apply::Machine;
use crate::check::MessageRefusal;
use crate::id::{ProposalId, RaftId, ReadId, Ticket};
use crate::message::Message;

/// A replica of a replicated log.
pub trait LogGroup {
    /// What applying a command returns.
    type Outcome;

    /// Proposes a command; only the leader does. Its outcome comes as `Applied` or `Failed`.
    fn propose(&mut self, now: Now, proposal: ProposalId, command: Bytes) -> Result<(), ProposeError>;

    /// Takes a message that came from this node, as the host has authenticated it.
    fn step(&mut self, now: Now, sender: NodeId, message: Message) -> Result<(), MessageRefusal>;

    /// Lets time pass. To be called at [`LogGroup::next_tick`].
    fn tick(&mut self, now: Now);

    /// When to call `tick` again.
    fn next_tick(&self) -> Now;

    /// Everything up to this batch is durable.
    fn persisted(&mut self, ticket: Ticket);

    /// Asks for a state to decide on; only the leader does. The answer comes as `ReadReady` or `ReadFailed`.
    fn read_index(&mut self, now: Now, read: ReadId) -> Result<(), ProposeError>;

    /// Hands leadership over, to the healthiest voter that is up to date if none is named.
    fn transfer(&mut self, now: Now, to: Option<RaftId>) -> Result<RaftId, TransferError>;

    /// Proposes a change of the configuration, one at a time.
    fn change(&mut self, now: Now, proposal: ProposalId, change: Change) -> Result<(), ProposeError>;

    /// What there is to do.
    fn ready(&mut self, now: Now, out: &mut Vec<Action<Self::Outcome>>);
}

impl<M: Machine> LogGroup for RaftGroup<M> {
    type Outcome = M::Outcome;

    fn propose(&mut self, now: Now, proposal: ProposalId, command: Bytes) -> Result<(), ProposeError> {
        self.on_propose(now, proposal, command)
    }

    fn step(&mut self, now: Now, sender: NodeId, message: Message) -> Result<(), MessageRefusal> {
        self.on_step(now, sender, message)
    }

    fn tick(&mut self, now: Now) {
        self.on_tick(now);
    }

    fn next_tick(&self) -> Now {
        self.state.ticked.plus(self.config.tick)
    }

    fn persisted(&mut self, ticket: Ticket) {
        self.on_persisted(ticket);
    }

    fn read_index(&mut self, now: Now, read: ReadId) -> Result<(), ProposeError> {
        self.on_read(now, read)
    }

    fn transfer(&mut self, now: Now, to: Option<RaftId>) -> Result<RaftId, TransferError> {
        self.on_transfer(now, to)
    }

    fn change(&mut self, now: Now, proposal: ProposalId, change: Change) -> Result<(), ProposeError> {
        self.on_change(now, proposal, change)
    }

    fn ready(&mut self, now: Now, out: &mut Vec<Action<M::Outcome>>) {
        self.on_ready(now, out);
    }
}
