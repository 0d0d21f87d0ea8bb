//! The workers a manager knows, its own and those of its peers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Now};

use super::queue::WorkerQueue;
use super::{Intake, WorkerMembership, WorkerReport, WorkerUpdate, WorkerVersion};
use crate::digest::{Digest, in_mask};
use crate::size::worker_len;

#[derive(Clone, Debug)]
struct Record {
    update: Arc<WorkerUpdate>,
    since: Now,
}

/// What became of an update that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// Newer than what was known. `told_at_once` if it is more than a change of capacity.
    News { told_at_once: bool },
    /// Not newer.
    Known,
    /// Under the same owner token by another owner: not its to say.
    Foreign { owner: NodeId },
    /// No room for another worker.
    Full,
}

#[derive(Clone, Debug)]
pub(crate) struct WorkerBook {
    records: BTreeMap<NodeId, Record>,
    /// Of the registered ones; the gone are forgotten by each manager at its own time.
    digest: Digest,
    pub(crate) queue: WorkerQueue,
    pub(crate) intake: Intake,
    workers_max: usize,
    /// The last updates about workers that were forgotten, oldest first out: what is older must not pass for news.
    graves: BTreeMap<NodeId, Arc<WorkerUpdate>>,
    buried: VecDeque<NodeId>,
    /// Graves that fell out.
    graves_dropped: u64,
}

/// Forgotten workers whose last update is remembered; the oldest falls out and is counted.
pub const GRAVES_MAX: usize = 4096;

impl WorkerBook {
    pub(crate) fn new(workers_max: usize, updates_max: usize) -> Self {
        let (digest, queue) = (Digest::default(), WorkerQueue::new(updates_max));
        Self {
            records: BTreeMap::new(),
            digest,
            queue,
            intake: Intake::Waiting,
            workers_max,
            graves: BTreeMap::new(),
            buried: VecDeque::new(),
            graves_dropped: 0,
        }
    }

