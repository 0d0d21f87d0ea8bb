//! Opening a job: its plan and what its ended attempts left are read, then its core is built from its decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::{
    AttemptState, Body, Elapsed, EndStatus, Job, JobId, OnWorkerLoss, Values,
};
use hyperscale_job::state::AttemptEnd;
use hyperscale_job::{AttemptId, Entry, JobCore, JobFacts, LossPolicy, LostWindows, OnLoss, Record};
use hyperscale_plan::model::Plan;
use hyperscale_stats::Totals;
use hyperscale_types::{NodeId, Now, Span, Token};

use super::drive::{Drive, codecs};
use super::propose::leaves_something;
use super::{Contents, Stage, number_of, text_of};
use crate::bundle::Bundle;
use crate::manager::calls::Purpose;
use crate::manager::{JobMachine, Manager, Options, Output, ReadNumber};
use crate::record::{self, AttemptLeft, RecordError, Stored, WindowsLeft};

/// A blob that this disk lacks is asked for again after this time: the replica fetches what it misses.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// A job that this build cannot read is given to another manager after this time, which may have a newer one.
pub(super) const PASS_ON_AFTER: Duration = Duration::from_secs(5);

/// What is known of a job that is being opened.
#[derive(Debug, Default)]
pub(super) struct Opening {
    contents: Contents,
    asked_at: Option<Now>,
}

impl Opening {
    /// When blobs are asked for, or asked for again.
    pub(super) fn next_due(&self) -> Now {
        self.asked_at.map_or(Now::ZERO, |at| at.plus(READ_AGAIN))
    }
}

/// Why a job cannot be opened with what is known.
#[derive(Debug)]
enum NotOpened {
    /// These are not read yet.
    Missing(BTreeSet<BlobId>),
    /// This build cannot read it.
    Unreadable,
}

impl From<RecordError> for NotOpened {
    fn from(_: RecordError) -> Self {
        NotOpened::Unreadable
    }
}

impl<M: JobMachine> Manager<M> {
    /// A blob for a job that is being opened.
    pub(in crate::manager) fn blob_read(&mut self, read: ReadNumber, bytes: Option<Bytes>) {
        let Some((job, blob)) = self.reads.remove(&read) else { return };
        if let Some(led) = self.led.get_mut(&job)
            && let Stage::Opening(opening) = &mut led.stage
            && let Some(bytes) = bytes
        {
            opening.contents.insert(blob, bytes);
            // What is needed next may be asked for at once.
            opening.asked_at = None;
            self.news.insert(job);
        }
    }

    /// Proposes that another manager leads a job.
    fn pass_on(&mut self, now: Now, id: JobId, token: Token, elapsed: Elapsed) {
        let members = self.replica.group().into_iter().flat_map(|group| group.roster().members());
        let others: Vec<NodeId> = members
            .map(|member| member.node)
            .filter(|node| *node != self.options.node && !self.is_dead(*node))
            .collect();
        let Some(leader) = others.get(self.rng.usize(..others.len().max(1))).copied() else { return };
        let reason = "its decisions cannot be read by the build of its leader".to_owned();
        let body = Body::JobLeader { job: id, leader, elapsed, reason };
        self.propose(now, Purpose::Other, token, body);
    }

    /// Opens a job, or asks for what it lacks. True if it is open.
    pub(super) fn open_job(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) -> bool {
        let elapsed = self.clocks.elapsed(now, id);
        let Some(led) = self.led.get_mut(&id) else { return false };
        let opening = match &mut led.stage {
            Stage::Driving(_) => return true,
            Stage::Unreadable { since } => {
                if now.since(*since) >= PASS_ON_AFTER {
                    *since = now;
                    let token = led.token();
                    self.pass_on(now, id, token, elapsed);
                }
                return false;
            }
            Stage::Opening(opening) => opening,
        };
        let Some(job) = self.replica.group().and_then(|group| group.machine().register().job(id)) else {
            return false;
        };
        match open(now, id, job, &opening.contents, (&elapsed, &self.options)) {
            Ok(drive) => {
                // Each leader starts a new event stream; a client that follows it may have missed the earlier one.
                let event = Box::new(drive.core.introduction());
                out.push(Output::Emit { job: id, token: led.token(), event });
                led.stage = Stage::Driving(Box::new(drive));
                if let Some(since) = self.transfers.remove(&id) {
                    self.counters.transfers_accepted += 1;
                    self.counters.transfer_latencies.add(now.since(since));
                }
                true
            }
            Err(NotOpened::Unreadable) => {
                led.stage = Stage::Unreadable { since: now };
                let is_transfer = self.transfers.remove(&id).is_some();
                self.counters.transfers_unreadable += u64::from(is_transfer);
                false
            }
            Err(NotOpened::Missing(blobs)) => {
                if opening.asked_at.is_none_or(|at| now.since(at) >= READ_AGAIN) {
                    opening.asked_at = Some(now);
                    let asked: BTreeSet<BlobId> =
                        self.reads.values().filter(|(job, _)| *job == id).map(|(_, blob)| *blob).collect();
                    for blob in blobs.difference(&asked).copied() {
                        let read = ReadNumber(self.calls.number());
                        self.reads.insert(read, (id, blob));
                        out.push(Output::ReadBlob { read, blob });
                    }
                }
                false
            }
        }
    }
}

