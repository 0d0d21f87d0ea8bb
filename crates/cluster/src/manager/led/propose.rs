//! Decisions of a core on their way into the log.
//!
//! | decision     | carried by                        | before it                                    |
//! | ------------ | --------------------------------- | -------------------------------------------- |
//! | ready        | `Ready`: the claim of the job     |                                              |
//! | batch        | `Assign`: cores are promised      |                                              |
//! | attempt end  | `AttemptEnd`                      | what it left is on a quorum                   |
//! | loss that the log knows | `AttemptWindows`       | what the attempt's windows said is on a quorum |
//! | workflow end | `WorkflowEnd`                     |                                              |
//! | job end      | `JobEnd`, which is the decision   | the result is on a quorum                     |
//! | others, and losses of attempts that said nothing | nothing | |
//!
//! A decision larger than the log takes is stored on a quorum first, and named. What becomes of a decision the core learns from the
//! log; what was refused, or came to nothing, it is told here.

use std::collections::BTreeSet;

use bytes::Bytes;
use hyperscale_consensus::register::{
    Assign, AssignSegment, AttemptState, Body, CONTEXT_BYTES_MAX, CommandRefusal, Decide, End, EndError,
    EndStatus, JobId, Outcome, Register, Segment, SegmentKind, Values,
};
use hyperscale_consensus::replica::Reply;
use hyperscale_consensus::{BlobId, ProposeError};
use hyperscale_job::entry::{Batch, Entry, Group, Refused};
use hyperscale_job::state::{AttemptEnd, JobEnd, WorkflowEnd, WorkflowState};
use hyperscale_job::{Input, SegmentId};
use hyperscale_plan::cores::Claim;
use hyperscale_types::{NodeId, Now, Priority, Token};

use super::drive::Drive;
use super::number_of;
use super::oversize::beyond;
use crate::manager::calls::Purpose;
use crate::manager::{JobMachine, Manager, Output};
use crate::record;

impl<M: JobMachine> Manager<M> {
    /// Brings a decision of a core into the log.
    pub(super) fn propose_entry(&mut self, now: Now, id: JobId, entry: Box<Entry>, out: &mut Vec<Output>) {
        let Some(led) = self.led.get_mut(&id) else { return };
        let token = led.token();
        let Some(drive) = led.driving() else { return };
        match &*entry {
            Entry::JobEnd { end, .. } => {
                let mut result = drive.core.result_with(&entry);
                if bug!(self.options, HideLoss) {
                    result.validity.loss = hyperscale_stats::result::Loss::default();
                }
                // A result that cannot be written is a bug; the job ends all the same.
                let bytes = Bytes::from(serde_json::to_vec(&result).unwrap_or_default());
                drive.ending = Some(entry.clone());
                let status = job_status(*end);
                self.store(now, Purpose::StoreResult { job: id, token, entry, status }, bytes);
            }
            Entry::AttemptEnd { attempt, end, result, .. } if leaves_something(*end) => {
                let left = drive.lefts.entry(*attempt).or_default();
                // Of an attempt that was refused or gave no result in time the core alone knows what became of it.
                left.result = (**result).clone();
                let left = left.encode();
                self.store(now, Purpose::StoreLeft { job: id, token, entry }, left);
            }
            Entry::AttemptEnd { attempt, end: AttemptEnd::Lost, .. }
                if drive.core.windows_of(*attempt).is_some() =>
            {
                let Some(windows) = drive.windows_left(*attempt) else { return };
                self.store(now, Purpose::StoreLeft { job: id, token, entry }, windows.encode());
            }
            _ => {
                let Some(bytes) = record::encode(&entry) else { return };
                if bytes.len() > CONTEXT_BYTES_MAX {
                    return self.store(now, Purpose::StoreDecision { job: id, token, entry }, bytes);
                }
                self.decide(now, (id, token), entry, Values::Inline(bytes), None, out);
            }
        }
    }

