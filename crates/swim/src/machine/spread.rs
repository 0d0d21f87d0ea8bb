//! Sending datagrams: every one of them carries as much news as fits.

use std::sync::Arc;

use hyperscale_types::Role;

use super::{Swim, Turn};
use crate::awareness::Lifeguard;
use crate::claim::Status;
use crate::gossip::{Offer, Quota, Waiting};
use crate::io::{Action, Destination, Timer};
use crate::message::{Datagram, MemberUpdate, Message};
use crate::size;
use crate::table::{Slot, sample};
use crate::workers::WorkerUpdate;

impl Swim {
    /// Whether there is anything to gossip.
    pub(super) fn has_news(&self) -> bool {
        let others = !self.members.live().is_empty();
        others && (self.has_own_news() || !self.queue.is_empty() || self.has_worker_news())
    }

    pub(super) fn gossip_tick(&mut self, turn: &mut Turn<'_>, number: u32) {
        if self.alarms.gossip.fired(number).is_none() {
            return;
        }
        let fanout = usize::from(self.config.gossip.fanout.get());
        if self.has_own_news() || !self.queue.is_empty() {
            let mut picks = std::mem::take(&mut self.prober.picks);
            sample(&mut self.rng, self.members.live(), fanout, |_| true, &mut picks);
            self.gossip_to(turn, &mut picks);
        }
        if self.has_worker_news() {
            // Worker news concern managers only: among a thousand members chance would rarely meet one.
            let mut picks = std::mem::take(&mut self.prober.picks);
            sample(&mut self.rng, self.members.managers(), fanout, |_| true, &mut picks);
            self.gossip_to(turn, &mut picks);
        }
        if self.has_news() {
            let next = turn.now.plus(self.awareness.stretch_gossip(self.config.gossip.interval));
            if let Some(number) = self.alarms.gossip.set(next) {
                turn.timer(next, Timer::Gossip(number));
            }
        }
    }

    /// Sends one datagram, with first what concerns the receiver.
    pub(super) fn send(
        &mut self,
        turn: &mut Turn<'_>,
        to: Destination,
        message: Message,
        accusation: Option<MemberUpdate>,
    ) {
        let slot = self.members.find(to.node);
        let buddy = accusation.or_else(|| self.buddy(slot?));
        let datagram = self.compose(turn, slot, message, buddy);
        self.dispatch(turn, to, datagram);
    }

    fn gossip_to(&mut self, turn: &mut Turn<'_>, picks: &mut Vec<Slot>) {
        for slot in picks.drain(..) {
            let buddy = self.buddy(slot);
            let datagram = self.compose(turn, Some(slot), Message::Gossip, buddy);
            if !datagram.members.is_empty() || !datagram.workers.is_empty() {
                self.dispatch(turn, self.destination(slot), datagram);
            }
        }
        self.prober.picks = std::mem::take(picks);
    }

    fn dispatch(&mut self, turn: &mut Turn<'_>, to: Destination, datagram: Datagram) {
        self.counters.datagrams_sent += 1;
        let bytes = size::datagram_len(&datagram) + self.config.gossip.seal_bytes;
        self.counters.datagram_bytes_sent += bytes as u64;
        turn.out.push(Action::SendDatagram { to, datagram });
    }

    /// The accusation against the receiver, if there is one, or that it left: it should contradict at once.
    fn buddy(&self, slot: Slot) -> Option<MemberUpdate> {
        let accused = self.members.get(slot).status() != Status::Alive;
        if bug!(self.config, ForgetBuddy) {
            return None;
        }
        (accused && self.config.lifeguard == Lifeguard::On).then(|| self.update_about(slot))
    }

    fn compose(
        &mut self,
        turn: &Turn<'_>,
        to: Option<Slot>,
        message: Message,
        buddy: Option<MemberUpdate>,
    ) -> Datagram {
        let from = self.me.sender();
        let gossip = &self.config.gossip;
        let mut space = gossip.datagram_bytes_max - gossip.seal_bytes;
        if self.awareness.level().halves_piggyback() {
            space /= 2;
        }
        let used = size::head_len(&from, &message) + buddy.as_ref().map_or(0, size::member_len);
        let mut quota = Quota::new(space, used, gossip.worker_bytes_max);
        let embedded = match message {
            Message::Probe { .. } | Message::Ack { .. } => self.me.embedded.clone(),
            Message::Nack { .. } | Message::PingReq { .. } | Message::Gossip => None,
        };
        let embedded_len = embedded.as_deref().map_or(0, size::embedded_len);
        let embedded = embedded.filter(|_| quota.takes_embedded(embedded_len));

        let to_manager = to.is_some_and(|slot| self.members.get(slot).peer.role == Role::Manager);
        let waiting = Waiting {
            members: self.has_own_news() || !self.queue.is_empty(),
            workers: to_manager && self.has_worker_news(),
            embedded_len,
        };
        let (workers, worker_bytes, more) = self.take_workers(turn, quota.workers(waiting));
        let mut members: Vec<MemberUpdate> = buddy.into_iter().collect();
        if waiting.members {
            self.take_members(to, quota.members(worker_bytes, more), &mut members);
        }
        Datagram { from, message, embedded, members, workers }
    }

    /// Puts membership news into a datagram, least sent first.
    fn take_members(&mut self, to: Option<Slot>, space: usize, members: &mut Vec<MemberUpdate>) {
        let times = self.transmissions();
        let mut left = space;
        let mut add = |update: MemberUpdate| {
            let len = size::member_len(&update);
            let fits = len <= left;
            if fits {
                left -= len;
                members.push(update);
            }
            fits
        };
        if self.has_own_news() && add(self.me.update()) {
            self.me.transmissions += 1;
        }
        let (suspicions, me) = (&self.suspicions, self.me.peer().node);
        // With nobody else to tell, news about the receiver would wait for ever.
        let others = self.members.live().len() > 1;
        self.queue.offer(&mut self.members, times, |members, slot| {
            // The receiver knows how it is; an accusation against it went first.
            if Some(slot) == to {
                return if others { Offer::Passed } else { Offer::Taken };
            }
            let member = members.get(slot);
            let accuser = suspicions.get(&slot).and_then(|suspicion| suspicion.witnesses().iter().last());
            let update =
                MemberUpdate { peer: member.peer, claim: member.claim(), accuser: accuser.unwrap_or(me) };
            if add(update) { Offer::Taken } else { Offer::NoRoom }
        });
    }

    /// Puts worker news into a datagram; how many bytes, and whether more wait.
    fn take_workers(&mut self, turn: &Turn<'_>, space: usize) -> (Vec<Arc<WorkerUpdate>>, usize, bool) {
        if space == 0 {
            return (Vec::new(), 0, false);
        }
        let times = self.config.gossip.transmissions(self.members.managers().len() + 1);
        self.workers.take(turn.now, times, space)
    }

    fn has_own_news(&self) -> bool {
        self.me.transmissions < self.transmissions()
    }

    /// How often an update about a member is sent.
    fn transmissions(&self) -> u8 {
        if bug!(self.config, TransmitOnce) {
            return 1;
        }
        self.config.gossip.transmissions(self.cluster_size())
    }

    fn has_worker_news(&self) -> bool {
        !self.workers.queue.is_empty() && !self.members.managers().is_empty()
    }
}
