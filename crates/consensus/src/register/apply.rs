//! Applying commands: one arm per command, the only place where the register changes.

use std::collections::BTreeSet;

use bytes::Bytes;
use hyperscale_types::{NodeId, Token};

use super::cancel::CancelRequest;
use super::cancel::Cancelled;
use super::change::Change;
use super::claim::Claim;
use super::command::{Body, CONTEXT_BYTES_MAX, Command, JobId, Values};
use super::end::{End, EndError, EndStatus};
use super::job::JobEnd;
use super::limits::{Limit, Share, WORKFLOWS_MAX};
use super::part::{Part, PartState};
use super::time::Elapsed;
use super::weight::{WORKFLOW_BYTES, values_bytes, values_weight};
use super::worker::Worker;
use super::{CommandRefusal, Outcome, Register, pack, version};
use crate::apply::{Effects, Machine, NameCursor, Outdated, RestoreError, StateView};
use crate::blob::BlobId;

type Done = Result<Outcome, CommandRefusal>;

impl Machine for Register {
    type Outcome = Outcome;

    fn apply(&mut self, index: u64, command: &Bytes, effects: &mut Effects) -> Outcome {
        let outcome = match version::read(command, self.version, Body::since) {
            Ok(command) => {
                let (jobs, named) = (self.jobs_of(&command.body), command.body.blobs());
                self.take_out(&jobs);
                let outcome = self.dispatch(index, command, &jobs).unwrap_or_else(Outcome::Refused);
                self.put_back(&jobs);
                if !matches!(outcome, Outcome::Refused(_)) {
                    self.for_host.named.extend(named);
                }
                self.seal_some(index);
                self.ended.purge();
                self.report(effects);
                outcome
            }
            Err(refusal) => Outcome::Refused(refusal),
        };
        outcome.report(effects);
        outcome
    }

    fn snapshot(&self) -> Bytes {
        pack::View::of(self).write()
    }

    fn view(&self) -> StateView {
        let view = pack::View::of(self);
        StateView::new(move || view.write())
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        pack::read(self, state)
    }

    fn named_blobs(&self, from: NameCursor, limit: usize, out: &mut Vec<BlobId>) -> Option<NameCursor> {
        self.list_names(from, limit, out)
    }

    fn take_named(&mut self) -> Vec<BlobId> {
        std::mem::take(&mut self.for_host.named)
    }

    fn outdated(&self) -> Option<Outdated> {
        self.ahead()
    }

    fn take_sealed(&mut self) -> Vec<(BlobId, Bytes)> {
        std::mem::take(&mut self.for_host.chunks)
    }

    fn missing(&self) -> Vec<BlobId> {
        if self.has_unread() { self.unread().collect() } else { Vec::new() }
    }

    fn supply(&mut self, blob: BlobId, bytes: &Bytes) -> Result<(), RestoreError> {
        self.read_chunk(blob, bytes)
    }
}

impl Register {
    /// Jobs whose weight or end a command may change.
    fn jobs_of(&self, body: &Body) -> BTreeSet<JobId> {
        match body {
            Body::JobAccept(accept) => {
                self.ended.job_of_key(&accept.key).into_iter().chain([accept.job]).collect()
            }
            Body::JobLeader { job, .. }
            | Body::Ready { job, .. }
            | Body::Context { job, .. }
            | Body::WorkflowEnd { job, .. }
            | Body::Cancel { job, .. }
            | Body::Control { job, .. }
            | Body::DcAssign { job, .. }
            | Body::JobEnd { job, .. } => BTreeSet::from([*job]),
            Body::Decide(decide) => BTreeSet::from([decide.job]),
            Body::DcEnd { part, .. } => BTreeSet::from([part.job]),
            Body::Assign(assign) => BTreeSet::from([assign.job]),
            Body::AttemptEnd { segment, .. } | Body::AttemptWindows { segment, .. } => {
                BTreeSet::from([segment.job])
            }
            Body::JobForget { first, last } => self.account.ended_within(*first, *last),
            // Losing an attempt changes neither weight nor end.
            Body::WorkerGrant { .. }
            | Body::WorkerGone { .. }
            | Body::WorkerOwner { .. }
            | Body::WorkerDrain { .. }
            | Body::DcState { .. }
            | Body::ClusterVersion { .. } => BTreeSet::new(),
        }
    }