    /// Proposes a decision with what carries it out.
    fn decide(
        &mut self,
        now: Now,
        (id, token): (JobId, Token),
        entry: Box<Entry>,
        decision: Values,
        left: Option<BlobId>,
        out: &mut Vec<Output>,
    ) {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let effect = effect(id, register, drive, &entry, left);
        #[cfg(feature = "bugs")]
        let effect = effect.map(|it| if is_impatience(&self.options, &entry) { None } else { it });
        let effect = match effect {
            Ok(effect) => effect,
            Err(refused) => {
                return self.with_core(now, id, Input::Applied { entry, outcome: Err(refused) }, out);
            }
        };
        if let Entry::AttemptEnd { attempt, end: AttemptEnd::Lost, .. } = &*entry {
            drive.lost.insert(*attempt, effect.as_ref().and_then(windows_named));
        }
        let closes = matches!(&*entry, Entry::AttemptEnd { .. } | Entry::WorkflowEnd { .. } | Entry::Stop(_));
        let body = Body::Decide(Box::new(Decide { job: id, decision, effect, closes }));
        self.propose(now, Purpose::Decide { job: id, token, entry }, token, body);
    }

    /// What became of a step of a decision.
    pub(in crate::manager) fn decision_replied(
        &mut self,
        now: Now,
        purpose: Purpose,
        reply: Reply<Outcome>,
        out: &mut Vec<Output>,
    ) {
        let (job, token) = match &purpose {
            Purpose::StoreDecision { job, token, .. }
            | Purpose::StoreLeft { job, token, .. }
            | Purpose::Decide { job, token, .. }
            | Purpose::StoreResult { job, token, .. }
            | Purpose::End { job, token, .. } => (*job, *token),
            _ => return,
        };
        if self.led.get(&job).is_none_or(|led| led.token() != token) {
            return;
        }
        match (purpose, reply) {
            (Purpose::StoreDecision { entry, .. }, Reply::Stored(blob)) => {
                self.decide(now, (job, token), entry, Values::Blob(blob), None, out);
            }
            (Purpose::StoreLeft { entry, .. }, Reply::Stored(blob)) => {
                if let Some(bytes) = record::encode(&entry) {
                    self.decide(now, (job, token), entry, Values::Inline(bytes), Some(blob), out);
                }
            }
            (Purpose::StoreResult { entry, status, .. }, Reply::Stored(blob)) => {
                let end = End::new(status, Some(blob));
                let body = Body::JobEnd { job, end, elapsed_ms: elapsed_ms(&entry) };
                self.propose(now, Purpose::End { job, token, entry }, token, body);
            }
            // What is larger than a blob is left out: the job ends with what there is room for.
            (Purpose::StoreResult { entry, status, .. }, Reply::Failed(ProposeError::Size)) => {
                self.store_small_result(now, (job, token), entry, status);
            }
            (Purpose::StoreLeft { entry, .. }, Reply::Failed(ProposeError::Size)) => {
                self.leave_out(now, job, entry, out);
            }
            (
                Purpose::Decide { entry, .. } | Purpose::End { entry, .. },
                Reply::Applied { outcome: Some(Outcome::Refused(refusal)), .. },
            ) => {
                let outcome = Err(refused(&refusal));
                self.with_core(now, job, Input::Applied { entry, outcome }, out);
            }
            // The core learns it from the log.
            (
                Purpose::Decide { .. } | Purpose::End { .. },
                Reply::Applied { outcome: Some(Outcome::Done), .. },
            ) => {}
            (
                Purpose::StoreDecision { entry, .. }
                | Purpose::StoreLeft { entry, .. }
                | Purpose::StoreResult { entry, .. }
                | Purpose::Decide { entry, .. }
                | Purpose::End { entry, .. },
                reply,
            ) => {
                let is_final = matches!(reply, Reply::Failed(ProposeError::Size));
                let what =
                    "a decision has at most 128 KiB in the log: too many segments would start together";
                let outcome = Err(if is_final { Refused::TooLarge { what } } else { Refused::Unavailable });
                self.with_core(now, job, Input::Applied { entry, outcome }, out);
            }
            _ => {}
        }
    }
}

/// The blob with what the windows of a lost attempt said that a command names.
fn windows_named(effect: &Body) -> Option<BlobId> {
    match effect {
        Body::AttemptEnd { end, .. } => end.result,
        Body::AttemptWindows { windows, .. } => Some(*windows),
        _ => None,
    }
}

