//! Cancelling: marks that are never taken back, and who asked for them.

use std::collections::{BTreeMap, BTreeSet};

use super::change::Change;
use super::command::{JobId, RequestId};
use super::end::cut;
use super::job::{Job, REASON_BYTES_MAX};
use super::limits::{Limit, NAME_BYTES_MAX, Share, WORKFLOWS_MAX};
use super::pack::packed;
use super::{CommandRefusal, Outcome, Register};

/// Most requests to cancel of one job that are remembered with their reasons.
pub const CANCELS_MAX: usize = 1024;

/// Marks that are never taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Cancelled {
    pub(super) whole: bool,
    pub(super) workflows: BTreeSet<String>,
    pub(super) requests: BTreeMap<RequestId, CancelRequest>,
}

/// What was cancelled, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CancelRequest {
    /// All workflows that it cancels; none: the whole job.
    pub workflows: Vec<String>,
    /// Those of them that were asked for; the others depend on these.
    pub named: Vec<String>,
    /// Shown to people.
    pub reason: String,
    /// Who asked, as far as that is known.
    pub caller: String,
}

impl Cancelled {
    /// What the marks weigh beside the job.
    pub(super) fn weight(&self) -> usize {
        let requests = self.requests.iter().map(|(request, why)| packed(request) + packed(why));
        packed_names(&self.workflows) + requests.sum::<usize>()
    }
}

fn packed_names(names: &BTreeSet<String>) -> usize {
    names.iter().map(packed).sum()
}

impl Job {
    /// Whether nothing of this workflow may start again.
    pub fn is_cancelled(&self, workflow: &str) -> bool {
        self.cancelled.whole || self.cancelled.workflows.contains(workflow)
    }

    /// Whether the whole job was cancelled.
    pub fn is_wholly_cancelled(&self) -> bool {
        self.cancelled.whole
    }

    /// What a request cancelled, if it is remembered.
    pub fn cancel_of(&self, request: RequestId) -> Option<&CancelRequest> {
        self.cancelled.requests.get(&request)
    }

    /// Why a workflow was cancelled, as the first request says that did it in the order of their ids; empty if none is remembered.
    pub fn cancel_reason(&self, workflow: &str) -> &str {
        let cancels = |why: &&CancelRequest| {
            why.workflows.is_empty() || why.workflows.iter().any(|cancelled| cancelled == workflow)
        };
        self.cancelled.requests.values().find(cancels).map_or("", |why| &why.reason)
    }

    /// Workflows that were cancelled one by one.
    pub fn cancelled_workflows(&self) -> impl Iterator<Item = &str> {
        self.cancelled.workflows.iter().map(String::as_str)
    }

    /// Requests to cancel something: who asked, and why.
    pub fn cancels(&self) -> impl ExactSizeIterator<Item = (RequestId, &CancelRequest)> {
        self.cancelled.requests.iter().map(|(request, why)| (*request, why))
    }
}

impl Register {
    /// The whole job is cancelled whatever its size. A request for which there is no room, or beyond [`CANCELS_MAX`], still
    /// cancels; it is only not recognised when it is repeated, which changes nothing.
    pub(super) fn cancel(
        &mut self,
        id: JobId,
        request: RequestId,
        mut why: CancelRequest,
    ) -> Result<Outcome, CommandRefusal> {
        let room = self.account.room();
        let job = self.job_mut(id)?;
        if job.cancelled.requests.contains_key(&request) {
            return Ok(Outcome::Repeated);
        }
        if job.end.is_some() {
            return Err(CommandRefusal::AlreadyEnded);
        }
        let is_whole = why.workflows.is_empty();
        let is_new = |name: &&String| !job.cancelled.workflows.contains(*name);
        let new: BTreeSet<String> = why.workflows.iter().filter(is_new).cloned().collect();
        new.iter().try_for_each(|name| Limit::name(name))?;
        Limit::Workflows.hold(job.cancelled.workflows.len() + new.len(), WORKFLOWS_MAX)?;
        if !new.is_empty() {
            room.check(job, packed_names(&new), Share::Closing)?;
        }
        job.cancelled.whole |= is_whole;
        job.tally.weight += packed_names(&new);
        let waiting = if is_whole { Vec::new() } else { new.iter().cloned().collect::<Vec<_>>() };
        job.cancelled.workflows.extend(new);
        cut(&mut why.reason, REASON_BYTES_MAX);
        cut(&mut why.caller, NAME_BYTES_MAX);
        let more = packed(&request) + packed(&why);
        if job.cancelled.requests.len() < CANCELS_MAX && room.check(job, more, Share::Closing).is_ok() {
            job.tally.weight += more;
            job.cancelled.requests.insert(request, why);
        }
        self.changes.push(Change::Cancelled(id));
        if is_whole {
            self.stop_waiting_at_all(id);
        }
        for workflow in &waiting {
            self.stop_waiting(id, workflow);
        }
        Ok(Outcome::Done)
    }
}
