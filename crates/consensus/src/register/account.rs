//! What the jobs of a register weigh, and which of them ended first. Follows from the jobs: it is not in a snapshot.

use std::collections::BTreeSet;

use super::Register;
use super::command::JobId;
use super::job::Job;
use super::limits::{ENDED_BYTES_MAX, Room};

/// Sums over the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) open: usize,
    pub(super) open_bytes: usize,
    pub(super) ended_bytes: usize,
    /// By the entry that ended them.
    ended: BTreeSet<(u64, JobId)>,
}

impl Account {
    /// Room beside the jobs a command is about, which were taken out before.
    pub(super) fn room(&self) -> Room {
        Room { others: self.open_bytes }
    }

    fn add(&mut self, id: JobId, job: &Job) {
        if let Some(end) = &job.end {
            self.ended.insert((end.index, id));
            self.ended_bytes += job.weight();
        } else {
            self.open += 1;
            self.open_bytes += job.weight();
        }
    }

    fn remove(&mut self, id: JobId, job: &Job) {
        if let Some(end) = &job.end {
            self.ended.remove(&(end.index, id));
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
        for (id, job) in &self.jobs {
            self.account.add(*id, job);
        }
    }

    /// Forgets ended jobs until the others have room, whatever their `retain`: the first that ended goes first. A job that
    /// is unknown does not start again either, so its cancel marks are not missed.
    pub(super) fn make_room(&mut self) -> Vec<JobId> {
        let mut forgotten = Vec::new();
        while self.account.ended_bytes > ENDED_BYTES_MAX
            && let Some((_, id)) = self.account.ended.first().copied()
        {
            self.take_out(&BTreeSet::from([id]));
            self.remove(id);
            forgotten.push(id);
        }
        self.forgotten_early += forgotten.len() as u64;
        forgotten
    }

    /// The job and its key go.
    pub(super) fn remove(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(&id)
            && self.keys.get(&job.key) == Some(&id)
        {
            self.keys.remove(&job.key);
        }
    }
}
