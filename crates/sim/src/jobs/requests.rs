//! What a manager asked of its replica, and what for. The replica takes it to the leader and replies once; whoever still
//! wants something that failed asks again.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyperscale_consensus::ReadId;
use hyperscale_consensus::register::{Accept, Body, Command, EndStatus, JobId, Outcome, Segment};
use hyperscale_consensus::replica::{CallId, Input, Reply, Request};
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::manager::{ManagerAction, ManagerDriver, group_of};
use crate::log::journal::{NEWER, newer};

/// One of so many commands is written as a newer build does, though not everybody understands that yet.
const TOO_EARLY: u8 = 32;

/// What a request was for.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// A client's job.
    Accept { client_job: usize },
    /// A client's cancel.
    Cancel { client_job: usize },
    /// A worker's grant.
    Grant { worker: NodeId, boot: BootEpoch, sent: Now },
    /// The end of a worker's attempt.
    End { worker: NodeId, segment: Segment, attempt: u32 },
    /// A step of a job this manager leads.
    Step { job: JobId, place: u32 },
    /// The plan of a client's job, before the job is accepted.
    StorePlan { client_job: usize, accept: Box<Accept> },
    /// The result of a worker's attempt, before its end is committed.
    StoreResult { worker: NodeId, segment: Segment, attempt: u32, status: EndStatus },
    /// The result of a job, before its end is committed.
    StoreJobResult { job: JobId, token: Token, status: EndStatus },
    /// A client wants to know how its job ended.
    Status { client_job: usize, job: JobId },
    /// Looked at in the log, not in the answer.
    Other,
}

/// Open requests.
#[derive(Debug, Default)]
pub(super) struct Requests {
    next: u64,
    waiting: BTreeMap<CallId, Purpose>,
}

impl Requests {
    /// Numbers of another life are never used again.
    pub(super) fn new(first: u64) -> Self {
        Self { next: first, ..Self::default() }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl ManagerDriver {
    /// Asks the group to commit something.
    pub(super) fn ask(&mut self, now: Now, purpose: Purpose, token: Token, body: Body) {
        let command = self.encode(&Command { token, body });
        let call = CallId(self.requests.number());
        self.requests.waiting.insert(call, purpose);
        self.input(now, Input::Call { call, request: Request::Propose(command) });
    }

    /// Asks for a blob on a quorum.
    pub(super) fn store(&mut self, now: Now, purpose: Purpose, bytes: Bytes) {
        let call = CallId(self.requests.number());
        self.requests.waiting.insert(call, purpose);
        self.input(now, Input::Call { call, request: Request::StoreBlob(bytes) });
    }

    /// Asks for a state that is fresh enough to decide on.
    pub(super) fn read(&mut self, now: Now, purpose: Purpose, out: &mut Vec<ManagerAction>) {
        let call = CallId(self.requests.number());
        self.requests.waiting.insert(call, purpose);
        out.push(ManagerAction::ReadAsked(ReadId(call.0)));
        self.input(now, Input::Call { call, request: Request::Read });
    }

    /// Newer builds write commands in the newer way once everybody understands it, and sometimes too early.
    fn encode(&mut self, command: &Command) -> Bytes {
        let journal = group_of(&self.replica).machine();
        let (understood, in_force) = (journal.understood(), journal.register().version());
        let is_newer = match (understood >= NEWER, in_force >= NEWER) {
            (true, true) => self.rng.bool(),
            (true, false) => self.rng.u8(..TOO_EARLY) == 0,
            (false, _) => false,
        };
        if is_newer { newer(command) } else { command.encode() }
    }

    /// What became of something that was asked of the group.
    pub(super) fn replied(
        &mut self,
        now: Now,
        call: CallId,
        reply: Reply<Outcome>,
        out: &mut Vec<ManagerAction>,
    ) {
        let read = ReadId(call.0);
        if self.leases.awaits(read) {
            return match reply {
                Reply::Readable { .. } => self.read_ready(read, out),
                _ => self.read_failed(read),
            };
        }
        let Some(purpose) = self.requests.waiting.remove(&call) else { return };
        match (purpose, reply) {
            (Purpose::Status { client_job, job }, Reply::Readable { .. }) => {
                self.tell_end(client_job, job, out);
            }
            (purpose, Reply::Stored(blob)) => self.stored(now, purpose, blob),
            (purpose, Reply::Applied { index, outcome: Some(outcome) }) => {
                self.decided(now, purpose, Some((index, outcome)), out);
            }
            (purpose, _) => self.decided(now, purpose, None, out),
        }
    }
}