/// Builds the core of a job from its decisions.
#[cfg_attr(not(feature = "bugs"), expect(unused_variables, reason = "the options hold the deliberate bugs"))]
fn open(
    now: Now,
    id: JobId,
    job: &Job,
    contents: &Contents,
    (elapsed, options): (&Elapsed, &Options),
) -> Result<Drive, NotOpened> {
    let content =
        |blob: BlobId| contents.get(&blob).cloned().ok_or_else(|| NotOpened::Missing(BTreeSet::from([blob])));
    let bundle = Bundle::decode(&content(job.plan)?)?;
    let plan = Arc::new(bundle.load().map_err(|_| NotOpened::Unreadable)?.plan);
    let stored = decisions(job, contents)?;
    let lefts = lefts(&plan, job, &stored, contents)?;
    let windows = windows(&plan, job, &stored, contents)?;
    let mut record = Record::new(plan.workflows.iter().map(|workflow| workflow.name.clone()));
    let seen = stored.len();
    let newest = stored.iter().filter_map(Stored::at).max().unwrap_or_default();
    for decision in stored {
        let left = match &decision {
            Stored::AttemptEnd { attempt, .. } => lefts.get(attempt).map(|left| left.result.clone()),
            Stored::Whole(_) => None,
        };
        // What the tables do not allow changed nothing when it was decided either.
        let _ = record.apply(&decision.with(left.unwrap_or_default()));
    }
    let facts = JobFacts {
        id: text_of(id),
        started_at: started_at(job.submitted_at_ms),
        timeout: job.options.timeout_ms.map(Span::from_millis),
        is_distributed: true,
        queue_timeout: Some(Span::from_millis(job.options.queue_timeout_ms)),
        spreads: job.options.spread,
        losses: LossPolicy {
            on_loss: match job.options.on_worker_loss {
                OnWorkerLoss::Resume => OnLoss::Resume,
                OnWorkerLoss::Restart => OnLoss::Restart,
                OnWorkerLoss::Fail => OnLoss::Fail,
            },
            max_retries: job.options.max_retries,
            retry_budget: job.options.retry_budget,
        },
        #[cfg(feature = "bugs")]
        bugs: hyperscale_job::JobBugs {
            forgets_exclusion: bug!(options, ForgetExclusion),
            keeps_discarded: bug!(options, KeepDiscarded),
            resumes_from_zero: bug!(options, ResumeFromZero),
        },
        ..JobFacts::default()
    };
    let mut core = JobCore::rebuild(Arc::clone(&plan), facts, record);
    let codecs = codecs(&core, job.plan);
    // A leader that restarts counts from what the log says, which may be less than what it decided itself.
    let job_time = Duration::from_millis(elapsed.job_ms).max(newest);
    let job_time = if bug!(options, RestartTimeoutAtTakeover) { Duration::ZERO } else { job_time };
    for (attempt, left) in &lefts {
        if bug!(options, ForgetResultsAtTakeover) {
            break;
        }
        if let Some(totals) = decode_totals(&core, &codecs, *attempt, &left.totals) {
            core.recall(*attempt, &totals);
        }
    }
    for (attempt, windows) in &windows {
        if bug!(options, ForgetWindowsAtTakeover) {
            break;
        }
        if let Some(totals) = decode_totals(&core, &codecs, *attempt, &windows.totals) {
            let WindowsLeft { to, missing, .. } = *windows;
            core.recall_windows(*attempt, LostWindows { totals: &totals, to, missing });
        }
    }
    Ok(Drive::new(now, job_time, core, codecs, seen))
}

/// What the windows of lost attempts said, as their leaders committed it.
fn windows(
    plan: &Plan,
    job: &Job,
    stored: &[Stored],
    contents: &Contents,
) -> Result<BTreeMap<AttemptId, WindowsLeft>, NotOpened> {
    let (mut windows, mut missing) = (BTreeMap::new(), BTreeSet::new());
    for attempt in stored.iter().filter(|it| it.is_loss()).filter_map(Stored::ended) {
        let workflow = plan.workflows.get(attempt.segment.workflow).ok_or(NotOpened::Unreadable)?;
        let Some(blob) = windows_in(job, workflow.name.as_str(), attempt) else { continue };
        match contents.get(&blob) {
            Some(bytes) => drop(windows.insert(attempt, WindowsLeft::decode(bytes)?)),
            None => drop(missing.insert(blob)),
        }
    }
    if missing.is_empty() { Ok(windows) } else { Err(NotOpened::Missing(missing)) }
}

