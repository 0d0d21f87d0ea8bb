//! The queue of jobs as clients see it: who is let in, who waits in which place, how jobs are that are led elsewhere or have ended.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::register::{EndStatus, Job, JobId, Limit, Register, jobs_of_chunk};
use hyperscale_stats::result::Status;
use hyperscale_types::{NodeId, Priority, Token};

use super::io::{Output, ReadNumber, Rejection, RequestNumber, Response};
use super::listing::Lookup;
use super::{JobMachine, Manager};

/// Most jobs that are open when another one is accepted.
const QUEUE_JOBS_MAX: usize = 10_000;
/// When a submission that found no room may be tried again: jobs are short where so many are open.
const RETRY_AFTER: Duration = Duration::from_secs(5);

impl<M: JobMachine> Manager<M> {
    /// Why a submission is not let in. One that was accepted before is answered like the first time.
    pub(super) fn admits(&self, key: &str) -> Option<Rejection> {
        let register = self.register()?;
        if register.job_of_key(key).is_some() {
            return None;
        }
        self.refuses_work().or_else(|| admits(register, key))
    }

    pub(super) fn accepted(&self, job: JobId, leader: Option<(NodeId, Token)>, is_repeat: bool) -> Response {
        let register = self.register();
        let known = register.and_then(|register| Some((register, register.job(job)?)));
        let status = known.map_or(Status::Submitted, |(register, known)| status(register, job, known));
        let queue_position = register.and_then(|register| position(register, job));
        Response::Accepted { job, leader, is_repeat, status, queue_position }
    }

    /// Jobs in the order in which they are served: those that wait for cores by priority
    /// and then by how long they wait, after all others.
    pub(super) fn by_urgency(&self, jobs: BTreeSet<JobId>) -> Vec<JobId> {
        let claim = |job: &JobId| self.register().and_then(|register| register.claim(*job));
        let mut sorted: Vec<JobId> = jobs.into_iter().collect();
        sorted.sort_by_key(|job| claim(job).map(|claim| (Reverse(claim.priority), claim.index)));
        sorted
    }

    /// How many jobs are in which state, by its word: all that have not ended, and the newest that have.
    pub fn jobs_by_status(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        let Some(register) = self.register() else { return counts };
        for (id, job) in register.jobs() {
            *counts.entry(status(register, *id, job).as_str()).or_default() += 1;
        }
        counts
    }

    /// A job that is not whole any more: its chunk is being filled, or read from this disk.
    pub(super) fn look_up_sealed(
        &mut self,
        request: RequestNumber,
        job: JobId,
        out: &mut Vec<Output>,
    ) -> Option<Response> {
        let chunk = self.register().and_then(|register| register.sealed(job)).and_then(|sealed| sealed.chunk);
        let Some(blob) = chunk else { return Some(self.gone_or_unknown(job)) };
        let read = ReadNumber(self.calls.number());
        self.lookups.insert(read, Lookup::Job(request, job));
        out.push(Output::ReadBlob { read, blob });
        None
    }
}

/// Answers a client with what a chunk says about an ended job.
pub(super) fn found(request: RequestNumber, job: JobId, bytes: Option<&Bytes>, out: &mut Vec<Output>) {
    let jobs = bytes.and_then(jobs_of_chunk).unwrap_or_default();
    let end = jobs.into_iter().find(|(id, _)| *id == job).and_then(|(_, job)| job.end);
    let response = match end {
        Some(end) => Response::Ended(Box::new(end)),
        // This disk lacks the chunk, which is being fetched.
        None => Response::Starting,
    };
    out.push(Output::Respond { request, response });
}

fn admits(register: &Register, key: &str) -> Option<Rejection> {
    let is_full = register.jobs_open() >= QUEUE_JOBS_MAX && register.job_of_key(key).is_none();
    is_full.then_some(Rejection::CapacityExceeded { retry_after: RETRY_AFTER })
}

/// Why the log has no room for a submission.
pub(super) fn limited(limit: Limit) -> Rejection {
    let retry_after = RETRY_AFTER;
    match limit {
        Limit::JobsOpen | Limit::OpenBytes => Rejection::CapacityExceeded { retry_after },
        Limit::EndedBytes | Limit::LogicalBytes => Rejection::Overloaded { retry_after },
        other => Rejection::Refused(other.to_string()),
    }
}

/// The place of a job among those that wait for cores: by priority, then by acceptance.
pub(super) fn position(register: &Register, job: JobId) -> Option<u32> {
    let rank = |priority: Priority, id: JobId| {
        (Reverse(priority), register.job(id).map_or(u64::MAX, |job| job.accepted))
    };
    let own = rank(register.claim(job)?.priority, job);
    let before = register.claims().filter(|(id, claim)| rank(claim.priority, *id) < own).count();
    Some(before as u32 + 1)
}

/// How a job is, as far as the log says.
pub(super) fn status(register: &Register, id: JobId, job: &Job) -> Status {
    if let Some(end) = &job.end {
        return ended(end.how.status);
    }
    let has_begun = job.workflows().any(|(_, workflow)| workflow.started.is_some());
    match () {
        () if job.is_wholly_cancelled() => Status::Cancelling,
        () if has_begun && job.is_running(None) => Status::Running,
        () if register.claim(id).is_some() => Status::Queued,
        () if has_begun => Status::Running,
        () => Status::Submitted,
    }
}

fn ended(status: EndStatus) -> Status {
    match status {
        EndStatus::Completed => Status::Completed,
        EndStatus::Partial => Status::Partial,
        EndStatus::Cancelled => Status::Cancelled,
        EndStatus::TimedOut => Status::TimedOut,
        EndStatus::Skipped => Status::Skipped,
        EndStatus::Failed | EndStatus::Lost | EndStatus::Refused => Status::Failed,
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_consensus::register::{Accept, Body, Command, Group, JobOptions};
    use hyperscale_consensus::{BlobId, Effects, Machine as _};

    use super::*;

    #[test]
    fn queue_is_full_with_ten_thousand_open_jobs_but_for_those_that_are_in_it() {
        let mut register = Register::new(Group::Managers);
        for number in 0..QUEUE_JOBS_MAX as u64 {
            assert_eq!(admits(&register, "new"), None, "{number}");
            let mut job = JobId([0; 16]);
            job.0[..8].copy_from_slice(&number.to_be_bytes());
            let accept = Accept {
                job,
                key: number.to_string(),
                plan: BlobId::of(b"plan"),
                options: JobOptions::default(),
                origin: None,
                caller: String::new(),
                name: String::new(),
                submitted_at_ms: 0,
            };
            let command = Command { token: Token(0), body: Body::JobAccept(Box::new(accept)) };
            register.apply(number + 1, &command.encode(), &mut Effects::default());
        }
        assert_eq!(register.jobs_open(), QUEUE_JOBS_MAX);
        let full = Some(Rejection::CapacityExceeded { retry_after: RETRY_AFTER });
        assert_eq!(admits(&register, "new"), full);
        assert_eq!(admits(&register, "77"), None, "it was accepted before");
    }
}
