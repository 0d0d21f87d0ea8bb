//! What a manager asked of its replica, and what for. Every call gets one response; what failed and is
//! still wanted is asked for again.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Accept, EndStatus, JobId};
use hyperscale_consensus::replica::CallId;
use hyperscale_job::Entry;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::io::RequestNumber;
use crate::message::{CallNumber, JobAttempt};

/// What a call is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The plan of a submission is to be on a quorum.
    StorePlan { request: RequestNumber, accept: Box<Accept> },
    /// A submission.
    Accept { request: RequestNumber },
    /// Leadership of a job that was accepted here.
    Lead { request: RequestNumber, job: JobId },
    /// A cancel of a client.
    Cancel { request: RequestNumber },
    /// That a worker drains.
    Drain { request: RequestNumber },
    /// That a worker drains which gives its grant back, or that it is gone.
    GiveBack { worker: NodeId },
    /// A worker's grant.
    Grant { worker: NodeId, boot: BootEpoch, call: CallNumber },
    /// A round that proves that this node leads, for a batch of renewals.
    Renewals,
    /// A round that proves that this node leads, and that it knows every job: what an attempt of an unknown one left is kept in
    /// vain.
    Confirm { worker: NodeId, attempt: JobAttempt },
    /// A decision that is too large for the log is to be on a quorum.
    StoreDecision { job: JobId, token: Token, entry: Box<Entry> },
    /// What an attempt left is to be on a quorum.
    StoreLeft { job: JobId, token: Token, entry: Box<Entry> },
    /// A decision about a job that is led here.
    Decide { job: JobId, token: Token, entry: Box<Entry> },
    /// The result of a job is to be on a quorum.
    StoreResult { job: JobId, token: Token, entry: Box<Entry>, status: EndStatus },
    /// The end of a job.
    End { job: JobId, token: Token, entry: Box<Entry> },
    /// Nobody waits for it: the log shows whether it was done.
    Other,
}

/// Calls that were not answered yet.
#[derive(Debug)]
pub(super) struct Calls {
    next: u64,
    open: BTreeMap<CallId, (Purpose, Now)>,
}

impl Calls {
    pub(super) fn new(first: u64) -> Self {
        Self { next: first, open: BTreeMap::new() }
    }

    /// A number that was not used before.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn open(&mut self, now: Now, purpose: Purpose) -> CallId {
        let call = CallId(self.number());
        self.open.insert(call, (purpose, now));
        call
    }

    /// What a call was for, and when it was made.
    pub(super) fn close(&mut self, call: CallId) -> Option<(Purpose, Now)> {
        self.open.remove(&call)
    }
}
