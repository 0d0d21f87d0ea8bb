//! Reaching peers for the first time: configured ones over streams, gossiped ones with probes, both with back-off.
//!
//! A node needs a member list, and may be reached by members before any configured peer answers, if one ever does: then it asks
//! one of those members.

use super::{Swim, Turn};
use crate::audit::Cause;
use crate::contacts::back_off;
use crate::io::{Endpoint, Event};
use crate::message::StreamBody;
use crate::table::{Slot, sample};
use hyperscale_types::Now;

/// A member that was never reached is given up after so many times the span after which it is warned about.
const GIVE_UP_AFTER: u32 = 2;

impl Swim {
    /// Tries the configured peers whose turn it is.
    pub(super) fn try_contacts(&mut self, turn: &mut Turn<'_>, number: u32) {
        if self.alarms.contact.fired(number).is_none() || !self.me.is_active() {
            return;
        }
        while let Some(due) = self.contacts.pop_due(turn.now, &self.config.contact, &mut self.rng) {
            let to = Endpoint { node: None, addr: due.addr };
            self.send_stream(turn, to, StreamBody::Join);
            if let Some(since) = due.warn {
                turn.event(Event::Unreachable { node: None, addr: due.addr, since });
            }
        }
    }

    /// Every period until there is a member list: one of those that reached this node is asked for it, as its configured peers
    /// may be gone for ever.
    pub(super) fn ask_for_members(&mut self, turn: &mut Turn<'_>) {
        if self.contacts.is_joined() {
            return;
        }
        let (members, mut picks) = (&self.members, Vec::new());
        sample(&mut self.rng, members.live(), 1, |slot| members.get(slot).confirmed, &mut picks);
        for slot in picks {
            let to = self.destination(slot);
            self.send_stream(turn, to.into(), StreamBody::Join);
        }
    }

    /// A member spoke to this node: from now on it counts for failure detection.
    pub(super) fn confirm(&mut self, turn: &mut Turn<'_>, slot: Slot) {
        let member = self.members.get_mut(slot);
        if member.confirmed || !member.status().is_live() {
            return;
        }
        member.confirmed = true;
        let peer = member.peer;
        self.contacts.reached(peer.addr);
        self.prober.order.add(slot, &mut self.rng);
        self.schedule(turn.now, slot);
        turn.event(Event::Confirmed { node: peer.node });
    }

    /// A member lives again or anew: known by hearsay until it is reached.
    pub(super) fn reborn(&mut self, now: Now, slot: Slot) {
        let member = self.members.get_mut(slot);
        member.since = now;
        member.embedded = None;
        member.confirmed = false;
        member.attempts = 0;
        member.warned = false;
        self.prober.round.abandon(member.peer.node);
    }

    /// A member that was never reached is tried again.
    pub(super) fn retry(&mut self, turn: &mut Turn<'_>, slot: Slot) {
        if self.me.is_active() && self.awareness.level().sends_optional_probes() {
            self.probe(turn, slot);
        }
        let warn_after = self.config.contact.warn_after;
        let member = self.members.get_mut(slot);
        member.attempts = member.attempts.saturating_add(1);
        let waited = turn.now.since(member.since);
        if waited >= warn_after && !member.warned {
            member.warned = true;
            let (node, addr) = (Some(member.peer.node), member.peer.addr);
            turn.event(Event::Unreachable { node, addr, since: waited });
        }
        if waited >= warn_after * GIVE_UP_AFTER {
            self.give_up(turn, slot);
        } else {
            self.schedule(turn.now, slot);
        }
    }

    /// Nobody this node can hear has reached the member either, or it would be confirmed or dead by now: hearsay about a
    /// node that ended before anybody now living met it. It is forgotten until it speaks or is named with a newer identity;
    /// as it may live behind a cut, it is probed on now and then, and a configured address is tried on for ever.
    fn give_up(&mut self, turn: &mut Turn<'_>, slot: Slot) {
        let peer = self.members.get(slot).peer;
        self.forget(turn, slot, Cause::NeverReached);
        self.counters.astray_dropped += self.prober.astray.add(peer);
        turn.event(Event::Forgotten { node: peer.node });
        self.manager_gone(turn, peer);
    }

    /// When an unreached member is tried next. First tries are spread, so that a newcomer is not flooded by everybody;
    /// later ones wait ever longer, but one is made when the warning is due.
    pub(super) fn next_try(&mut self, now: Now, slot: Slot) -> Now {
        let (config, member) = (&self.config.contact, self.members.get(slot));
        let Some(vain) = member.attempts.checked_sub(1) else {
            return now.plus(config.spread.mul_f64(self.rng.f64() * self.members.live().len() as f64));
        };
        let next = now.plus(back_off(config, u32::from(vain), &mut self.rng));
        if member.warned { next } else { next.min(member.since.plus(config.warn_after)).max(now) }
    }
}
