//! A job: who leads it, what was cancelled, what runs, how it ended.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hyperscale_types::{NodeId, Token};

use super::Refusal;
use super::cancel::Cancelled;
use super::command::{Accept, Origin, Values};
use super::control::Control;
use super::end::{End, EndError, EndStatus};
use super::options::JobOptions;
use super::part::{Part, PartState};
use crate::blob::BlobId;

/// Longest reason of a cancel or an end that is kept; longer ones are cut.
pub const REASON_BYTES_MAX: usize = 1024;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// Its idempotency key.
    pub key: String,
    /// Its plan.
    pub plan: BlobId,
    /// What it was submitted with.
    pub options: JobOptions,
    /// Which part of the gates' job it is, if gates sent it.
    pub origin: Option<Origin>,
    /// Who submitted it, as far as that is known.
    pub caller: String,
    /// The manager or gate that leads it, and its token.
    pub leader: Option<(NodeId, Token)>,
    /// How it ended.
    pub end: Option<JobEnd>,
    pub(super) cancelled: Cancelled,
    /// The last attempt of each segment, by workflow and number.
    pub(super) segments: BTreeMap<(String, u32), Attempt>,
    pub(super) contexts: BTreeMap<String, (u64, Values)>,
    pub(super) workflows: BTreeMap<String, (EndStatus, Option<EndError>)>,
    /// Changes of load, in the order of the log.
    pub(super) controls: Vec<Control>,
    /// Parts of datacenters, by datacenter and token. Of gates only.
    pub(super) parts: BTreeMap<(String, Token), Part>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobEnd {
    /// The one terminal state.
    pub how: End,
    /// The entry that ended it.
    pub index: u64,
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
    /// Where in the workflow's load curve it joined.
    pub elapsed_ms: u64,
    /// Iterations that were left to it, if they are counted.
    pub iterations_left: Option<u64>,
    /// What became of it.
    pub state: AttemptState,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttemptState {
    /// Given to its worker and not heard of since, as far as the log goes.
    Running,
    /// Its worker's lease ran out.
    Lost,
    /// It ended; this is what counts.
    Ended(End),
}

impl Job {
    pub(super) fn new(accept: Accept) -> Self {
        Self {
            key: accept.key,
            plan: accept.plan,
            options: accept.options,
            origin: accept.origin,
            caller: accept.caller,
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

    /// How a workflow ended, and why not as planned.
    pub fn workflow_end(&self, workflow: &str) -> Option<&(EndStatus, Option<EndError>)> {
        self.workflows.get(workflow)
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

    /// Whether the proposer leads the job: it has the token in force. A higher one was never granted: what grants it would
    /// stand in the log before.
    pub(super) fn obey(&self, token: Token) -> Result<(), Refusal> {
        if self.leader.is_none() {
            return Err(Refusal::NotLed);
        }
        self.is_in_force(token)
    }

    /// Whether another leader may take the place of the one with this token, or of none with zero.
    pub(super) fn may_replace(&self, token: Token) -> Result<(), Refusal> {
        self.is_in_force(token)?;
        if self.end.is_some() { Err(Refusal::AlreadyEnded) } else { Ok(()) }
    }

    fn is_in_force(&self, token: Token) -> Result<(), Refusal> {
        let current = self.token();
        match token.cmp(&current) {
            Ordering::Less => Err(Refusal::StaleToken { current }),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(Refusal::UnknownToken { current }),
        }
    }
}