/// The blob of a lost attempt's windows, as far as the log names one.
pub(super) fn windows_in(job: &Job, workflow: &str, attempt: AttemptId) -> Option<BlobId> {
    let segment = job.segment(workflow, number_of(attempt.segment))?;
    match &segment.attempts().iter().find(|it| it.number == attempt.number)?.state {
        AttemptState::Lost { windows } => *windows,
        AttemptState::Ended(end) if end.status == EndStatus::Lost => end.result,
        AttemptState::Ended(_) | AttemptState::Running => None,
    }
}

/// RFC 3339; empty if it is not known.
fn started_at(submitted_at_ms: u64) -> String {
    let time = i64::try_from(submitted_at_ms).ok().filter(|ms| *ms > 0);
    let time = time.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}

/// All statistics of an attempt; nothing if this build cannot read them.
pub(super) fn decode_totals(
    core: &JobCore,
    codecs: &[hyperscale_stats::wire::Codec],
    attempt: AttemptId,
    totals: &Bytes,
) -> Option<Totals> {
    let codec = codecs.get(attempt.segment.workflow)?;
    if totals.is_empty() {
        return Some(Totals::new(core.layout(attempt.segment.workflow)));
    }
    codec.decode_totals(totals).ok()
}

fn decisions(job: &Job, contents: &Contents) -> Result<Vec<Stored>, NotOpened> {
    let (mut stored, mut missing) = (Vec::new(), BTreeSet::new());
    for decision in job.decisions() {
        match decision {
            Values::Inline(bytes) => stored.push(record::decode(bytes)?),
            Values::Blob(blob) => match contents.get(blob) {
                Some(bytes) => stored.push(record::decode(bytes)?),
                None => {
                    missing.insert(*blob);
                }
            },
        }
    }
    if missing.is_empty() { Ok(stored) } else { Err(NotOpened::Missing(missing)) }
}

/// What ended attempts left. One that was lost left nothing.
fn lefts(
    plan: &Plan,
    job: &Job,
    stored: &[Stored],
    contents: &Contents,
) -> Result<BTreeMap<AttemptId, AttemptLeft>, NotOpened> {
    let (mut lefts, mut missing) = (BTreeMap::new(), BTreeSet::new());
    for decision in stored {
        let Stored::AttemptEnd { attempt, end, .. } = decision else { continue };
        if !leaves_something(*end) {
            continue;
        }
        let workflow = plan.workflows.get(attempt.segment.workflow).ok_or(NotOpened::Unreadable)?;
        let segment = job.segment(workflow.name.as_str(), number_of(attempt.segment));
        let known = segment.and_then(|it| it.attempts().iter().find(|it| it.number == attempt.number));
        let blob = match known.map(|known| &known.state) {
            Some(AttemptState::Ended(end)) => end.result,
            _ => None,
        };
        let Some(blob) = blob else { continue };
        match contents.get(&blob) {
            Some(bytes) => {
                let left = AttemptLeft::decode(bytes)?;
                if !decision.is_silence(&left) {
                    lefts.insert(*attempt, left);
                }
            }
            None => {
                missing.insert(blob);
            }
        }
    }
    if missing.is_empty() { Ok(lefts) } else { Err(NotOpened::Missing(missing)) }
}

impl Stored {
    /// Whether this is the end of an attempt that did not say it in time.
    pub(super) fn is_silence(&self, left: &AttemptLeft) -> bool {
        matches!(self, Stored::AttemptEnd { end: AttemptEnd::TimedOut, .. }) && left.totals.is_empty()
    }

    /// Whether this is the loss of an attempt.
    pub(super) fn is_loss(&self) -> bool {
        matches!(self, Stored::AttemptEnd { end: AttemptEnd::Lost, .. })
    }

    /// Whether this is the end of an attempt that leaves something.
    pub(super) fn leaves_something(&self) -> bool {
        matches!(self, Stored::AttemptEnd { end, .. } if leaves_something(*end))
    }

    /// Whether this is a decision about one attempt's end.
    pub(super) fn ended(&self) -> Option<AttemptId> {
        match self {
            Stored::AttemptEnd { attempt, .. } => Some(*attempt),
            Stored::Whole(Entry::AttemptEnd { attempt, .. }) => Some(*attempt),
            Stored::Whole(_) => None,
        }
    }
}
