//! What this host and other replicas ask of the group: taken to the leader, and the answer back. See `calls` for how they end.

use bytes::Bytes;
use hyperscale_types::Now;
use hyperscale_wire::class::Lane;

use super::calls::{Caller, is_for_the_leader};
use super::running::{Outputs, Running};
use super::{CallId, Output, ReplicaMessage, Reply, Request, WireOutcome};
use crate::action::ProposeError;
use crate::apply::Machine;
use crate::group::LogGroup as _;
use crate::id::{ProposalId, ReadId};

impl<M: Machine> Running<M>
where
    M::Outcome: WireOutcome,
{
    pub(super) fn call(&mut self, now: Now, call: CallId, request: Request, out: &mut Outputs<M>) {
        let caller = Caller::Host(call);
        let reply = match request {
            Request::Propose(command) => match self.propose(now, caller, command.clone()) {
                Err(error) if is_for_the_leader(error) => self.ask_leader(
                    now,
                    call,
                    error,
                    |number| ReplicaMessage::Propose { number, command },
                    out,
                ),
                made => made.err().map(Reply::Failed),
            },
            Request::Read => match self.read(now, caller) {
                Err(error) if is_for_the_leader(error) => {
                    self.ask_leader(now, call, error, |number| ReplicaMessage::ReadIndex { number }, out)
                }
                made => made.err().map(Reply::Failed),
            },
            Request::StoreBlob(bytes) => self.store(now, call, bytes, out),
            Request::ReadAsLeader => self.read(now, caller).err().map(Reply::Failed),
            Request::Change(change) => {
                let proposal = ProposalId(self.calls.number());
                let made = self.group.change(now, proposal, change);
                if made.is_ok() {
                    self.calls.propose(proposal, caller);
                }
                made.err().map(Reply::Failed)
            }
            Request::Transfer(to) => Some(match self.group.transfer(now, to) {
                Ok(to) => Reply::Transferring(to),
                Err(error) => Reply::NotTransferred(error),
            }),
        };
        out.extend(reply.map(|reply| Output::Reply { call, reply }));
    }

    pub(super) fn propose(&mut self, now: Now, caller: Caller, command: Bytes) -> Result<(), ProposeError> {
        let proposal = ProposalId(self.calls.number());
        self.group.propose(now, proposal, command)?;
        self.calls.propose(proposal, caller);
        Ok(())
    }

    pub(super) fn read(&mut self, now: Now, caller: Caller) -> Result<(), ProposeError> {
        let read = ReadId(self.calls.number());
        self.group.read_index(now, read)?;
        self.calls.read(read, caller);
        Ok(())
    }

    /// Asks the leader for the host; what the host is told if that is not possible.
    pub(super) fn ask_leader(
        &mut self,
        now: Now,
        call: CallId,
        error: ProposeError,
        question: impl FnOnce(u64) -> ReplicaMessage,
        out: &mut Outputs<M>,
    ) -> Option<Reply<M::Outcome>> {
        let Some(leader) = self.leader_node().filter(|leader| *leader != self.me) else {
            return Some(Reply::Failed(error));
        };
        if self.calls.waiting() >= self.group.config().backlog_max.proposals {
            return Some(Reply::Failed(ProposeError::Overloaded));
        }
        let message = question(self.calls.ask(now, call));
        out.push(Output::Send { to: leader, lane: Lane::Control, message });
        None
    }

    pub(super) fn proposed(
        &mut self,
        number: u64,
        result: Result<(u64, Bytes), ProposeError>,
        out: &mut Outputs<M>,
    ) {
        let Some(asked) = self.calls.answered(number) else { return };
        let reply = match result {
            Ok((index, outcome)) => Reply::Applied { index, outcome: M::Outcome::from_bytes(&outcome) },
            Err(error) => Reply::Failed(error),
        };
        out.push(Output::Reply { call: asked.call, reply });
    }

    pub(super) fn read_index_answered(
        &mut self,
        number: u64,
        result: Result<u64, ProposeError>,
        out: &mut Outputs<M>,
    ) {
        let Some(asked) = self.calls.answered(number) else { return };
        match result {
            Ok(index) => self.calls.wait_for(index, asked),
            Err(error) => out.push(Output::Reply { call: asked.call, reply: Reply::Failed(error) }),
        }
    }
}

pub(super) fn fail_proposal<O>(caller: Caller, error: ProposeError) -> Output<O> {
    fail(caller, error, |number| ReplicaMessage::Proposed { number, result: Err(error) })
}

pub(super) fn fail_read<O>(caller: Caller, error: ProposeError) -> Output<O> {
    fail(caller, error, |number| ReplicaMessage::ReadIndexAnswer { number, result: Err(error) })
}

fn fail<O>(caller: Caller, error: ProposeError, answer: impl FnOnce(u64) -> ReplicaMessage) -> Output<O> {
    match caller {
        Caller::Host(call) => Output::Reply { call, reply: Reply::Failed(error) },
        Caller::Peer(to, number) => Output::Send { to, lane: Lane::Control, message: answer(number) },
    }
}
