//! Applying commands: one arm per command, the only place where the register changes.

use bytes::Bytes;
use hyperscale_types::{NodeId, Token};

use super::cancel::CancelRequest;
use super::cancel::Cancelled;
use super::command::{Body, CONTEXT_BYTES_MAX, Command, JobId, Values};
use super::end::{End, EndError, EndStatus};
use super::job::{Job, JobEnd};
use super::limits::{Limit, Share, WORKFLOWS_MAX};
use super::pack::{Pack as _, packed};
use super::part::{Part, PartState};
use super::worker::Worker;
use super::{Outcome, Refusal, Register, pack, version};
use crate::apply::{Effects, Machine, Outdated, RestoreError};

type Done = Result<Outcome, Refusal>;

impl Machine for Register {
    type Outcome = Outcome;

    fn apply(&mut self, index: u64, command: &Bytes, effects: &mut Effects) -> Outcome {
        let outcome = match version::read(command, self.version, Body::since) {
            Ok(command) => {
                let touched = self.touched(&command.body);
                self.take_out(&touched.jobs);
                let outcome = self.dispatch(index, command).unwrap_or_else(Outcome::Refused);
                self.put_back(&touched.jobs);
                self.make_room().put(effects);
                self.report(&touched, effects);
                outcome
            }
            Err(refusal) => Outcome::Refused(refusal),
        };
        outcome.report(effects);
        outcome
    }

    fn snapshot(&self) -> Bytes {
        pack::write(self)
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        pack::read(self, state)
    }

    fn outdated(&self) -> Option<Outdated> {
        self.ahead()
    }
}

impl Register {
    fn dispatch(&mut self, index: u64, command: Command) -> Done {
        if !command.body.belongs_to(self.group) {
            return Err(Refusal::WrongGroup);
        }
        let token = command.token;
        match command.body {
            Body::JobAccept(accept) => self.accept(*accept),
            Body::JobLeader { job, leader } => self.lead(index, token, job, leader),
            Body::WorkerGrant { worker, boot, cores, lease_ms, capabilities } => {
                self.grant(worker, Worker::new(boot, Token(index), lease_ms, cores, capabilities))
            }
            Body::WorkerGone { worker, grant } => self.gone(worker, grant),
            Body::WorkerOwner { worker, grant, owner, replaces } => {
                self.own(index, worker, grant, owner, replaces)
            }
            Body::Assign(assign) => self.assign(token, assign),
            Body::AttemptEnd { segment, attempt, end } => self.attempt_end(token, &segment, attempt, end),
            Body::Context { job, workflow, version, values } => {
                self.context(token, job, workflow, version, values)
            }
            Body::WorkflowEnd { job, workflow, status, error } => {
                self.workflow_end(token, job, workflow, (status, error))
            }
            Body::Cancel { job, workflows, request, reason, caller } => {
                self.cancel(job, workflows, request, CancelRequest { reason, caller })
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
            Body::JobEnd { job, end } => self.job_end(index, token, job, end),
            Body::JobForget { job } => self.forget(job),
            Body::ClusterVersion { version } => self.cluster_version(version),
        }
    }

    fn lead(&mut self, index: u64, token: Token, job: JobId, leader: NodeId) -> Done {
        let (reuses_token, forgets_marks) = (bug!(self.bugs, ReuseToken), bug!(self.bugs, ForgetCancelMark));
        let job = self.job_mut(job)?;
        job.may_replace(token)?;
        let granted = if reuses_token && job.leader.is_some() { job.token() } else { Token(index) };
        if forgets_marks {
            job.cancelled = Cancelled::default();
        }
        job.leader = Some((leader, granted));
        Ok(Outcome::Granted(granted))
    }

    fn context(&mut self, token: Token, job: JobId, workflow: String, version: u64, values: Values) -> Done {
        let room = self.account.room();
        let job = self.job_mut(job)?;
        job.fence(token)?;
        if matches!(&values, Values::Inline(bytes) if bytes.len() > CONTEXT_BYTES_MAX) {
            return Err(Refusal::TooLarge);
        }
        let last = job.context(&workflow);
        let next = last.map_or(1, |(version, _)| version.saturating_add(1));
        if version != next {
            return Err(Refusal::StaleContext { next });
        }
        let others = job.contexts.len() - usize::from(last.is_some());
        Limit::name(&workflow)?;
        Limit::Workflows.hold(others + 1, WORKFLOWS_MAX)?;
        let before = last.map_or(0, |last| packed(&workflow) + packed(last));
        let provided = (version, values);
        let more = (packed(&workflow) + packed(&provided)).saturating_sub(before);
        room.check(job, more, Share::Open)?;
        job.contexts.insert(workflow, provided);
        Ok(Outcome::Done)
    }

    fn workflow_end(
        &mut self,
        token: Token,
        job: JobId,
        workflow: String,
        (status, error): (EndStatus, Option<EndError>),
    ) -> Done {
        let room = self.account.room();
        let job = self.job_mut(job)?;
        job.fence(token)?;
        match job.workflow_end(&workflow) {
            Some((known, _)) if *known == status => return Ok(Outcome::Repeated),
            Some(_) => return Err(Refusal::AlreadyEnded),
            None => {}
        }
        if job.is_running(Some(&workflow)) {
            return Err(Refusal::Running);
        }
        Limit::name(&workflow)?;
        Limit::Workflows.hold(job.workflows.len() + 1, WORKFLOWS_MAX)?;
        let end = (status, error.map(|error| error.fitted(room, job)));
        room.check(job, packed(&workflow) + packed(&end), Share::Closing)?;
        job.workflows.insert(workflow, end);
        Ok(Outcome::Done)
    }

    fn job_end(&mut self, index: u64, token: Token, job: JobId, how: End) -> Done {
        if bug!(self.bugs, EndJobTwice) {
            self.job_mut(job)?.end = None;
        }
        let room = self.account.room();
        let job = self.job_mut(job)?;
        if job.end.as_ref().is_some_and(|end| end.how.is_like(&how)) {
            return Ok(Outcome::Repeated);
        }
        job.fence(token)?;
        if job.is_running(None) {
            return Err(Refusal::Running);
        }
        job.end = Some(JobEnd { how: how.fitted(room, job), index });
        Ok(Outcome::Done)
    }

    fn forget(&mut self, id: JobId) -> Done {
        let job = self.jobs.get(&id).ok_or(Refusal::UnknownJob)?;
        if job.end.is_none() {
            return Err(Refusal::NotEnded);
        }
        self.remove(id);
        Ok(Outcome::Done)
    }

    fn cluster_version(&mut self, version: u32) -> Done {
        if version <= self.version {
            return Err(Refusal::OldVersion { current: self.version });
        }
        self.version = version;
        Ok(Outcome::Done)
    }

    pub(super) fn job_mut(&mut self, job: JobId) -> Result<&mut Job, Refusal> {
        self.jobs.get_mut(&job).ok_or(Refusal::UnknownJob)
    }
}
