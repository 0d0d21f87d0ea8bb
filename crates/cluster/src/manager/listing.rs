//! The list of jobs, page by page: open ones by their acceptance, then those that have ended by their end, the newest first.
//!
//! Jobs that ended a while ago are sealed in chunks, which are on the disks: a page reads the newest chunk that it needs, then the one
//! before, until it is full or has read [`CHUNKS_MAX`] of them. So a page costs the same however many jobs are retained, and may have
//! fewer jobs than were asked for though there are more.

use std::cmp::Reverse;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::register::{Job, JobId, Register, jobs_of_chunk};
use hyperscale_types::Now;

use super::io::{JobLine, ListPlace, Output, ReadNumber, RequestNumber, Response};
use super::queue::{position, status};
use super::{JobMachine, Manager};

/// Chunks that are read for one page: each has up to 8 MiB.
const CHUNKS_MAX: u32 = 2;

/// What a chunk of ended jobs is read for.
#[derive(Debug)]
pub(super) enum Lookup {
    /// A client asks for one job in it.
    Job(RequestNumber, JobId),
    /// A client wants a list.
    List(Box<Listing>),
}

/// A page that is being put together.
#[derive(Debug)]
pub(super) struct Listing {
    request: RequestNumber,
    limit: usize,
    lines: Vec<JobLine>,
    /// Jobs that ended by an earlier entry come next.
    before: u64,
    chunks_read: u32,
}

impl<M: JobMachine> Manager<M> {
    /// A page of the list, at once or when the chunks that it needs were read.
    pub(super) fn list(
        &mut self,
        now: Now,
        request: RequestNumber,
        (after, limit): (Option<ListPlace>, usize),
        out: &mut Vec<Output>,
    ) -> Option<Response> {
        let Some(register) = self.register() else {
            return Some(Response::Jobs { lines: Vec::new(), next: None });
        };
        let (accepted, before) = match after {
            None => (u64::MAX, u64::MAX),
            Some(ListPlace::Open(accepted)) => (accepted, u64::MAX),
            Some(ListPlace::Ended(index)) => (0, index),
        };
        let is_open = |(_, job): &(&JobId, &Job)| job.end.is_none() && job.accepted < accepted;
        let mut open: Vec<(&JobId, &Job)> = register.jobs().filter(is_open).collect();
        open.sort_unstable_by_key(|(_, job)| Reverse(job.accepted));
        let next = open.get(limit).and(open.get(limit.saturating_sub(1)));
        let next = next.map(|(_, job)| ListPlace::Open(job.accepted));
        let lines: Vec<JobLine> =
            open.into_iter().take(limit).map(|(id, job)| self.line(now, register, *id, job)).collect();
        if next.is_some() {
            return Some(Response::Jobs { lines, next });
        }
        let whole = register.jobs().filter(|(_, job)| job.end.is_some());
        let whole = whole.map(|(id, job)| (*id, job.clone()));
        let ended: Vec<(JobId, Job)> = whole.chain(register.jobs_being_sealed()).collect();
        let mut listing = Listing { request, limit, lines, before, chunks_read: 0 };
        if self.add_ended(now, &mut listing, ended) {
            return Some(full(listing));
        }
        self.read_next(listing, out)
    }

    /// Adds ended jobs to a page; whether some had no place.
    fn add_ended(&self, now: Now, listing: &mut Listing, jobs: Vec<(JobId, Job)>) -> bool {
        let Some(register) = self.register() else { return false };
        let index = |job: &Job| job.end.as_ref().map_or(u64::MAX, |end| end.index);
        let mut ended: Vec<(JobId, Job)> =
            jobs.into_iter().filter(|(_, job)| index(job) < listing.before).collect();
        ended.sort_unstable_by_key(|(_, job)| Reverse(index(job)));
        for (id, job) in ended {
            if listing.lines.len() >= listing.limit {
                return true;
            }
            listing.before = index(&job);
            listing.lines.push(self.line(now, register, id, &job));
        }
        false
    }

    /// Reads the next chunk that a page needs, unless it is full or has read enough; then the page is over.
    fn read_next(&mut self, listing: Listing, out: &mut Vec<Output>) -> Option<Response> {
        let older = self.register().and_then(|register| {
            let older = register.chunks().filter(|chunk| chunk.contents.first < listing.before);
            older.last().map(|chunk| chunk.blob)
        });
        let Some(blob) = older else {
            return Some(Response::Jobs { lines: listing.lines, next: None });
        };
        if listing.lines.len() >= listing.limit || listing.chunks_read >= CHUNKS_MAX {
            return Some(full(listing));
        }
        let read = ReadNumber(self.calls.number());
        self.lookups.insert(read, Lookup::List(Box::new(listing)));
        out.push(Output::ReadBlob { read, blob });
        None
    }

    /// A chunk was read for a page.
    pub(super) fn chunk_read(
        &mut self,
        now: Now,
        mut listing: Listing,
        bytes: Option<&Bytes>,
        out: &mut Vec<Output>,
    ) {
        let request = listing.request;
        let response = match bytes.and_then(jobs_of_chunk) {
            Some(jobs) => {
                let ended = |job: &Job| job.end.as_ref().map(|end| end.index);
                let first = jobs.iter().filter_map(|(_, job)| ended(job)).min();
                // Another job may have taken the place of one of them.
                let is_current = |(id, job): &(JobId, Job)| {
                    let known = self.register().and_then(|register| register.sealed(*id));
                    known.map(|known| known.index) == ended(job)
                };
                let jobs: Vec<(JobId, Job)> = jobs.into_iter().filter(is_current).collect();
                listing.chunks_read += 1;
                if self.add_ended(now, &mut listing, jobs) {
                    Some(full(listing))
                } else {
                    listing.before = listing.before.min(first.unwrap_or(0));
                    self.read_next(listing, out)
                }
            }
            // This disk lacks the chunk, which is being fetched.
            None if listing.lines.is_empty() => Some(Response::Starting),
            None => Some(full(listing)),
        };
        out.extend(response.map(|response| Output::Respond { request, response }));
    }

    fn line(&self, now: Now, register: &Register, id: JobId, job: &Job) -> JobLine {
        JobLine {
            job: id,
            leader: job.leader,
            end: job.end.clone(),
            name: job.name.clone(),
            submitted_at_ms: job.submitted_at_ms,
            status: status(register, id, job),
            elapsed: Duration::from_millis(match &job.end {
                Some(_) => job.elapsed_ms,
                None => self.clocks.elapsed(now, id).job_ms,
            }),
            queue_position: position(register, id),
        }
    }
}

/// A page that ends though there are more jobs.
fn full(listing: Listing) -> Response {
    Response::Jobs { lines: listing.lines, next: Some(ListPlace::Ended(listing.before)) }
}
