//! A datagram arrived: what it says by arriving, what it asks or answers, and what rides on it.

use std::sync::Arc;

use super::{Swim, Turn};
use crate::audit::Cause;
use crate::claim::{Claim, Status};
use crate::embedded::{Embedded, supersedes};
use crate::io::{Destination, Event};
use crate::message::{Datagram, MemberUpdate, Message, Peer, Sender};
use crate::table::Slot;

impl Swim {
    pub(super) fn datagram(&mut self, turn: &mut Turn<'_>, datagram: Datagram) {
        let Datagram { from, message, embedded, members, workers } = datagram;
        if !self.contact(turn, &from) {
            return;
        }
        let node = from.peer.node;
        if let Some(embedded) = embedded {
            self.heard_state(turn, &from, embedded);
        }
        // News first: an answer must already contradict an accusation that came with the question.
        for update in &members {
            self.merge(turn, update, Cause::Gossip, node);
        }
        self.merge_workers(turn, &workers, node);
        let to = Destination { node, addr: from.peer.addr };
        match message {
            Message::Probe { seq, target } if target == self.me.peer().node => {
                self.send(turn, to, Message::Ack { seq }, None);
            }
            Message::Probe { .. } => self.counters.misdirected += 1,
            Message::Ack { seq } => self.acked(turn, seq, node),
            Message::Nack { seq } => self.prober.round.nack(seq, node),
            Message::PingReq { seq, target, addr, nack_after } => {
                self.help(turn, to, seq, Destination { node: target, addr }, nack_after);
            }
            Message::Gossip => {}
        }
    }

    /// A message arrived: its sender lives and can be heard. False if the message is to be dropped.
    pub(super) fn contact(&mut self, turn: &mut Turn<'_>, from: &Sender) -> bool {
        let node = from.peer.node;
        if node == self.me.peer().node {
            self.counters.own_id_claimed += 1;
            self.about_me(turn, Claim::alive(from.boot, from.incarnation));
            return false;
        }
        self.prober.heard = turn.now;
        let slot = if let Some(slot) = self.members.find(node) {
            let stored = self.members.get(slot).claim();
            if from.boot < stored.boot {
                self.counters.stale_boots += 1;
                // A former life does not mind; one that lives under a boot that somebody made up a higher one of has to
                // know it, to come back above that.
                let to = Destination { node, addr: from.peer.addr };
                let peer = Peer { addr: from.peer.addr, ..self.members.get(slot).peer };
                self.tell(turn, to, MemberUpdate { peer, claim: stored, accuser: self.me.peer().node });
                return false;
            }
            if from.boot > stored.boot && !self.is_plausible(&from.alive(), Cause::Contact) {
                self.counters.boots_refused += 1;
                return false;
            }
            // The common case, kept short: nothing new about somebody well known.
            if stored != Claim::alive(from.boot, from.incarnation) {
                self.spoke(turn, slot, from, stored);
            }
            Some(slot)
        } else {
            self.merge(turn, &from.alive(), Cause::Contact, node);
            self.members.find(node)
        };
        if let Some(slot) = slot {
            self.confirm(turn, slot);
        }
        self.settle_debt(node);
        true
    }

    /// A member spoke whose identity or status differs from what is stored.
    fn spoke(&mut self, turn: &mut Turn<'_>, slot: Slot, from: &Sender, stored: Claim) {
        let node = from.peer.node;
        self.merge(turn, &from.alive(), Cause::Contact, node);
        if stored.status == Status::Dead && self.members.get(slot).status().is_live() {
            self.prober.met = Some(node);
        }
    }

    fn heard_state(&mut self, turn: &mut Turn<'_>, from: &Sender, embedded: Arc<Embedded>) {
        let Some(slot) = self.members.find(from.peer.node) else { return };
        let member = self.members.get_mut(slot);
        if embedded.state.role() != member.peer.role {
            self.counters.foreign_embedded += 1;
            return;
        }
        let is_newer = supersedes(&embedded, member.embedded.as_deref()) || bug!(self.config, StaleEmbedded);
        if member.claim().boot != from.boot || !is_newer {
            self.counters.stale_embedded += u64::from(member.embedded.as_ref() != Some(&embedded));
            return;
        }
        let changed = member.embedded.as_ref().is_none_or(|known| known.state != embedded.state);
        member.embedded = Some(Arc::clone(&embedded));
        if changed {
            turn.event(Event::StateChanged { node: from.peer.node, state: embedded });
        }
    }
}