    pub(crate) fn get(&self, worker: NodeId) -> Option<&Arc<WorkerUpdate>> {
        self.records.get(&worker).map(|record| &record.update)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<WorkerUpdate>> {
        self.records.values().map(|record| &record.update)
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn graves(&self) -> usize {
        self.graves.len()
    }

    pub(crate) fn graves_dropped(&self) -> u64 {
        self.graves_dropped
    }

    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }

    pub(crate) fn in_buckets(&self, mask: u64) -> impl Iterator<Item = &Arc<WorkerUpdate>> {
        let known = self.iter().chain(self.graves.values());
        known.filter(move |update| in_mask(mask, update.worker.get()))
    }

    /// The update that an owner's report becomes.
    pub(crate) fn draft(&self, owner: NodeId, report: WorkerReport) -> WorkerUpdate {
        let same_token = |version: &WorkerVersion| {
            version.boot == report.boot && version.owner_token == report.owner_token
        };
        let known = self.get(report.worker).or_else(|| self.graves.get(&report.worker));
        let last = known.map(|update| update.version).filter(same_token);
        let counter = last.map_or(1, |version| version.counter.saturating_add(1));
        WorkerUpdate {
            worker: report.worker,
            owner,
            version: WorkerVersion { boot: report.boot, owner_token: report.owner_token, counter },
            addr: report.addr,
            api_addr: report.api_addr,
            membership: report.membership,
            cores_total: report.cores_total,
            cores_available: report.cores_available,
            datacenter: report.datacenter,
        }
    }

    /// Keeps the update if it is the newest, and puts it up for gossip.
    pub(crate) fn merge(&mut self, now: Now, update: &Arc<WorkerUpdate>) -> Merged {
        if self.graves.get(&update.worker).is_some_and(|grave| update.version <= grave.version) {
            return Merged::Known;
        }
        let known = self.get(update.worker);
        if let Some(known) = known {
            let same_token = known.version.boot == update.version.boot
                && known.version.owner_token == update.version.owner_token;
            if same_token && known.owner != update.owner {
                return Merged::Foreign { owner: known.owner };
            }
            if update.version <= known.version {
                return Merged::Known;
            }
        } else if self.records.len() >= self.workers_max && !self.evict_gone() {
            return Merged::Full;
        }
        let told_at_once = self.get(update.worker).is_none_or(|known| {
            let before = (known.membership, known.owner, known.version.boot, known.version.owner_token);
            before != (update.membership, update.owner, update.version.boot, update.version.owner_token)
        });
        self.store(now, update);
        Merged::News { told_at_once }
    }

    /// Marks a registered worker evicted whose grant ended by the log, as the last word under its owner token: all managers
    /// come to the same update without hearing of each other. Nothing, if a newer life or no registration is known.
    pub(crate) fn end(&mut self, now: Now, worker: NodeId, boot: BootEpoch) -> Option<Arc<WorkerUpdate>> {
        let known = self.get(worker).filter(|known| known.version.boot <= boot && !is_gone(known))?;
        let version = WorkerVersion { counter: u64::MAX, ..known.version };
        let membership = WorkerMembership::Evicted;
        let update = Arc::new(WorkerUpdate { version, membership, ..(**known).clone() });
        self.store(now, &update);
        Some(update)
    }

    /// Takes updates for a datagram, at most `space` bytes of them; how many bytes, and whether more wait.
    pub(crate) fn take(
        &mut self,
        now: Now,
        times: u8,
        space: usize,
    ) -> (Vec<Arc<WorkerUpdate>>, usize, bool) {
        let (mut taken, mut used, mut more) = (Vec::new(), 0, false);
        let records = &self.records;
        self.queue.offer(now, times, |worker| {
            let Some(record) = records.get(&worker) else { return true };
            let len = worker_len(&record.update);
            more = used + len > space;
            if !more {
                used += len;
                taken.push(Arc::clone(&record.update));
            }
            !more
        });
        (taken, used, more)
    }

    /// Forgets those that have been gone for longer than `ttl`.
    pub(crate) fn forget_gone(&mut self, now: Now, ttl: Duration) {
        let is_due = |record: &Record| is_gone(&record.update) && now.since(record.since) >= ttl;
        let due: Vec<NodeId> =
            self.records.iter().filter(|(_, record)| is_due(record)).map(|(worker, _)| *worker).collect();
        for worker in due {
            self.forget(worker);
        }
    }

    /// Moves a worker from the table to its grave.
    fn forget(&mut self, worker: NodeId) -> bool {
        let Some(record) = self.records.remove(&worker) else { return false };
        if !is_gone(&record.update) {
            self.digest.remove(worker.get(), record.update.fingerprint());
        }
        if self.graves.insert(worker, record.update).is_none() {
            self.buried.push_back(worker);
        }
        if self.buried.len() > GRAVES_MAX
            && let Some(oldest) = self.buried.pop_front()
        {
            self.graves.remove(&oldest);
            self.graves_dropped += 1;
        }
        true
    }

    pub(crate) fn store(&mut self, now: Now, update: &Arc<WorkerUpdate>) {
        let record = Record { update: Arc::clone(update), since: now };
        if let Some(before) = self.records.insert(update.worker, record)
            && !is_gone(&before.update)
        {
            self.digest.remove(update.worker.get(), before.update.fingerprint());
        }
        if !is_gone(update) {
            self.digest.add(update.worker.get(), update.fingerprint());
        }
        if self.graves.remove(&update.worker).is_some() {
            self.buried.retain(|worker| *worker != update.worker);
        }
        self.queue.push(update.worker, now);
    }

    /// Makes room by forgetting the worker that has been gone longest.
    fn evict_gone(&mut self) -> bool {
        self.evict(is_gone)
    }

    /// Forgets, of those that may go, the worker that nothing was heard of for the longest time.
    pub(crate) fn evict(&mut self, may_go: impl Fn(&WorkerUpdate) -> bool) -> bool {
        let candidates = self.records.iter().filter(|(_, record)| may_go(&record.update));
        let Some(worker) = candidates.min_by_key(|(_, record)| record.since).map(|(worker, _)| *worker)
        else {
            return false;
        };
        self.forget(worker)
    }
}

fn is_gone(update: &WorkerUpdate) -> bool {
    update.membership != WorkerMembership::Registered
}

#[cfg(test)]
mod tests;
