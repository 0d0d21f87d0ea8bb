//! Deadlines of members: suspicions that end, dead that are forgotten, unreached that are tried again.

use hyperscale_types::{NodeId, Now};

use super::{Swim, Turn};
use crate::audit::Cause;
use crate::claim::Status;
use crate::message::MemberUpdate;
use crate::suspicion::{Suspicion, Witnesses};
use crate::table::Slot;

impl Swim {
    pub(super) fn deadlines(&mut self, turn: &mut Turn<'_>, number: u32) {
        let Some(due) = self.alarms.deadline.fired(number) else { return };
        let slept = self.slept(turn.now.since(due));
        while let Some(slot) = self.deadlines.pop_due(turn.now) {
            self.members.get_mut(slot).deadline = Now::NEVER;
            match self.members.get(slot).status() {
                // What contradicts the suspicion may be waiting in the socket of a node that slept: one more period.
                Status::Suspect if slept => {
                    self.set_deadline(slot, turn.now.plus(self.config.probe.period));
                }
                Status::Suspect => self.expire(turn, slot),
                Status::Dead | Status::Left => self.forget(turn, slot, Cause::Forgotten),
                Status::Alive => self.retry(turn, slot),
            }
        }
    }

    /// Sets the deadline that the member's status asks for.
    pub(super) fn schedule(&mut self, now: Now, slot: Slot) {
        let member = self.members.get(slot);
        let at = match member.status() {
            Status::Suspect if bug!(self.config, ShortSuspicion) => now,
            Status::Suspect => {
                self.suspicions.get(&slot).map_or(now, |suspicion| suspicion.deadline().max(now))
            }
            Status::Dead | Status::Left => member.since.plus(self.config.dead_ttl).max(now),
            Status::Alive if member.confirmed => Now::NEVER,
            Status::Alive => self.next_try(now, slot),
        };
        self.set_deadline(slot, at);
    }

    /// Makes room for a newcomer by forgetting one of the dead, or of those that left.
    pub(super) fn evict_dead(&mut self, turn: &mut Turn<'_>) -> bool {
        let Some(slot) = self.members.dead().first().copied().or_else(|| self.members.first_left()) else {
            return false;
        };
        self.counters.members_evicted += 1;
        self.forget(turn, slot, Cause::Forgotten);
        true
    }

    fn set_deadline(&mut self, slot: Slot, at: Now) {
        let before = std::mem::replace(&mut self.members.get_mut(slot).deadline, at);
        if before == at {
            return;
        }
        if before != Now::NEVER {
            self.deadlines.remove(before, slot);
        }
        if at != Now::NEVER {
            self.deadlines.insert(at, slot);
        }
    }

    /// A suspected member did not contradict in time.
    fn expire(&mut self, turn: &mut Turn<'_>, slot: Slot) {
        let me: NodeId = self.me.peer().node;
        let member = self.members.get(slot);
        let verdict = self.suspicions.get(&slot).map_or(Status::Dead, Suspicion::verdict);
        let update = MemberUpdate { peer: member.peer, claim: member.claim().with(verdict), accuser: me };
        self.merge(turn, &update, Cause::SuspicionExpired, me);
    }

    pub(super) fn forget(&mut self, turn: &mut Turn<'_>, slot: Slot, cause: Cause) {
        self.set_deadline(slot, Now::NEVER);
        self.queue.forget(&mut self.members, slot);
        self.suspicions.remove(&slot);
        let member = self.members.remove(slot);
        if !bug!(self.config, ForgottenTombs) {
            self.tombs.bury(member.peer.node, member.claim(), member.embedded.clone());
        }
        self.contacts.lost(member.peer.addr, turn.now);
        self.record(turn.now, member.peer.node, Some(member.claim()), None, cause, Witnesses::default());
    }
}
