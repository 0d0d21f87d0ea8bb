//! A job: who leads it, what was cancelled, what runs, how it ended.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hyperscale_types::{NodeId, Token};

use super::CommandRefusal;
use super::assign::AssignSegment;
use super::attempt::{Attempt, AttemptState};
use super::cancel::Cancelled;
use super::command::{Accept, Origin, Segment, Values};
use super::control::Control;
use super::end::{End, EndError, EndStatus};
use super::limits::Room;
use super::options::JobOptions;
use super::part::Part;
use super::weight::Tally;
use super::workflow::{SegmentRecord, Workflow};
use crate::blob::BlobId;

/// Longest reason of a cancel or an end that is kept; longer ones are cut.
pub const REASON_BYTES_MAX: usize = 1024;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The idempotency key it was submitted under.
    pub key: String,
    /// The plan, as a blob that is kept as long as the job.
    pub plan: BlobId,
    /// What it was submitted with.
    pub options: JobOptions,
    /// Which part of the gates' job it is, if gates sent it.
    pub origin: Option<Origin>,
    /// Who submitted it, as far as that is known.
    pub caller: String,
    /// The name of the plan.
    pub name: String,
    /// When it was submitted by the clock of the host that took it, milliseconds since 1970; nothing is decided by it.
    pub submitted_at_ms: u64,
    /// The entry that accepted it. Waiting jobs of equal priority are served in this order.
    pub accepted: u64,
    /// The manager or gate that leads it, and its token.
    pub leader: Option<(NodeId, Token)>,
    /// Time since its acceptance when that leader was granted, see `time`; once it has ended, until its end.
    pub elapsed_ms: u64,
    /// Set once and never changed.
    pub end: Option<JobEnd>,
    pub(super) cancelled: Cancelled,
    pub(super) workflows: BTreeMap<String, Workflow>,
    /// Changes of load, in the order of the log.
    pub(super) controls: Vec<Control>,
    /// What the core that drives the job has decided, in its own encoding and in the order of the log. Empty once it has ended.
    pub(super) decisions: Vec<Values>,
    /// Parts of datacenters, by datacenter and token. Of gates only.
    pub(super) parts: BTreeMap<(String, Token), Part>,
    /// Sums over the above.
    pub(super) tally: Tally,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobEnd {
    /// The one terminal state.
    pub how: End,
    /// The entry that ended it.
    pub index: u64,
}

impl Job {
    pub(super) fn new(index: u64, accept: Accept) -> Self {
        let mut job = Self {
            key: accept.key,
            plan: accept.plan,
            options: accept.options,
            origin: accept.origin,
            caller: accept.caller,
            name: accept.name,
            submitted_at_ms: accept.submitted_at_ms,
            accepted: index,
            leader: None,
            elapsed_ms: 0,
            end: None,
            cancelled: Cancelled::default(),
            workflows: BTreeMap::new(),
            controls: Vec::new(),
            decisions: Vec::new(),
            parts: BTreeMap::new(),
            tally: Tally::default(),
        };
        job.tally = Tally::of(&job);
        job
    }

    /// The token in force; zero before somebody leads.
    pub fn token(&self) -> Token {
        self.leader.map_or(Token(0), |(_, token)| token)
    }

    /// Its workflows that the log knows: assigned, ended, or providing something.
    pub fn workflows(&self) -> impl ExactSizeIterator<Item = (&str, &Workflow)> {
        self.workflows.iter().map(|(name, workflow)| (name.as_str(), workflow))
    }

    /// A workflow that the log knows.
    pub fn workflow(&self, name: &str) -> Option<&Workflow> {
        self.workflows.get(name)
    }

    /// A segment with all its attempts.
    pub fn segment(&self, workflow: &str, number: u32) -> Option<&SegmentRecord> {
        self.workflow(workflow)?.segments.get(&number)
    }

    pub(super) fn segment_mut(&mut self, workflow: &str, number: u32) -> Option<&mut SegmentRecord> {
        self.workflows.get_mut(workflow)?.segments.get_mut(&number)
    }

    /// The last attempt of every segment.
    pub fn segments(&self) -> impl Iterator<Item = (&str, u32, &Attempt)> {
        self.workflows.iter().flat_map(|(name, workflow)| {
            workflow.segments.iter().map(move |(number, record)| (name.as_str(), *number, record.last()))
        })
    }