    /// `jobs` are those that were taken out of the account.
    pub(super) fn dispatch(&mut self, index: u64, command: Command, jobs: &BTreeSet<JobId>) -> Done {
        if !command.body.belongs_to(self.group) {
            return Err(CommandRefusal::WrongGroup);
        }
        let token = command.token;
        match command.body {
            Body::Decide(decide) => self.decide(index, token, *decide, jobs),
            Body::JobAccept(accept) => self.accept(index, *accept),
            Body::JobLeader { job, leader, elapsed, .. } => self.lead(index, token, job, leader, elapsed),
            Body::WorkerGrant { worker, boot, cores, lease_ms, capabilities } => {
                self.grant(worker, Worker::new(boot, Token(index), lease_ms, cores, capabilities))
            }
            Body::WorkerGone { worker, grant, .. } => self.gone(worker, grant),
            Body::WorkerOwner { worker, grant, owner, replaces } => {
                self.own(index, worker, grant, owner, replaces)
            }
            Body::WorkerDrain { worker, grant } => self.drain(worker, grant),
            Body::Ready { job, workflows, priority, least_cores } => {
                self.ready(index, token, job, Claim { index, priority, least_cores, workflows })
            }
            Body::Assign(assign) => self.assign(index, token, &assign),
            Body::AttemptEnd { segment, attempt, end } => self.attempt_end(token, segment, attempt, end),
            Body::AttemptWindows { segment, attempt, windows } => {
                self.attempt_windows(token, segment, attempt, windows)
            }
            Body::Context { job, workflow, version, values } => {
                self.context(token, job, workflow, version, values)
            }
            Body::WorkflowEnd { job, workflow, status, error } => {
                self.workflow_end(token, job, workflow, (status, error))
            }
            Body::Cancel { job, workflows, named, request, reason, caller } => {
                self.cancel(job, request, CancelRequest { workflows, named, reason, caller })
            }
            Body::Control { job, workflow, change, request } => {
                self.control(index, token, job, workflow, change, request)
            }
            Body::DcAssign { job, datacenter, try_number, share_ppm } => {
                let part = Part { try_number, share_ppm, state: PartState::Running };
                self.dc_assign(index, token, job, datacenter, part)
            }
            Body::DcEnd { part, end, is_late } => self.dc_end(token, part, end, is_late),
            Body::DcState { datacenter, class, proposer } => {
                self.dc_state(index, datacenter, class, proposer)
            }
            Body::JobEnd { job, end, elapsed_ms } => self.job_end(index, token, job, (end, elapsed_ms)),
            Body::JobForget { first, last } => Ok(self.forget(first, last, jobs)),
            Body::ClusterVersion { version } => self.cluster_version(version),
        }
    }

    fn lead(&mut self, index: u64, token: Token, id: JobId, leader: NodeId, elapsed: Elapsed) -> Done {
        let (reuses_token, forgets_marks) = (bug!(self.bugs, ReuseToken), bug!(self.bugs, ForgetCancelMark));
        let forgets_drains = bug!(self.bugs, ForgetDrainAtTakeover);
        let job = self.job_mut(id)?;
        job.may_replace(token)?;
        let granted = if reuses_token && job.leader.is_some() { job.token() } else { Token(index) };
        if forgets_marks {
            job.tally.weight -= job.cancelled.weight();
            job.cancelled = Cancelled::default();
        }
        job.leader = Some((leader, granted));
        let changed = job.set_clocks(elapsed);
        if forgets_drains {
            self.workers.values_mut().for_each(|worker| worker.is_draining = false);
        }
        self.changes.push(Change::Job(id));
        self.changes.extend(changed.into_iter().map(|workflow| Change::Workflow(id, workflow)));
        Ok(Outcome::Granted(granted))
    }

