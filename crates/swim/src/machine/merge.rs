//! Applying what is heard about members: the only place where a member's claim changes.
//!
//! | stored \ now holds | Alive              | Suspect                   | Dead          | Left        |
//! | ------------------ | ------------------ | ------------------------- | ------------- | ----------- |
//! | unknown            | Joined             | Joined, Suspected         | (tomb)        | (tomb)      |
//! | Alive              | (Joined if boot >) | (Joined if boot >) Suspected | Died       | Left        |
//! | Suspect            | Refuted or Joined  | (timer of the new identity)  | Died       | Left        |
//! | Dead, Left         | Joined             | Joined, Suspected         | –             | –           |
//!
//! "Now holds" is the larger of the stored and the heard claim; a claim that is not larger changes nothing, except that
//! another accuser of the same identity confirms a suspicion, and a stale `alive` is answered with what it contradicts.

#[cfg(feature = "bugs")]
mod bugs;

use hyperscale_types::{NodeId, Now};

use super::{Swim, Turn};
use crate::audit::{AuditEntry, Cause};
use crate::claim::{Claim, Status};
use crate::io::{Destination, Event};
use crate::message::{MemberUpdate, Message};
use crate::suspicion::{Suspicion, SuspicionTimeouts, Witnesses};
use crate::table::Slot;

/// Accusations told to their subjects per period, each subject once; more are withheld and counted.
pub(super) const TOLD_PER_PERIOD_MAX: usize = 64;

/// How far a boot that others tell of may be above the one that is known: milliseconds of 34 years.
pub(super) const BOOT_STEP_BY_HEARSAY: u64 = 1 << 40;
/// How far the boot of a node that speaks itself may be above it.
pub(super) const BOOT_STEP_BY_CONTACT: u64 = 1 << 48;
/// Boots are counted, or are milliseconds of a clock; the first one that is heard of a node is below this and a step.
pub(super) const BOOT_FIRST_MAX: u64 = 1 << 48;

impl Swim {
    /// Merges one update that was heard from `witness`.
    pub(super) fn merge(
        &mut self,
        turn: &mut Turn<'_>,
        update: &MemberUpdate,
        cause: Cause,
        witness: NodeId,
    ) {
        if update.peer.node == self.me.peer().node {
            self.about_me(turn, update.claim);
            return;
        }
        if !self.is_plausible(update, cause) {
            self.counters.boots_refused += 1;
            return;
        }
        match self.members.find(update.peer.node) {
            Some(slot) => self.merge_known(turn, slot, update, cause, witness),
            None => self.merge_unknown(turn, update, cause, witness),
        }
    }

    /// Whether a boot may be believed. The highest boot of a node that was ever heard of is what it has to exceed to be heard
    /// again: one that is made up must leave it room. What the node says itself may be further ahead than hearsay, so that
    /// it can exceed what was made up.
    pub(super) fn is_plausible(&self, update: &MemberUpdate, cause: Cause) -> bool {
        let node = update.peer.node;
        let member = self.members.find(node).map(|slot| self.members.get(slot).claim());
        let known = member.or_else(|| self.tombs.get(node)).map(|claim| claim.boot.0);
        let step = if cause == Cause::Contact { BOOT_STEP_BY_CONTACT } else { BOOT_STEP_BY_HEARSAY };
        update.claim.boot.0 <= known.unwrap_or(BOOT_FIRST_MAX).saturating_add(step)
    }

    /// This node itself accuses a member of its table.
    pub(super) fn accuse(&mut self, turn: &mut Turn<'_>, slot: Slot, cause: Cause) {
        let me = self.me.peer().node;
        let member = self.members.get(slot);
        let claim = member.claim().with(Status::Suspect);
        let update = MemberUpdate { peer: member.peer, claim, accuser: me };
        self.merge_known(turn, slot, &update, cause, me);
    }

