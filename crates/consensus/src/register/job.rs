//! A job: who leads it, what was cancelled, what runs, how it ended.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::{NodeId, Token};

use super::Refusal;
use super::command::{EndStatus, RequestId, Values};
use super::control::Control;
use super::part::{Part, PartState};
use crate::blob::BlobId;

/// Most requests to cancel of one job that are remembered with their reasons.
pub const CANCELS_MAX: usize = 1024;
/// Longest reason that is kept; longer ones are cut.
pub const REASON_BYTES_MAX: usize = 1024;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// Its idempotency key.
    pub key: String,
    /// Its plan.
    pub plan: BlobId,
    /// The gate's job-leader token.
    pub gate_token: Token,
    /// The manager or gate that leads it, and its token.
    pub leader: Option<(NodeId, Token)>,
    /// How it ended.
    pub end: Option<JobEnd>,
    pub(super) cancelled: Cancelled,
    /// The last attempt of each segment, by workflow and number.
    pub(super) segments: BTreeMap<(String, u32), Attempt>,
    pub(super) contexts: BTreeMap<String, (u64, Values)>,
    pub(super) workflows: BTreeMap<String, EndStatus>,
    /// Changes of load, in the order of the log.
    pub(super) controls: Vec<Control>,
    /// Parts of datacenters, by datacenter and token. Of gates only.
    pub(super) parts: BTreeMap<(String, Token), Part>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobEnd {
    /// The one terminal state.
    pub status: EndStatus,
    /// The result.
    pub result: Option<BlobId>,
    /// The entry that ended it.
    pub index: u64,
}

/// Marks that are never taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Cancelled {
    pub(super) whole: bool,
    pub(super) workflows: BTreeSet<String>,
    /// Why, by request.
    pub(super) requests: BTreeMap<RequestId, String>,
}

/// The last attempt of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Counts from 1.
    pub number: u32,
    /// Who got it.
    pub worker: NodeId,
    /// Under which grant.
    pub grant: Token,
    /// Cores.
    pub cores: u32,
    /// Virtual users.
    pub vus: u32,
    /// What became of it.
    pub state: AttemptState,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptState {
    /// Given to its worker and not heard of since, as far as the log goes.
    Running,
    /// Its worker's lease ran out.
    Lost,
    /// It ended; this is what counts.
    Ended(EndStatus, Option<BlobId>),
}

impl Job {
    pub(super) fn new(key: String, plan: BlobId, gate_token: Token) -> Self {
        Self {
            key,
            plan,
            gate_token,
            leader: None,
            end: None,
            cancelled: Cancelled::default(),
            segments: BTreeMap::new(),
            contexts: BTreeMap::new(),
            workflows: BTreeMap::new(),
            controls: Vec::new(),
            parts: BTreeMap::new(),
        }
    }

    /// The token in force; zero before somebody leads.
    pub fn token(&self) -> Token {
        self.leader.map_or(Token(0), |(_, token)| token)
    }

    /// Whether nothing of this workflow may start again.
    pub fn is_cancelled(&self, workflow: &str) -> bool {
        self.cancelled.whole || self.cancelled.workflows.contains(workflow)
    }

    /// Whether the whole job was cancelled.
    pub fn is_wholly_cancelled(&self) -> bool {
        self.cancelled.whole
    }

    /// Who asked to cancel something, and why.
    pub fn cancels(&self) -> impl ExactSizeIterator<Item = (RequestId, &str)> {
        self.cancelled.requests.iter().map(|(request, reason)| (*request, reason.as_str()))
    }

    /// The last attempt of every segment.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = (&str, u32, &Attempt)> {
        self.segments.iter().map(|((workflow, number), attempt)| (workflow.as_str(), *number, attempt))
    }

    /// The last attempt of a segment.
    pub fn attempt(&self, workflow: &str, number: u32) -> Option<&Attempt> {
        self.segments.get(&(workflow.to_owned(), number))
    }

    /// Version and values a workflow provides.
    pub fn context(&self, workflow: &str) -> Option<&(u64, Values)> {
        self.contexts.get(workflow)
    }

    /// How a workflow ended.
    pub fn workflow_end(&self, workflow: &str) -> Option<EndStatus> {
        self.workflows.get(workflow).copied()
    }

    /// Whether anything runs, here or in a datacenter, or anything of one workflow.
    pub fn is_running(&self, workflow: Option<&str>) -> bool {
        let concerns = |name: &str| workflow.is_none_or(|workflow| workflow == name);
        let runs_here = self
            .segments()
            .any(|(name, _, attempt)| concerns(name) && attempt.state == AttemptState::Running);
        runs_here || workflow.is_none() && self.parts().any(|(.., part)| part.state == PartState::Running)
    }

    /// Whether the proposer leads the job and the job goes on.
    pub(super) fn fence(&self, token: Token) -> Result<(), Refusal> {
        self.obey(token)?;
        if self.end.is_some() { Err(Refusal::AlreadyEnded) } else { Ok(()) }
    }

    /// Whether the proposer leads the job.
    pub(super) fn obey(&self, token: Token) -> Result<(), Refusal> {
        let current = self.token();
        if token < current { Err(Refusal::StaleToken { current }) } else { Ok(()) }
    }
}
