//! Worker state between managers: telling at once, gossiping, asking when joining.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyperscale_types::{BootEpoch, NodeId, Now, Role};

use super::{Swim, Turn};
use crate::io::{Endpoint, Event};
use crate::message::{PAGE_MAX, Peer, StreamBody};
use crate::table::Slot;
use crate::workers::{Merged, WorkerMembership, WorkerReport, WorkerUpdate};

impl Swim {
    /// The host reports on a worker this manager owns. All managers are told: of registration, death, eviction and leave
    /// at once over streams, of everything by gossip.
    pub(super) fn report_worker(&mut self, turn: &mut Turn<'_>, report: WorkerReport) {
        let me = self.me.peer().node;
        let update = Arc::new(self.workers.draft(me, report));
        let merged = self.merge_or_make_room(turn.now, &update);
        match merged {
            Merged::News { told_at_once } => {
                if told_at_once {
                    for slot in self.members.managers().to_vec() {
                        let to = self.destination(slot);
                        self.send_stream(turn, to.into(), StreamBody::Worker(Arc::clone(&update)));
                    }
                }
                turn.event(Event::WorkerChanged(update));
            }
            Merged::Known => {
                let owner = self.workers.get(update.worker).map_or(me, |known| known.owner);
                turn.event(Event::NotOwner { worker: update.worker, owner });
            }
            Merged::Foreign { owner } => turn.event(Event::NotOwner { worker: update.worker, owner }),
            Merged::Full => self.counters.workers_refused += 1,
        }
    }

    /// The log ended the grant of a worker's life: what its owner said of it is over, whatever it says next.
    pub(super) fn worker_over(&mut self, turn: &mut Turn<'_>, worker: NodeId, boot: BootEpoch) {
        if let Some(update) = self.workers.end(turn.now, worker, boot) {
            turn.event(Event::WorkerChanged(update));
        }
    }

    /// An owner told at once; nobody else may.
    pub(super) fn told_of_worker(&mut self, turn: &mut Turn<'_>, update: &Arc<WorkerUpdate>, from: NodeId) {
        if update.owner != from || !self.is_manager(from) {
            self.counters.worker_updates_foreign += 1;
            return;
        }
        self.merge_worker(turn, update);
    }

    /// Worker news that `from` passes on; only managers have any.
    pub(super) fn merge_workers(&mut self, turn: &mut Turn<'_>, updates: &[Arc<WorkerUpdate>], from: NodeId) {
        if !self.is_manager(from) {
            self.counters.worker_updates_foreign += updates.len() as u64;
            return;
        }
        for update in self.cut(updates) {
            self.merge_worker(turn, update);
        }
    }

    fn merge_worker(&mut self, turn: &mut Turn<'_>, update: &Arc<WorkerUpdate>) {
        if self.me.peer().role != Role::Manager {
            return;
        }
        match self.merge_or_make_room(turn.now, update) {
            Merged::News { .. } => {
                turn.event(Event::WorkerChanged(Arc::clone(update)));
                if update.owner == self.me.peer().node && update.membership == WorkerMembership::Registered {
                    turn.event(Event::Inherited(Arc::clone(update)));
                }
            }
            Merged::Known if bug!(self.config, StaleWorkerVersion) => {
                self.workers.store(turn.now, update);
                turn.event(Event::WorkerChanged(Arc::clone(update)));
            }
            Merged::Known => {}
            Merged::Foreign { .. } => self.counters.worker_updates_foreign += 1,
            Merged::Full => self.counters.workers_refused += 1,
        }
    }

    /// In a full book a worker whose owner is gone makes room: it gets no work, and registers anew if it lives.
    fn merge_or_make_room(&mut self, now: Now, update: &Arc<WorkerUpdate>) -> Merged {
        let merged = self.workers.merge(now, update);
        if merged != Merged::Full {
            return merged;
        }
        let (me, members) = (self.me.peer().node, &self.members);
        let lives = |owner| members.find(owner).is_some_and(|slot| members.get(slot).status().is_live());
        if self.workers.evict(|known| known.owner != me && !lives(known.owner)) {
            return self.workers.merge(now, update);
        }
        merged
    }

