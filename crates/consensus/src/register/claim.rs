//! Jobs that wait for cores, in the order in which they began to wait.
//!
//! Two job leaders that place batches at the same time could each get half of the cores and wait for the other half for
//! ever, and a large batch could wait for ever while small ones pass. So waiting is in the log: a workflow does not begin
//! while an older claim of another job with priority `high` or `exclusive` waits. The order is total, so the oldest claim is
//! never held up by another.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::{Priority, Token};

use super::change::Change;
use super::command::JobId;
use super::limits::{Limit, WORKFLOWS_MAX};
use super::{Outcome, Refusal, Register};

/// What a job waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The entry since which it waits.
    pub index: u64,
    /// The highest priority among its workflows.
    pub priority: Priority,
    /// Cores without which the batch is not placed.
    pub least_cores: u32,
    /// The workflows that are ready.
    pub workflows: BTreeSet<String>,
}

impl Claim {
    /// Whether later ones must not pass it.
    fn holds_back(&self) -> bool {
        matches!(self.priority, Priority::High | Priority::Exclusive)
    }
}

/// All of them, one per job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) by_job: BTreeMap<JobId, Claim>,
    /// Those that hold others back, by age. Follows from the claims.
    holding: BTreeSet<(u64, JobId)>,
}

impl Claims {
    pub(super) fn new(by_job: BTreeMap<JobId, Claim>) -> Self {
        let holding = by_job.iter().filter(|(_, claim)| claim.holds_back()).map(|(job, it)| (it.index, *job));
        Self { holding: holding.collect(), by_job }
    }

    /// The entry of the oldest claim that this job would pass if it began something now.
    pub(super) fn overtaken_by(&self, job: JobId) -> Option<u64> {
        let own = self.by_job.get(&job).map_or(u64::MAX, |claim| claim.index);
        let oldest = self.holding.iter().find(|(_, other)| *other != job);
        oldest.map(|(index, _)| *index).filter(|index| *index < own)
    }

    fn set(&mut self, job: JobId, claim: Option<Claim>) {
        if let Some(before) = self.by_job.remove(&job) {
            self.holding.remove(&(before.index, job));
        }
        if let Some(claim) = claim {
            if claim.holds_back() {
                self.holding.insert((claim.index, job));
            }
            self.by_job.insert(job, claim);
        }
    }
}

impl Register {
    /// Jobs that wait for cores.
    pub fn claims(&self) -> impl ExactSizeIterator<Item = (JobId, &Claim)> {
        self.claims.by_job.iter().map(|(job, claim)| (*job, claim))
    }

    /// What a job waits for.
    pub fn claim(&self, job: JobId) -> Option<&Claim> {
        self.claims.by_job.get(&job)
    }

    pub(super) fn ready(
        &mut self,
        index: u64,
        token: Token,
        id: JobId,
        mut claim: Claim,
    ) -> Result<Outcome, Refusal> {
        let job = self.job_mut(id)?;
        job.fence(token)?;
        Limit::Workflows.hold(claim.workflows.len(), WORKFLOWS_MAX)?;
        for workflow in &claim.workflows {
            Limit::name(workflow)?;
            if job.is_cancelled(workflow) {
                return Err(Refusal::Cancelled);
            }
            if job.workflow(workflow).is_some_and(|known| known.started.is_some() || known.end.is_some()) {
                return Err(Refusal::AlreadyEnded);
            }
        }
        let known = self.claims.by_job.get(&id);
        claim.index = known.map_or(index, |known| known.index);
        if known == Some(&claim) || known.is_none() && claim.workflows.is_empty() {
            return Ok(Outcome::Repeated);
        }
        self.put_claim(id, claim);
        Ok(Outcome::Done)
    }

    /// A workflow of the job does not wait any more.
    pub(super) fn stop_waiting(&mut self, id: JobId, workflow: &str) {
        let Some(claim) = self.claims.by_job.get(&id).filter(|claim| claim.workflows.contains(workflow))
        else {
            return;
        };
        let mut claim = claim.clone();
        claim.workflows.remove(workflow);
        self.put_claim(id, claim);
    }

    /// Nothing of the job waits any more.
    pub(super) fn stop_waiting_at_all(&mut self, id: JobId) {
        if self.claims.by_job.contains_key(&id) {
            self.claims.set(id, None);
            self.changes.push(Change::Claim(id));
        }
    }

    fn put_claim(&mut self, id: JobId, claim: Claim) {
        self.claims.set(id, (!claim.workflows.is_empty()).then_some(claim));
        self.changes.push(Change::Claim(id));
    }
}