/// What the clock of a job showed when its end was decided, rounded as in its result.
fn elapsed_ms(entry: &Entry) -> u64 {
    match entry {
        Entry::JobEnd { at, .. } => at.as_nanos().saturating_add(500_000).div_euclid(1_000_000) as u64,
        _ => 0,
    }
}

/// Whether an attempt that ended like this leaves a result; else nothing of it ran, or nothing more is known.
pub(super) fn leaves_something(end: AttemptEnd) -> bool {
    !matches!(end, AttemptEnd::Lost | AttemptEnd::Refused)
}

/// Why the log refused a decision, in the words of the core.
fn refused(refusal: &CommandRefusal) -> Refused {
    match refusal {
        CommandRefusal::StaleToken { .. } | CommandRefusal::UnknownToken { .. } | CommandRefusal::NotLed => {
            Refused::StaleToken
        }
        CommandRefusal::CoresNotFree { .. }
        | CommandRefusal::Draining
        | CommandRefusal::GroupCores { .. }
        | CommandRefusal::StaleGrant { .. } => Refused::CoresTaken,
        CommandRefusal::Overtakes { .. } => Refused::Overtakes,
        CommandRefusal::Limit(limit) => beyond(*limit),
        CommandRefusal::NotInForce { .. } => Refused::Unavailable,
        _ => Refused::Decided,
    }
}

/// The command that carries a decision out.
fn effect(
    id: JobId,
    register: &Register,
    drive: &Drive,
    entry: &Entry,
    left: Option<BlobId>,
) -> Result<Option<Body>, Refused> {
    let name = |at: usize| drive.core.plan().workflows.get(at).map(|workflow| workflow.name.to_string());
    let segment = |segment: SegmentId| {
        let workflow = name(segment.workflow).ok_or(Refused::Decided)?;
        Ok(Segment { job: id, workflow, number: number_of(segment) })
    };
    Ok(match entry {
        Entry::Ready { workflows, .. } => Some(claim(id, register, drive, workflows)),
        Entry::Assign(batch) => Some(assign(id, register, drive, batch)?),
        Entry::AttemptEnd { attempt, end, result, .. } if *end != AttemptEnd::Lost => {
            let error = result.failure.as_ref().map(|failure| EndError {
                code: 0,
                message: failure.message.clone(),
                subject: failure.kind.as_str().to_owned(),
            });
            let end = End { status: attempt_status(*end), result: left, error };
            Some(Body::AttemptEnd { segment: segment(attempt.segment)?, attempt: attempt.number, end })
        }
        // Its worker says itself that it stopped it: the log does not know that yet.
        Entry::AttemptEnd { attempt, .. } if runs(register, &segment(attempt.segment)?, attempt.number) => {
            let end = End::new(EndStatus::Lost, left);
            Some(Body::AttemptEnd { segment: segment(attempt.segment)?, attempt: attempt.number, end })
        }
        Entry::AttemptEnd { attempt, .. } => match left {
            Some(windows) => {
                let (segment, attempt) = (segment(attempt.segment)?, attempt.number);
                Some(Body::AttemptWindows { segment, attempt, windows })
            }
            None => None,
        },
        Entry::WorkflowEnd { workflow, end, reason, .. } => {
            let error = reason.as_ref().map(|reason| EndError {
                code: 0,
                message: reason.to_string(),
                subject: String::new(),
            });
            let workflow = name(*workflow).ok_or(Refused::Decided)?;
            Some(Body::WorkflowEnd { job: id, workflow, status: workflow_status(*end), error })
        }
        Entry::Context { .. }
        | Entry::Start { .. }
        | Entry::Restart { .. }
        | Entry::Stop(_)
        | Entry::Control { .. }
        | Entry::JobEnd { .. } => None,
    })
}

/// Whether this is the end of an attempt that its leader only takes for lost.
#[cfg(feature = "bugs")]
fn is_impatience(options: &crate::manager::Options, entry: &Entry) -> bool {
    let is_lost = matches!(entry, Entry::AttemptEnd { end: AttemptEnd::Lost, .. });
    options.bugs.is_impatient() && is_lost
}

/// Whether an attempt runs as far as the log goes.
fn runs(register: &Register, segment: &Segment, attempt: u32) -> bool {
    let last = register.job(segment.job).and_then(|job| job.attempt(&segment.workflow, segment.number));
    last.is_some_and(|last| last.number == attempt && last.state == AttemptState::Running)
}