    /// The last attempt of a segment.
    pub fn attempt(&self, workflow: &str, number: u32) -> Option<&Attempt> {
        self.segment(workflow, number).map(SegmentRecord::last)
    }

    /// Version and values a workflow provides.
    pub fn context(&self, workflow: &str) -> Option<&(u64, Values)> {
        self.workflow(workflow)?.context.as_ref()
    }

    /// How a workflow ended, and why not as planned.
    pub fn workflow_end(&self, workflow: &str) -> Option<&(EndStatus, Option<EndError>)> {
        self.workflow(workflow)?.end.as_ref()
    }

    /// Whether anything runs, here or in a datacenter, or anything of one workflow.
    pub fn is_running(&self, workflow: Option<&str>) -> bool {
        match workflow {
            Some(workflow) => self.workflow(workflow).is_some_and(Workflow::is_running),
            None => self.tally.running > 0,
        }
    }

    /// Attempts of all segments that were lost, and that were refused: both count against the job's retry budget.
    pub fn retries(&self) -> (u32, u32) {
        (self.tally.lost, self.tally.refused)
    }

    /// Whether the proposer leads the job and the job goes on.
    pub(super) fn fence(&self, token: Token) -> Result<(), CommandRefusal> {
        self.obey(token)?;
        if self.end.is_some() { Err(CommandRefusal::AlreadyEnded) } else { Ok(()) }
    }

    /// Whether the proposer leads the job: it has the token in force. A higher one was never granted: what grants it would
    /// stand in the log before.
    pub(super) fn obey(&self, token: Token) -> Result<(), CommandRefusal> {
        if self.leader.is_none() {
            return Err(CommandRefusal::NotLed);
        }
        self.is_in_force(token)
    }

    /// Whether another leader may take the place of the one with this token, or of none with zero.
    pub(super) fn may_replace(&self, token: Token) -> Result<(), CommandRefusal> {
        self.is_in_force(token)?;
        if self.end.is_some() { Err(CommandRefusal::AlreadyEnded) } else { Ok(()) }
    }

    fn is_in_force(&self, token: Token) -> Result<(), CommandRefusal> {
        let current = self.token();
        match token.cmp(&current) {
            Ordering::Less => Err(CommandRefusal::StaleToken { current }),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(CommandRefusal::UnknownToken { current }),
        }
    }

    /// Takes an attempt that was looked at; whether its workflow begins with it.
    pub(super) fn begin_attempt(&mut self, index: u64, it: &AssignSegment, attempt: Attempt) -> bool {
        let is_new = self.segment(&it.workflow, it.number).is_none();
        let workflow = self.workflows.entry(it.workflow.clone()).or_default();
        let begins = workflow.started.is_none();
        workflow.started.get_or_insert(index);
        workflow.add(it.number, it.kind, attempt);
        self.tally.running += 1;
        self.tally.segments += u32::from(is_new);
        begins
    }

    pub(super) fn end_attempt(&mut self, segment: &Segment, end: End) {
        self.settle_attempt(segment, AttemptState::Ended(end));
    }

    pub(super) fn lose_attempt(&mut self, segment: &Segment) {
        self.settle_attempt(segment, AttemptState::Lost { windows: None });
    }

    fn settle_attempt(&mut self, segment: &Segment, state: AttemptState) {
        let Some(workflow) = self.workflows.get_mut(&segment.workflow) else { return };
        let Some(record) = workflow.segments.get_mut(&segment.number) else { return };
        let attempt = record.last_mut();
        if attempt.state == AttemptState::Running {
            workflow.running -= 1;
            self.tally.running -= 1;
        }
        attempt.state = state;
        self.tally.lost += u32::from(attempt.is_lost());
        self.tally.refused += u32::from(attempt.is_refused());
    }

    /// An end with its texts cut to what there is room for, weighed.
    pub(super) fn keep_end(&mut self, room: Room, end: End) -> End {
        let end = End { error: self.keep_error(room, end.error), ..end };
        self.tally.blob_bytes += end.result.map_or(0, |result| result.length);
        end
    }

    pub(super) fn keep_error(&mut self, room: Room, error: Option<EndError>) -> Option<EndError> {
        let error = error.map(|error| error.fitted(room, self));
        self.tally.weight += error.as_ref().map_or(0, EndError::texts);
        error
    }
}
