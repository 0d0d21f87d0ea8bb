//! Anti-entropy: digest first, then the difference, both ways.
//!
//! ```text
//! A ── Digest ──► B            every interval, and while parts of a cluster meet again
//! A ◄─ Difference(answer) ── B the buckets in which B's digest differs, with all B knows in them
//! A ── Difference ──► B        the same buckets as A knows them
//! ```
//!
//! Equal digests end it with the first message. Managers compare worker lists with every other manager, so that these
//! agree one interval after a partition whatever chance does.

use hyperscale_types::{NodeId, Role};

use super::{Swim, Turn};
use crate::audit::Cause;
use crate::claim::Status;
use crate::digest::{Digest, fingerprint, in_mask};
use crate::io::{Endpoint, Timer};
use crate::message::{MemberUpdate, PAGE_MAX, StreamBody};
use crate::table::{Slot, sample};

/// Managers asked to compare worker lists per interval.
const MANAGERS_PER_SYNC_MAX: usize = 16;

impl Swim {
    pub(super) fn sync_tick(&mut self, turn: &mut Turn<'_>, number: u32) {
        if self.alarms.sync.fired(number).is_none() {
            return;
        }
        if self.me.is_active() && !bug!(self.config, NoAntiEntropy) {
            self.sync_with_somebody(turn);
        }
        self.workers.forget_gone(turn.now, self.config.dead_ttl);
        let next = turn.now.plus(self.config.sync_interval);
        if let Some(number) = self.alarms.sync.set(next) {
            turn.timer(next, Timer::Sync(number));
        }
    }

    fn sync_with_somebody(&mut self, turn: &mut Turn<'_>) {
        let mut picks = std::mem::take(&mut self.prober.picks);
        let members = &self.members;
        sample(&mut self.rng, members.live(), 1, |slot| members.get(slot).confirmed, &mut picks);
        if self.me.peer().role == Role::Manager {
            let (managers, known) = (members.managers(), picks.clone());
            sample(&mut self.rng, managers, MANAGERS_PER_SYNC_MAX, |slot| !known.contains(&slot), &mut picks);
        }
        for slot in picks.drain(..) {
            self.send_digest(turn, slot);
        }
        self.prober.picks = picks;
    }

    pub(super) fn send_digest(&mut self, turn: &mut Turn<'_>, slot: Slot) {
        let to = self.destination(slot);
        let between_managers =
            self.me.peer().role == Role::Manager && self.members.get(slot).peer.role == Role::Manager;
        let workers = between_managers.then(|| Box::new(self.workers.digest().clone()));
        let members = Box::new(self.digest());
        self.send_stream(turn, to.into(), StreamBody::Digest { members, workers });
    }

    /// Of everybody this node knows to live, itself included.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = self.members.digest().clone();
        let own = self.me.update();
        if own.claim.status.is_live() {
            let (node, claim) = (own.peer.node.get(), own.claim);
            let parts = [node, claim.boot.0, u64::from(claim.incarnation.0), claim.status as u64];
            digest.add(node, fingerprint(&parts));
        }
        digest
    }

    /// Answers a digest with this node's side of what differs.
    pub(super) fn compare(
        &mut self,
        turn: &mut Turn<'_>,
        to: Endpoint,
        members: &Digest,
        workers: Option<&Digest>,
    ) {
        let differing = self.digest().difference(members);
        if differing != 0 {
            self.send_members_of(turn, to, differing, true);
        }
        if let Some(workers) = workers
            && self.me.peer().role == Role::Manager
        {
            let differing = self.workers.digest().difference(workers);
            if differing != 0 {
                self.send_workers_of(turn, to, differing, true);
            }
        }
    }

    pub(super) fn send_members_of(&mut self, turn: &mut Turn<'_>, to: Endpoint, buckets: u64, answer: bool) {
        let own = self.me.update();
        let all = self.all_updates().chain([own]);
        let differing: Vec<_> = all.filter(|update| in_mask(buckets, update.peer.node.get())).collect();
        // An empty list still asks for the other side.
        let pages = differing.len().div_ceil(PAGE_MAX).max(1);
        for page in 0..pages {
            let members = differing.iter().skip(page * PAGE_MAX).take(PAGE_MAX).copied().collect();
            let answer = answer && page + 1 == pages;
            self.send_stream(turn, to, StreamBody::MemberDifference { buckets, members, answer });
        }
    }

    /// Merges the other side's view.
    pub(super) fn merge_synced(&mut self, turn: &mut Turn<'_>, members: &[MemberUpdate], from: NodeId) {
        let members = self.cut(members);
        // From a random place on: after a partition every node can tell only some of the subjects.
        let start = self.rng.usize(..members.len().max(1));
        let (head, tail) = members.split_at(start.min(members.len()));
        for update in tail.iter().chain(head) {
            match self.members.find(update.peer.node) {
                Some(slot) if self.is_doubtful(slot, update, from) => self.doubt(turn, slot, update, from),
                _ => self.merge(turn, update, Cause::Gossip, from),
            }
        }
    }

    /// Whether another takes for gone who lives in this view. What a node says of itself is no hearsay.
    fn is_doubtful(&self, slot: Slot, update: &MemberUpdate, from: NodeId) -> bool {
        let is_gone = !update.claim.status.is_live() && self.members.get(slot).status().is_live();
        is_gone && update.peer.node != from
    }

    /// The other side takes for dead who lives in this view. After a partition that is true of everybody on the other
    /// side, and believing it would kill them all: the subject is told and has the shortest suspicion to contradict. So
    /// has one that is said to have left: if it did, it does not contradict, and that is no death.
    fn doubt(&mut self, turn: &mut Turn<'_>, slot: Slot, update: &MemberUpdate, from: NodeId) {
        if update.claim <= self.members.get(slot).claim() || !self.tell(turn, self.destination(slot), *update)
        {
            return;
        }
        let suspect = MemberUpdate { claim: update.claim.with(Status::Suspect), accuser: from, ..*update };
        self.me.set_quiet(true);
        self.merge(turn, &suspect, Cause::Gossip, from);
        self.me.set_quiet(false);
        if self.members.get(slot).claim() == suspect.claim
            && let Some(suspicion) = self.suspicions.get_mut(&slot)
        {
            suspicion.hasten(update.claim.status);
            self.schedule(turn.now, slot);
        }
    }

    /// What this node knows about everybody else, in the name of who said so: passing an accusation on confirms nothing.
    pub(super) fn all_updates(&self) -> impl Iterator<Item = MemberUpdate> + '_ {
        self.members.slots().map(|slot| self.update_about(slot))
    }
}
