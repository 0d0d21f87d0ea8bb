//! Applying commands: one arm per command, the only place where the register changes.

use std::hash::Hash;

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId, Token};

use super::command::{
    Assign, Body, CONTEXT_BYTES_MAX, Command, EndStatus, JobId, RequestId, Segment, Values,
};
use super::job::{Attempt, AttemptState, CANCELS_MAX, Cancelled, Job, JobEnd, REASON_BYTES_MAX};
use super::part::{Part, PartEnd, PartState};
use super::worker::Worker;
use super::{Outcome, Refusal, Register, pack, version};
use crate::apply::{Effects, Machine, Outdated, RestoreError};
use crate::blob::BlobId;

type Done = Result<Outcome, Refusal>;

impl Machine for Register {
    type Outcome = Outcome;

    fn apply(&mut self, index: u64, command: &Bytes, effects: &mut Effects) -> Outcome {
        let outcome = match version::read(command, self.version, Body::since) {
            Ok(command) => {
                let touched = touched(&command.body);
                let outcome = self.dispatch(index, command).unwrap_or_else(Outcome::Refused);
                self.report(&touched, effects);
                outcome
            }
            Err(refusal) => Outcome::Refused(refusal),
        };
        outcome.hash(effects);
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

/// What a command may change beside what its outcome says.
#[derive(Default)]
struct Touched {
    job: Option<JobId>,
    worker: Option<NodeId>,
    datacenter: Option<String>,
}

fn touched(body: &Body) -> Touched {
    let nothing = Touched::default;
    match body {
        Body::JobAccept { job, .. }
        | Body::JobLeader { job, .. }
        | Body::Context { job, .. }
        | Body::WorkflowEnd { job, .. }
        | Body::Cancel { job, .. }
        | Body::Control { job, .. }
        | Body::DcAssign { job, .. }
        | Body::JobEnd { job, .. }
        | Body::JobForget { job } => Touched { job: Some(*job), ..nothing() },
        Body::AttemptEnd { segment, .. } => Touched { job: Some(segment.job), ..nothing() },
        Body::DcEnd { part, .. } => Touched { job: Some(part.job), ..nothing() },
        Body::Assign(assign) => {
            Touched { job: Some(assign.segment.job), worker: Some(assign.worker), ..nothing() }
        }
        Body::WorkerGrant { worker, .. } | Body::WorkerGone { worker, .. } => {
            Touched { worker: Some(*worker), ..nothing() }
        }
        Body::DcState { datacenter, .. } => Touched { datacenter: Some(datacenter.clone()), ..nothing() },
        Body::ClusterVersion { .. } => nothing(),
    }
}

impl Register {
    fn report(&self, touched: &Touched, effects: &mut Effects) {
        touched.job.and_then(|job| self.jobs.get(&job)).hash(effects);
        touched.worker.and_then(|worker| self.workers.get(&worker)).hash(effects);
        touched.datacenter.as_ref().and_then(|name| self.datacenters.get(name)).hash(effects);
        let sizes = (self.jobs.len(), self.keys.len(), self.workers.len(), self.datacenters.len());
        (sizes, self.version).hash(effects);
    }

    fn dispatch(&mut self, index: u64, command: Command) -> Done {
        if !command.body.belongs_to(self.group) {
            return Err(Refusal::WrongGroup);
        }
        let token = command.token;
        match command.body {
            Body::JobAccept { job, key, plan, gate_token } => self.accept(job, key, plan, gate_token),
            Body::JobLeader { job, leader } => self.lead(index, token, job, leader),
            Body::WorkerGrant { worker, boot, cores, lease_ms } => {
                self.grant(index, worker, boot, cores, lease_ms)
            }
            Body::WorkerGone { worker, grant } => self.gone(worker, grant),
            Body::Assign(assign) => self.assign(token, assign),
            Body::AttemptEnd { segment, attempt, status, result } => {
                self.attempt_end(token, &segment, attempt, status, result)
            }
            Body::Context { job, workflow, version, values } => {
                self.context(token, job, workflow, version, values)
            }
            Body::WorkflowEnd { job, workflow, status } => self.workflow_end(token, job, workflow, status),
            Body::Cancel { job, workflows, request, reason } => self.cancel(job, workflows, request, reason),
            Body::Control { job, workflow, change, request } => {
                self.control(index, token, job, workflow, change, request)
            }
            Body::DcAssign { job, datacenter, try_number, share_ppm } => {
                let part = Part { try_number, share_ppm, state: PartState::Running };
                self.dc_assign(index, token, job, datacenter, part)
            }
            Body::DcEnd { part, status, result, is_late } => {
                self.dc_end(token, part, PartEnd { status, result }, is_late)
            }
            Body::DcState { datacenter, class, proposer } => {
                self.dc_state(index, datacenter, class, proposer)
            }
            Body::JobEnd { job, status, result } => self.job_end(index, token, job, status, result),
            Body::JobForget { job } => self.forget(job),
            Body::ClusterVersion { version } => self.cluster_version(version),
        }
    }

    fn accept(&mut self, job: JobId, key: String, plan: BlobId, gate_token: Token) -> Done {
        if bug!(self.bugs, IgnoreIdempotencyKey) {
            self.keys.remove(&key);
        }
        if let Some(known) = self.keys.get(&key) {
            let is_same = self.jobs.get(known).is_some_and(|job| job.plan == plan);
            let again = Outcome::Accepted { job: *known, is_repeat: true };
            return if is_same { Ok(again) } else { Err(Refusal::KeyConflict) };
        }
        if self.jobs.contains_key(&job) {
            return Err(Refusal::JobKnown);
        }
        self.keys.insert(key.clone(), job);
        self.jobs.insert(job, Job::new(key, plan, gate_token));
        Ok(Outcome::Accepted { job, is_repeat: false })
    }

    fn lead(&mut self, index: u64, token: Token, job: JobId, leader: NodeId) -> Done {
        let (reuses_token, forgets_marks) = (bug!(self.bugs, ReuseToken), bug!(self.bugs, ForgetCancelMark));
        let job = self.job_mut(job)?;
        job.fence(token)?;
        let granted = if reuses_token && job.leader.is_some() { job.token() } else { Token(index) };
        if forgets_marks {
            job.cancelled = Cancelled::default();
        }
        job.leader = Some((leader, granted));
        Ok(Outcome::Granted(granted))
    }

    fn grant(&mut self, index: u64, worker: NodeId, boot: BootEpoch, cores: u32, lease_ms: u64) -> Done {
        match self.workers.get(&worker) {
            Some(known) if known.boot == boot => return Ok(Outcome::Granted(known.grant)),
            Some(known) if known.boot > boot => return Err(Refusal::OldBoot),
            // It restarted: what it ran is gone with its old life.
            Some(_) => self.lose(worker),
            None => {}
        }
        self.workers.insert(worker, Worker::new(boot, Token(index), lease_ms, cores));
        Ok(Outcome::Granted(Token(index)))
    }

    fn gone(&mut self, worker: NodeId, grant: Token) -> Done {
        let current = self.workers.get(&worker).map(|known| known.grant);
        if current != Some(grant) {
            return Err(Refusal::StaleGrant { current });
        }
        self.lose(worker);
        Ok(Outcome::Done)
    }

    /// All attempts of the worker are lost.
    fn lose(&mut self, worker: NodeId) {
        let Some(gone) = self.workers.remove(&worker) else { return };
        for segment in gone.promised.into_keys() {
            let job = self.jobs.get_mut(&segment.job);
            let attempt = job.and_then(|job| job.segments.get_mut(&(segment.workflow, segment.number)));
            if let Some(attempt) = attempt.filter(|attempt| attempt.state == AttemptState::Running) {
                attempt.state = AttemptState::Lost;
            }
        }
    }

    fn assign(&mut self, token: Token, assign: Assign) -> Done {
        let job = self.jobs.get(&assign.segment.job).ok_or(Refusal::UnknownJob)?;
        self.may_assign(job, token, &assign)?;
        let worker = self.workers.get_mut(&assign.worker).expect("checked that it has a grant");
        let attempt = Attempt {
            number: assign.attempt,
            worker: assign.worker,
            grant: assign.grant,
            cores: assign.cores,
            vus: assign.vus,
            state: AttemptState::Running,
        };
        worker.promised.insert(assign.segment.clone(), assign.cores);
        let job = self.job_mut(assign.segment.job)?;
        job.segments.insert((assign.segment.workflow, assign.segment.number), attempt);
        Ok(Outcome::Done)
    }

    /// The compare half of compare-and-set.
    fn may_assign(&self, job: &Job, token: Token, assign: &Assign) -> Result<(), Refusal> {
        let token = if bug!(self.bugs, IgnoreTokenOnAssign) { job.token() } else { token };
        job.fence(token)?;
        if job.is_cancelled(&assign.segment.workflow) {
            return Err(Refusal::Cancelled);
        }
        if job.workflow_end(&assign.segment.workflow).is_some() {
            return Err(Refusal::AlreadyEnded);
        }
        let last = job.attempt(&assign.segment.workflow, assign.segment.number);
        if last.is_some_and(|last| last.state == AttemptState::Running)
            && !bug!(self.bugs, AssignWhileRunning)
        {
            return Err(Refusal::Running);
        }
        let next = last.map_or(1, |last| last.number.saturating_add(1));
        if assign.attempt != next {
            return Err(Refusal::WrongAttempt { next });
        }
        let worker = self.workers.get(&assign.worker);
        let current = worker.map(|worker| worker.grant);
        let worker = worker.filter(|worker| worker.grant == assign.grant && worker.boot == assign.boot);
        let worker = worker.ok_or(Refusal::StaleGrant { current })?;
        let are_free = assign.cores > 0 && assign.cores <= worker.free();
        if !are_free && !bug!(self.bugs, DoublePromiseCore) {
            return Err(Refusal::CoresNotFree { free: worker.free() });
        }
        Ok(())
    }

    fn attempt_end(
        &mut self,
        token: Token,
        segment: &Segment,
        number: u32,
        status: EndStatus,
        result: Option<BlobId>,
    ) -> Done {
        let accepts_stale = bug!(self.bugs, AcceptStaleAttempt);
        let job = self.job_mut(segment.job)?;
        job.fence(token)?;
        let place = (segment.workflow.clone(), segment.number);
        let attempt = job.segments.get_mut(&place).ok_or(Refusal::Superseded)?;
        let ended = AttemptState::Ended(status, result);
        if accepts_stale && attempt.number != number {
            attempt.state = ended;
            return Ok(Outcome::Done);
        }
        if attempt.number == number && attempt.state == ended {
            return Ok(Outcome::Repeated);
        }
        if attempt.number != number || attempt.state != AttemptState::Running {
            return Err(Refusal::Superseded);
        }
        attempt.state = ended;
        let worker = attempt.worker;
        if let Some(worker) = self.workers.get_mut(&worker) {
            worker.promised.remove(segment);
        }
        Ok(Outcome::Done)
    }

    fn context(&mut self, token: Token, job: JobId, workflow: String, version: u64, values: Values) -> Done {
        let job = self.job_mut(job)?;
        job.fence(token)?;
        if matches!(&values, Values::Inline(bytes) if bytes.len() > CONTEXT_BYTES_MAX) {
            return Err(Refusal::TooLarge);
        }
        let next = job.context(&workflow).map_or(1, |(version, _)| version.saturating_add(1));
        if version != next {
            return Err(Refusal::StaleContext { next });
        }
        job.contexts.insert(workflow, (version, values));
        Ok(Outcome::Done)
    }

    fn workflow_end(&mut self, token: Token, job: JobId, workflow: String, status: EndStatus) -> Done {
        let job = self.job_mut(job)?;
        job.fence(token)?;
        match job.workflow_end(&workflow) {
            Some(known) if known == status => return Ok(Outcome::Repeated),
            Some(_) => return Err(Refusal::AlreadyEnded),
            None => {}
        }
        if job.is_running(Some(&workflow)) {
            return Err(Refusal::Running);
        }
        job.workflows.insert(workflow, status);
        Ok(Outcome::Done)
    }

    /// A request beyond [`CANCELS_MAX`] still cancels; it is only not recognised when it is repeated, which changes
    /// nothing.
    fn cancel(&mut self, job: JobId, workflows: Vec<String>, request: RequestId, mut reason: String) -> Done {
        let job = self.job_mut(job)?;
        if job.cancelled.requests.contains_key(&request) {
            return Ok(Outcome::Repeated);
        }
        if job.end.is_some() {
            return Err(Refusal::AlreadyEnded);
        }
        job.cancelled.whole |= workflows.is_empty();
        job.cancelled.workflows.extend(workflows);
        if job.cancelled.requests.len() < CANCELS_MAX {
            reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
            job.cancelled.requests.insert(request, reason);
        }
        Ok(Outcome::Done)
    }

    fn job_end(
        &mut self,
        index: u64,
        token: Token,
        job: JobId,
        status: EndStatus,
        result: Option<BlobId>,
    ) -> Done {
        if bug!(self.bugs, EndJobTwice) {
            self.job_mut(job)?.end = None;
        }
        let job = self.job_mut(job)?;
        if job.end.is_some_and(|end| end.status == status && end.result == result) {
            return Ok(Outcome::Repeated);
        }
        job.fence(token)?;
        if job.is_running(None) {
            return Err(Refusal::Running);
        }
        job.end = Some(JobEnd { status, result, index });
        Ok(Outcome::Done)
    }

    fn forget(&mut self, id: JobId) -> Done {
        let job = self.jobs.get(&id).ok_or(Refusal::UnknownJob)?;
        if job.end.is_none() {
            return Err(Refusal::NotEnded);
        }
        self.keys.remove(&job.key);
        self.jobs.remove(&id);
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
