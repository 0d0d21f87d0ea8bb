//! A node's disk: writes take time, and are lost, torn, stalled or refused.
//!
//! ```text
//! Persist ──► queue ──write──► cache ──sync, after a while──► durable ──► `persisted`
//!               │                │
//!               └ process dies   └ power fails: all, some, or half of a batch is lost
//! ```
//!
//! One sync at a time: what comes meanwhile waits for the next one. The bytes are kept by the production crate's
//! [`MemoryDisk`]; it lives on when its process dies.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::storage::{Batch, Loaded, LogStorage, Loss, MemoryDisk, StorageError};
use hyperscale_consensus::{Entry, RaftId, Ticket};

use crate::moment::Moment;
use crate::network;

/// Median of the time a sync takes on an idle disk.
pub const SYNC: Duration = Duration::from_millis(1);
/// Spread of its logarithm.
pub const SYNC_SIGMA: f64 = 0.5;
/// How often a full disk is tried again.
const FULL_RETRY: Duration = Duration::from_millis(200);

/// What a power loss does to writes that were not synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frailty {
    /// They may be lost.
    pub loses: bool,
    /// The last of them may be torn.
    pub tears: bool,
}

/// What was durable at the end of a term: after the last batch before the next term began, or now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermEnd {
    /// The vote, if one was given in the term.
    pub vote: Option<RaftId>,
    /// The last entry, or that of the snapshot.
    pub last_index: u64,
}

/// The ends of all terms since the disk was opened.
pub type Terms = BTreeMap<u64, TermEnd>;

/// A disk and what is on its way to it.
#[derive(Debug, Default)]
pub struct Disk {
    platter: MemoryDisk,
    /// As the batches became durable one by one, also those of one sync.
    terms: Terms,
    /// Handed over by the replica, not written yet.
    queue: VecDeque<Batch>,
    /// The last batch of the sync under way.
    syncing: Option<Ticket>,
    stalled_until: Moment,
    full_until: Moment,
    /// When a full disk is tried again.
    retry_at: Moment,
}

/// What there is to do after the disk was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing.
    Idle,
    /// Look again after this time.
    Again(Duration),
}

impl Disk {
    /// Everything stored, made durable first: opening a database does that.
    pub fn open(&mut self) -> Loaded {
        self.abandon();
        self.platter.set_stalled(false);
        self.platter.sync().expect("it is not stalled");
        self.terms.clear();
        self.note_term();
        self.platter.load().expect("a disk in memory can be read")
    }

    /// What survives whatever happens.
    pub fn durable(&self) -> &Loaded {
        self.platter.durable()
    }