    fn context(&mut self, token: Token, id: JobId, name: String, version: u64, values: Values) -> Done {
        let room = self.account.room();
        let job = self.job_mut(id)?;
        job.fence(token)?;
        if matches!(&values, Values::Inline(bytes) if bytes.len() > CONTEXT_BYTES_MAX) {
            return Err(CommandRefusal::TooLarge);
        }
        let last = job.context(&name);
        let next = last.map_or(1, |(version, _)| version.saturating_add(1));
        if version != next {
            return Err(CommandRefusal::StaleContext { next });
        }
        let before = last.map_or((0, 0), |last| (values_weight(last), values_bytes(&last.1)));
        let provided = (version, values);
        let weight = job.room_for_workflow(&name)? + values_weight(&provided);
        room.check(job, weight.saturating_sub(before.0), Share::Open)?;
        job.tally.weight = job.tally.weight + weight - before.0;
        job.tally.blob_bytes = job.tally.blob_bytes + values_bytes(&provided.1) - before.1;
        job.workflows.entry(name.clone()).or_default().context = Some(provided);
        self.changes.push(Change::Workflow(id, name));
        Ok(Outcome::Done)
    }

    fn workflow_end(
        &mut self,
        token: Token,
        id: JobId,
        name: String,
        (status, error): (EndStatus, Option<EndError>),
    ) -> Done {
        let room = self.account.room();
        let job = self.job_mut(id)?;
        job.fence(token)?;
        match job.workflow_end(&name) {
            Some((known, _)) if *known == status => return Ok(Outcome::Repeated),
            Some(_) => return Err(CommandRefusal::AlreadyEnded),
            None => {}
        }
        if job.is_running(Some(&name)) {
            return Err(CommandRefusal::Running);
        }
        let weight = job.room_for_workflow(&name)?;
        room.check(job, weight, Share::Closing)?;
        job.tally.weight += weight;
        let error = job.keep_error(room, error);
        job.workflows.entry(name.clone()).or_default().end = Some((status, error));
        self.stop_waiting(id, &name);
        self.changes.push(Change::Workflow(id, name));
        Ok(Outcome::Done)
    }

    fn job_end(&mut self, index: u64, token: Token, id: JobId, (how, elapsed_ms): (End, u64)) -> Done {
        if bug!(self.bugs, EndJobTwice) {
            self.job_mut(id)?.end = None;
        }
        let room = self.account.room();
        let job = self.job_mut(id)?;
        if job.end.as_ref().is_some_and(|end| end.how.is_like(&how)) {
            return Ok(Outcome::Repeated);
        }
        job.fence(token)?;
        if job.is_running(None) {
            return Err(CommandRefusal::Running);
        }
        let how = job.keep_end(room, how);
        job.end = Some(JobEnd { how, index });
        job.elapsed_ms = job.elapsed_ms.max(elapsed_ms);
        job.forget_decisions();
        self.stop_waiting_at_all(id);
        self.changes.extend([Change::Job(id), Change::Decision(id)]);
        Ok(Outcome::Done)
    }

    /// Forgets the jobs that ended within a range: sealed ones chunk by chunk, and some of the whole ones.
    fn forget(&mut self, first: u64, last: u64, forgotten: &BTreeSet<JobId>) -> Outcome {
        let ended =
            |job: &super::Job| job.end.as_ref().is_some_and(|end| (first..=last).contains(&end.index));
        let whole: Vec<JobId> =
            forgotten.iter().filter(|id| self.jobs.get(id).is_some_and(ended)).copied().collect();
        let sealed = self.forget_chunks(first, last);
        for id in &whole {
            self.remove(*id);
            self.changes.push(Change::Job(*id));
        }
        if whole.is_empty() && sealed == 0 { Outcome::Repeated } else { Outcome::Done }
    }

    fn cluster_version(&mut self, version: u32) -> Done {
        if version <= self.version {
            return Err(CommandRefusal::OldVersion { current: self.version });
        }
        self.version = version;
        Ok(Outcome::Done)
    }
}

impl super::Job {
    /// What a workflow adds if the log does not know it yet; refused if there are too many, or its name is too long.
    fn room_for_workflow(&self, name: &str) -> Result<usize, CommandRefusal> {
        if self.workflows.contains_key(name) {
            return Ok(0);
        }
        Limit::name(name)?;
        Limit::Workflows.hold(self.workflows.len() + 1, WORKFLOWS_MAX)?;
        Ok(WORKFLOW_BYTES + name.len())
    }
}