    pub(super) fn send_workers_of(&mut self, turn: &mut Turn<'_>, to: Endpoint, buckets: u64, answer: bool) {
        let differing: Vec<_> = self.workers.in_buckets(buckets).cloned().collect();
        let pages = differing.len().div_ceil(PAGE_MAX).max(1);
        for page in 0..pages {
            let workers = differing.iter().skip(page * PAGE_MAX).take(PAGE_MAX).cloned().collect();
            let answer = answer && page + 1 == pages;
            self.send_stream(turn, to, StreamBody::WorkerDifference { buckets, workers, answer });
        }
    }

    pub(super) fn send_worker_list(&mut self, turn: &mut Turn<'_>, to: Endpoint) {
        let all: Vec<_> = self.workers.iter().cloned().collect();
        let pages = all.len().div_ceil(PAGE_MAX).max(1);
        for page in 0..pages {
            let workers = all.iter().skip(page * PAGE_MAX).take(PAGE_MAX).cloned().collect();
            self.send_stream(turn, to, StreamBody::WorkerList { workers, last: page + 1 == pages });
        }
    }

    pub(super) fn heard_worker_list(
        &mut self,
        turn: &mut Turn<'_>,
        from: NodeId,
        workers: &[Arc<WorkerUpdate>],
        last: bool,
    ) {
        self.merge_workers(turn, workers, from);
        if last {
            self.workers.intake.settle(from);
        }
    }

    /// This node is in the cluster: a manager asks its peers for their workers before it is active.
    pub(super) fn begin_intake(&mut self, turn: &mut Turn<'_>, managers: BTreeSet<NodeId>) {
        if self.me.peer().role != Role::Manager {
            return;
        }
        let managers = if bug!(self.config, ActiveBeforeLists) { BTreeSet::new() } else { managers };
        self.workers.intake.begin(managers);
        self.ask_for_workers(turn);
    }

    /// Asks all that have not answered yet, and gives up those that were never reached and were asked often enough.
    pub(super) fn ask_for_workers(&mut self, turn: &mut Turn<'_>) {
        for manager in self.workers.intake.pending().collect::<Vec<_>>() {
            let Some(slot) = self.members.find(manager) else { continue };
            if self.ask_manager(turn, slot) || self.members.get(slot).confirmed {
                continue;
            }
            self.workers.intake.settle(manager);
        }
    }

    /// A member joined or came back.
    pub(super) fn arrived(&mut self, turn: &mut Turn<'_>, slot: Slot) {
        let peer = self.members.get(slot).peer;
        if !self.is_fellow_manager(peer) {
            return;
        }
        if self.workers.intake.add(peer.node) {
            self.ask_manager(turn, slot);
        }
        if self.owns_any(peer.node) {
            turn.event(Event::OwnerReturned { owner: peer.node });
        }
    }

    /// A member died or left.
    pub(super) fn manager_gone(&mut self, turn: &mut Turn<'_>, peer: Peer) {
        if !self.is_fellow_manager(peer) {
            return;
        }
        if self.owns_any(peer.node) {
            turn.event(Event::OwnerLost { owner: peer.node });
        }
        self.workers.intake.settle(peer.node);
    }

    /// Returns false if the manager was asked often before.
    fn ask_manager(&mut self, turn: &mut Turn<'_>, slot: Slot) -> bool {
        let to = self.destination(slot);
        self.send_stream(turn, to.into(), StreamBody::WorkerListRequest);
        self.workers.intake.ask(self.members.get(slot).peer.node)
    }

    /// After an input: if all peers are settled, the manager may call itself active.
    pub(super) fn finish_intake(&mut self, turn: &mut Turn<'_>) {
        if self.workers.intake.complete() {
            self.me.embed(true);
            turn.event(Event::WorkersSynced);
        }
    }

    fn is_manager(&self, node: NodeId) -> bool {
        self.members.find(node).is_some_and(|slot| self.members.get(slot).peer.role == Role::Manager)
    }

    fn is_fellow_manager(&self, peer: Peer) -> bool {
        self.me.peer().role == Role::Manager && peer.role == Role::Manager
    }

    fn owns_any(&self, owner: NodeId) -> bool {
        self.workers.iter().any(|update| update.owner == owner)
    }
}