    fn merge_unknown(&mut self, turn: &mut Turn<'_>, update: &MemberUpdate, cause: Cause, witness: NodeId) {
        let MemberUpdate { peer, claim, .. } = *update;
        // What was only given up lives if it speaks; the dead need a newer identity even then.
        let spoke = cause == Cause::Contact;
        if let Some(buried) = self.tombs.get(peer.node)
            && claim <= buried
            && !(spoke && buried.status.is_live() && claim.identity() >= buried.identity())
        {
            if claim.status == Status::Alive && (!buried.status.is_live() || claim.boot < buried.boot) {
                let to = Destination { node: peer.node, addr: peer.addr };
                self.tell(turn, to, MemberUpdate { peer, claim: buried, accuser: self.me.peer().node });
            }
            return;
        }
        if !claim.status.is_live() {
            self.tombs.bury(peer.node, claim, None);
            self.prober.astray.remove(peer.node);
            return;
        }
        if self.members.len() >= self.config.limits.members && !self.evict_dead(turn) {
            self.counters.members_refused += 1;
            return;
        }
        let returned = self.tombs.get(peer.node).is_some();
        let embedded = self.tombs.open(peer.node, claim.boot);
        self.prober.astray.remove(peer.node);
        let slot = self.members.insert(peer, claim, turn.now);
        self.members.get_mut(slot).embedded = embedded;
        self.record(turn.now, peer.node, None, Some(claim), cause, Witnesses::one(witness));
        turn.event(Event::Joined { peer, boot: claim.boot, returned });
        self.arrived(turn, slot);
        if claim.status == Status::Suspect {
            self.begin_suspicion(turn, slot, update.accuser, cause, None);
        }
        self.schedule(turn.now, slot);
        self.gossip_about(slot);
        if bug!(self.config, GossipConfirms) {
            self.confirm(turn, slot);
        }
    }

    fn merge_known(
        &mut self,
        turn: &mut Turn<'_>,
        slot: Slot,
        update: &MemberUpdate,
        cause: Cause,
        witness: NodeId,
    ) {
        let stored = self.members.get(slot).claim();
        let is_believed = update.claim > stored;
        #[cfg(feature = "bugs")]
        let is_believed = self.believes_with_bugs(update.claim, stored, is_believed);
        if !is_believed {
            self.not_newer(turn, slot, update);
            return;
        }
        // Address and role are those of the incarnation; an accusation of the same one cannot change them.
        let newer_identity = update.claim.identity() > stored.identity();
        let peer = if newer_identity { update.peer } else { self.members.get(slot).peer };
        let former = self.suspicions.remove(&slot);
        #[cfg(feature = "bugs")]
        self.keep_suspicion_of_left(slot, former.as_ref(), update.claim.status);
        let witnesses = match former {
            Some(suspicion) if !newer_identity => suspicion.witnesses(),
            _ => Witnesses::one(witness),
        };
        self.members.set_claim(slot, peer, update.claim, turn.now);
        if update.claim.boot > stored.boot {
            self.reborn(turn.now, slot);
        } else if !stored.status.is_live()
            && update.claim.status.is_live()
            && self.members.get(slot).confirmed
        {
            // It left the order of probes when its turn came while it was dead.
            self.prober.order.add(slot, &mut self.rng);
        }
        self.record(turn.now, peer.node, Some(stored), Some(update.claim), cause, witnesses);
        self.announce(turn, slot, stored, cause, witnesses);
        if update.claim.status == Status::Suspect {
            self.begin_suspicion(turn, slot, update.accuser, cause, Some(stored));
        }
        self.schedule(turn.now, slot);
        self.gossip_about(slot);
    }

    fn not_newer(&mut self, turn: &mut Turn<'_>, slot: Slot, update: &MemberUpdate) {
        let stored = self.members.get(slot).claim();
        match (update.claim.status, stored.status) {
            (Status::Suspect, Status::Suspect) if update.claim == stored => {
                if bug!(self.config, RestartSuspicion) {
                    self.begin_suspicion(turn, slot, update.accuser, Cause::Gossip, Some(stored));
                    self.schedule(turn.now, slot);
                }
                let Some(suspicion) = self.suspicions.get_mut(&slot) else { return };
                if suspicion.confirm(update.accuser) {
                    self.schedule(turn.now, slot);
                    self.gossip_about(slot);
                }
            }
            // Of one that left too: others may have said so by mistake, and one that goes does not contradict.
            (Status::Alive, Status::Suspect | Status::Dead | Status::Left) => {
                let accusation = self.update_about(slot);
                self.tell(turn, self.destination(slot), accusation);
            }
            _ => {}
        }
    }