    /// What was durable at the end of each term since the disk was opened.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    fn note_term(&mut self) {
        let durable = self.platter.durable();
        let last = durable.entries.last().map_or(0, |entry| entry.index);
        let end = TermEnd { vote: durable.hard_state.vote, last_index: last.max(durable.snapshot.index) };
        self.terms.insert(durable.hard_state.term, end);
    }

    /// All entries that are durable, written or on their way; some may have been replaced by others.
    pub fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        let waiting = self.platter.cached().iter().chain(&self.queue);
        self.durable().entries.iter().chain(waiting.flat_map(|batch| &batch.entries))
    }

    /// Whether nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.syncing.is_none()
    }

    /// Takes a batch. The caller looks after the disk if it was idle.
    pub fn take(&mut self, batch: Batch) {
        self.queue.push_back(batch);
    }

    /// Writes what waits and begins to sync it, unless a sync is under way.
    pub fn begin(&mut self, now: Moment, rng: &mut Rng) -> Progress {
        if self.syncing.is_some() || self.queue.is_empty() || now < self.retry_at {
            return Progress::Idle;
        }
        self.platter.set_full(now < self.full_until);
        while let Some(batch) = self.queue.front() {
            match self.platter.write(batch) {
                Ok(()) => self.syncing = Some(batch.ticket),
                Err(StorageError::Full) => break,
                Err(error) => unreachable!("a disk in memory fails in no other way: {error}"),
            }
            self.queue.pop_front();
        }
        if self.syncing.is_none() {
            self.retry_at = now.plus(FULL_RETRY);
            return Progress::Again(FULL_RETRY);
        }
        let stalled = self.stalled_until.since(now);
        Progress::Again(stalled + network::log_normal(rng, SYNC, SYNC_SIGMA))
    }

    /// The time of a sync is over: what is durable now, or how much longer it takes.
    pub fn finish(&mut self, now: Moment) -> Result<Option<Ticket>, Duration> {
        if self.syncing.is_some() && now < self.stalled_until {
            return Err(self.stalled_until.since(now));
        }
        if self.syncing.is_some() {
            while self.platter.sync_next() {
                self.note_term();
            }
        }
        Ok(self.syncing.take())
    }

    /// How long a write beside the log waits: for the end of a stall, for room, and for its sync.
    pub fn delay(&self, now: Moment, rng: &mut Rng) -> Duration {
        let trouble = self.stalled_until.max(self.full_until).since(now);
        trouble + network::log_normal(rng, SYNC, SYNC_SIGMA)
    }

    /// Whether nothing can be written now.
    pub fn is_troubled(&self, now: Moment) -> bool {
        now < self.stalled_until.max(self.full_until)
    }

    /// Whether it refused a batch a moment ago, and is tried again later.
    pub fn is_refusing(&self, now: Moment) -> bool {
        now < self.retry_at
    }

    /// Syncs do not return until then.
    pub fn stall(&mut self, until: Moment) {
        self.stalled_until = self.stalled_until.max(until);
    }

    /// There is no room until then.
    pub fn fill(&mut self, until: Moment) {
        self.full_until = self.full_until.max(until);
    }

    /// All trouble is over.
    pub fn heal(&mut self) {
        (self.stalled_until, self.full_until) = (Moment::ZERO, Moment::ZERO);
    }

    /// The process died: what it had not written is gone, what the kernel has stays.
    pub fn abandon(&mut self) {
        self.queue.clear();
        (self.syncing, self.retry_at) = (None, Moment::ZERO);
    }

    /// The power failed.
    pub fn crash(&mut self, frailty: Frailty, rng: &mut Rng) {
        self.abandon();
        let unsynced = self.platter.unsynced();
        let batches = if frailty.loses { rng.usize(0..=unsynced) } else { unsynced };
        let torn = frailty.tears && rng.bool();
        let loss = match (frailty.loses && rng.bool(), torn) {
            (true, _) => Loss::All,
            (false, false) => Loss::After(batches),
            (false, true) => Loss::Torn { batches: batches.min(unsynced.saturating_sub(1)), entries: 1 },
        };
        self.platter.crash(loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperscale_consensus::{EntryBody, HardState};

    fn batch(number: u64) -> Batch {
        let entries = vec![Entry { index: number, term: 1, body: EntryBody::Empty }];
        Batch { ticket: Ticket(number), entries, ..Batch::default() }
    }

    fn entries(disk: &Disk) -> usize {
        disk.durable().entries.len()
    }

    #[test]
    fn batches_that_come_during_a_sync_wait_for_the_next_one() {
        let (mut disk, mut rng) = (Disk::default(), Rng::with_seed(1));
        disk.take(batch(1));
        assert!(matches!(disk.begin(Moment(0), &mut rng), Progress::Again(_)));
        disk.take(batch(2));
        assert_eq!(disk.begin(Moment(0), &mut rng), Progress::Idle);
        assert_eq!(disk.finish(Moment::seconds(1)), Ok(Some(Ticket(1))));
        assert_eq!(entries(&disk), 1);
        disk.begin(Moment::seconds(1), &mut rng);
        assert_eq!(disk.finish(Moment::seconds(2)), Ok(Some(Ticket(2))));
        assert!(disk.is_idle());
    }

    #[test]
    fn end_of_a_term_is_known_though_the_next_one_became_durable_in_the_same_sync() {
        let (mut disk, mut rng) = (Disk::default(), Rng::with_seed(1));
        let (voted, state) = (RaftId::new(2), |term, vote| HardState { term, vote, commit: 0 });
        disk.take(Batch { hard_state: Some(state(1, voted)), ..batch(1) });
        disk.take(batch(2));
        disk.take(Batch { hard_state: Some(state(2, None)), ..batch(1) });
        disk.begin(Moment(0), &mut rng);
        assert_eq!(disk.terms().get(&1), None);
        disk.finish(Moment::seconds(1)).unwrap();
        assert_eq!(disk.terms().get(&1), Some(&TermEnd { vote: voted, last_index: 2 }));
        assert_eq!(disk.terms().get(&2), Some(&TermEnd { vote: None, last_index: 1 }));
        disk.open();
        assert_eq!(disk.terms().keys().copied().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn stalled_disk_takes_as_long_as_the_stall() {
        let (mut disk, mut rng) = (Disk::default(), Rng::with_seed(1));
        disk.take(batch(1));
        disk.begin(Moment(0), &mut rng);
        disk.stall(Moment::seconds(5));
        assert_eq!(disk.finish(Moment::seconds(1)), Err(Duration::from_secs(4)));
        assert_eq!(disk.finish(Moment::seconds(5)), Ok(Some(Ticket(1))));
    }

    #[test]
    fn full_disk_takes_nothing_until_there_is_room() {
        let (mut disk, mut rng) = (Disk::default(), Rng::with_seed(1));
        disk.fill(Moment::seconds(2));
        disk.take(batch(1));
        assert_eq!(disk.begin(Moment(0), &mut rng), Progress::Again(FULL_RETRY));
        assert_eq!(disk.finish(Moment(1)), Ok(None));
        disk.begin(Moment::seconds(2), &mut rng);
        assert_eq!(disk.finish(Moment::seconds(3)), Ok(Some(Ticket(1))));
    }

    #[test]
    fn process_that_dies_keeps_what_the_kernel_has_and_a_machine_may_not() {
        for (frailty, least) in [(Frailty::default(), 1), (Frailty { loses: true, tears: false }, 0)] {
            let mut left = Vec::new();
            for seed in 0..20 {
                let (mut disk, mut rng) = (Disk::default(), Rng::with_seed(seed));
                disk.take(batch(1));
                disk.begin(Moment(0), &mut rng);
                disk.take(batch(2));
                disk.crash(frailty, &mut rng);
                left.push(disk.open().entries.len());
            }
            assert_eq!((left.iter().min(), left.iter().max()), (Some(&least), Some(&1)));
        }
        let mut disk = Disk::default();
        disk.take(batch(1));
        disk.begin(Moment(0), &mut Rng::with_seed(1));
        disk.abandon();
        assert_eq!(disk.open().entries.len(), 1);
    }
}