/// What the job waits for from now on: these workflows, and those that were ready before.
fn claim(id: JobId, register: &Register, drive: &Drive, ready: &[usize]) -> Body {
    let total: u32 = register.workers().map(|(_, worker)| worker.cores).sum();
    let records = drive.core.record().workflows().iter().enumerate();
    let waiting = records.filter(|(_, record)| record.state() == WorkflowState::Ready).map(|(at, _)| at);
    let all: BTreeSet<usize> = waiting.chain(ready.iter().copied()).collect();
    let plan = drive.core.plan();
    let claims: Vec<Claim> = all.iter().filter_map(|at| plan.workflows.get(*at)).map(Claim::of).collect();
    Body::Ready {
        job: id,
        workflows: claims.iter().map(|claim| claim.name.to_string()).collect(),
        priority: claims.iter().map(|claim| claim.priority).max().unwrap_or(Priority::Auto),
        least_cores: claims.iter().map(|claim| claim.bounds(total).least).sum(),
    }
}

fn assign(id: JobId, register: &Register, drive: &Drive, batch: &Batch) -> Result<Body, Refused> {
    let group_of = |number: u32| {
        let new = batch.groups.iter().find(|group| group.id == number);
        new.or_else(|| drive.core.record().group(number)).ok_or(Refused::Decided)
    };
    let mut segments = Vec::new();
    for assignment in &batch.assignments {
        let worker: NodeId = assignment.worker.parse().map_err(|_| Refused::CoresTaken)?;
        let known = register.worker(worker).ok_or(Refused::CoresTaken)?;
        let segment = assignment.attempt.segment;
        let workflow = drive.core.plan().workflows.get(segment.workflow).ok_or(Refused::Decided)?;
        segments.push(AssignSegment {
            workflow: workflow.name.to_string(),
            number: number_of(segment),
            kind: kind_of(segment.kind),
            attempt: assignment.attempt.number,
            worker,
            boot: known.boot,
            grant: known.grant,
            group: assignment.group + 1,
            cores: cores_on(group_of(assignment.group)?, &assignment.worker),
            vus: assignment.share.own_vus(),
            elapsed_ms: 0,
            iterations_left: None,
        });
    }
    Ok(Body::Assign(Assign { job: id, segments }))
}

/// Cores that a worker has given to a group.
fn cores_on(group: &Group, worker: &str) -> u32 {
    group.parts.iter().filter(|part| &*part.worker == worker).map(|part| part.cores).sum()
}

fn kind_of(kind: hyperscale_job::SegmentKind) -> SegmentKind {
    match kind {
        hyperscale_job::SegmentKind::Setup => SegmentKind::SetUp,
        hyperscale_job::SegmentKind::Load => SegmentKind::Load,
        hyperscale_job::SegmentKind::Teardown => SegmentKind::TearDown,
    }
}

fn attempt_status(end: AttemptEnd) -> EndStatus {
    match end {
        AttemptEnd::Completed => EndStatus::Completed,
        AttemptEnd::Failed => EndStatus::Failed,
        AttemptEnd::Cancelled | AttemptEnd::Superseded => EndStatus::Cancelled,
        AttemptEnd::Refused => EndStatus::Refused,
        AttemptEnd::Lost => EndStatus::Lost,
        AttemptEnd::TimedOut => EndStatus::TimedOut,
    }
}

fn workflow_status(end: WorkflowEnd) -> EndStatus {
    match end {
        WorkflowEnd::Completed => EndStatus::Completed,
        WorkflowEnd::Failed => EndStatus::Failed,
        WorkflowEnd::Cancelled => EndStatus::Cancelled,
        WorkflowEnd::Skipped => EndStatus::Skipped,
        WorkflowEnd::TimedOut => EndStatus::TimedOut,
    }
}

fn job_status(end: JobEnd) -> EndStatus {
    match end {
        JobEnd::Completed => EndStatus::Completed,
        JobEnd::Partial => EndStatus::Partial,
        JobEnd::Failed => EndStatus::Failed,
        JobEnd::Cancelled => EndStatus::Cancelled,
        JobEnd::TimedOut => EndStatus::TimedOut,
    }
}