    /// Tells the layers above what changed.
    fn announce(
        &mut self,
        turn: &mut Turn<'_>,
        slot: Slot,
        before: Claim,
        cause: Cause,
        witnesses: Witnesses,
    ) {
        let member = self.members.get(slot);
        let (peer, after) = (member.peer, member.claim());
        let node = peer.node;
        let was_live = before.status.is_live();
        if before.status == Status::Dead && after.status.is_live() {
            self.prober.revived = Some(turn.now);
        }
        if after.status.is_live() && (!was_live || after.boot > before.boot) {
            turn.event(Event::Joined { peer, boot: after.boot, returned: true });
            self.arrived(turn, slot);
            return;
        }
        match after.status {
            Status::Alive if before.status == Status::Suspect => turn.event(Event::Refuted { node }),
            Status::Dead if bug!(self.config, SilentGossipDeath) && cause == Cause::Gossip => {}
            Status::Left if was_live && bug!(self.config, LeftFiresDied) => {
                turn.event(Event::Died { node, cause, witnesses });
            }
            Status::Dead if was_live => turn.event(Event::Died { node, cause, witnesses }),
            Status::Left if was_live => turn.event(Event::Left { node }),
            Status::Alive | Status::Suspect | Status::Dead | Status::Left => {}
        }
        if was_live && !after.status.is_live() {
            self.manager_gone(turn, peer);
        }
    }

    /// Starts the timer of an identity that is accused for the first time.
    fn begin_suspicion(
        &mut self,
        turn: &mut Turn<'_>,
        slot: Slot,
        accuser: NodeId,
        cause: Cause,
        before: Option<Claim>,
    ) {
        let (period, size) = (self.config.probe.period, self.cluster_size());
        let (config, mode) = (&self.config.suspicion, self.config.lifeguard);
        let suspicion = Suspicion::new(turn.now, accuser, SuspicionTimeouts::new(config, period, size, mode));
        let witnesses = suspicion.witnesses();
        self.suspicions.insert(slot, suspicion);
        let member = self.members.get(slot);
        let was_suspect =
            before.is_some_and(|claim| claim.status == Status::Suspect && claim.boot == member.claim().boot);
        if !was_suspect {
            turn.event(Event::Suspected { node: member.peer.node, cause, witnesses });
        }
    }

    /// What this node gossips about a member.
    pub(super) fn update_about(&self, slot: Slot) -> MemberUpdate {
        let member = self.members.get(slot);
        let accuser = self.suspicions.get(&slot).and_then(|suspicion| suspicion.witnesses().iter().last());
        MemberUpdate {
            peer: member.peer,
            claim: member.claim(),
            accuser: accuser.unwrap_or(self.me.peer().node),
        }
    }

    /// Puts news about a member up for gossip, unless they come from a list that is news to nobody else.
    pub(super) fn gossip_about(&mut self, slot: Slot) {
        if self.me.is_quiet() {
            return;
        }
        self.counters.gossip_dropped += self.queue.push(&mut self.members, slot);
    }

    /// Sends an accusation to its subject, so that it can contradict; false if that was done enough in this period.
    pub(super) fn tell(&mut self, turn: &mut Turn<'_>, to: Destination, accusation: MemberUpdate) -> bool {
        if self.prober.told.contains(&to.node) {
            return false;
        }
        if self.prober.told.len() >= TOLD_PER_PERIOD_MAX {
            self.counters.accusations_withheld += 1;
            return false;
        }
        self.prober.told.insert(to.node);
        self.counters.accusations_told += 1;
        self.send(turn, to, Message::Gossip, Some(accusation));
        true
    }

    /// Audits a transition: another life, another status, or an accusation of a newer identity, whose timer begins then.
    pub(super) fn record(
        &mut self,
        at: Now,
        node: NodeId,
        before: Option<Claim>,
        after: Option<Claim>,
        cause: Cause,
        witnesses: Witnesses,
    ) {
        let state = |claim: Option<Claim>| claim.map(|claim| (claim.boot, claim.status));
        let is_accused = after.is_some_and(|claim| claim.status == Status::Suspect);
        if state(before) != state(after) || is_accused {
            self.audit.push(AuditEntry { at, node, before, after, cause, witnesses });
        }
    }
}
