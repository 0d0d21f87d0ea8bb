//! What the jobs of a register weigh, and which of them ended first. Follows from the jobs and chunks: it is not in a snapshot.

use std::collections::BTreeSet;

use super::Register;
use super::command::JobId;
use super::job::Job;
use super::limits::Room;

/// Whole jobs that one `JobForget` takes; the leader proposes it again for the others.
pub const FORGOTTEN_PER_COMMAND: usize = 256;

/// Sums over the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) open: usize,
    pub(super) open_bytes: usize,
    /// Of ended jobs that are not sealed.
    pub(super) ended_bytes: usize,
    /// Of all jobs, sealed ones and the blobs they refer to included.
    pub(super) logical: u64,
    /// Ended and not sealed, by the entry that ended them.
    ended: BTreeSet<(u64, JobId)>,
    /// Those of them that do not change any more.
    sealable: BTreeSet<(u64, JobId)>,
}

impl Account {
    /// Room beside the jobs a command is about, which were taken out before.
    pub(super) fn room(&self) -> Room {
        Room { others: self.open_bytes }
    }

    /// The job that ended first of those that may be sealed.
    pub(super) fn next_to_seal(&self) -> Option<JobId> {
        self.sealable.first().map(|(_, id)| *id)
    }

    /// Whole jobs that ended within a range: the first ones, at most [`FORGOTTEN_PER_COMMAND`].
    pub(super) fn ended_within(&self, first: u64, last: u64) -> BTreeSet<JobId> {
        if first > last {
            return BTreeSet::new();
        }
        let range = (first, JobId([0; 16]))..=(last, JobId([u8::MAX; 16]));
        self.ended.range(range).map(|(_, id)| *id).take(FORGOTTEN_PER_COMMAND).collect()
    }

    fn add(&mut self, id: JobId, job: &Job) {
        self.logical += job.logical_bytes();
        if let Some(end) = &job.end {
            self.ended.insert((end.index, id));
            if job.is_sealable() {
                self.sealable.insert((end.index, id));
            }
            self.ended_bytes += job.weight();
        } else {
            self.open += 1;
            self.open_bytes += job.weight();
        }
    }

    fn remove(&mut self, id: JobId, job: &Job) {
        self.logical -= job.logical_bytes();
        if let Some(end) = &job.end {
            self.ended.remove(&(end.index, id));
            self.sealable.remove(&(end.index, id));
            self.ended_bytes -= job.weight();
        } else {
            self.open -= 1;
            self.open_bytes -= job.weight();
        }
    }
}

impl Register {
    /// Takes jobs out of the account before a command changes them.
    pub(super) fn take_out(&mut self, jobs: &BTreeSet<JobId>) {
        for id in jobs {
            if let Some(job) = self.jobs.get(id) {
                self.account.remove(*id, job);
            }
        }
    }

    /// And puts those back that are still there.
    pub(super) fn put_back(&mut self, jobs: &BTreeSet<JobId>) {
        for id in jobs {
            if let Some(job) = self.jobs.get(id) {
                self.account.add(*id, job);
            }
        }
    }

    /// The account of a register that was read.
    pub(super) fn recount(&mut self) {
        self.account = Account::default();
        for (id, job) in self.jobs.iter() {
            self.account.add(*id, job);
        }
        self.account.logical += self.chunk_contents().map(|contents| contents.logical_bytes).sum::<u64>();
    }

    /// Jobs that ended and are neither sealed nor forgotten, with the entries that ended them, in their order.
    pub fn ended_jobs(&self) -> impl Iterator<Item = (u64, &Job)> {
        self.account.ended.iter().filter_map(|(index, id)| self.jobs.get(id).map(|job| (*index, job)))
    }

    /// Bytes of all jobs that are not forgotten, and of the blobs they refer to.
    pub fn logical_bytes(&self) -> u64 {
        self.account.logical
    }

    /// The job and its key go.
    pub(super) fn remove(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(&id) {
            self.ended.unbind(&job.key, id);
        }
    }
}
