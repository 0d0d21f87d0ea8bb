//! The probe period: judging the round that ends, starting the next.

use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use super::{Swim, Turn};
use crate::audit::Cause;
use crate::awareness::Lifeguard;
use crate::claim::Status;
use crate::io::{Destination, Event, Timer};
use crate::message::{Message, StreamBody};
use crate::probe::{Outcome, Round};
use crate::table::{Slot, sample};

/// Part of the time left in the period after which helpers give up, so that their nack still arrives in it.
const NACK_SHARE: f64 = 0.8;
/// Dead members probed per period.
const RECALLS: usize = 1;
/// Dead members probed per period once one of them came back: a partition has probably healed.
const RECALLS_AFTER_REVIVAL: usize = 16;
/// For how many periods that is assumed.
const REVIVAL_PERIODS: u32 = 10;
/// Managers that did not send their worker list are asked again every so many periods.
const ASK_AGAIN_PERIODS: u64 = 4;

impl Swim {
    pub(super) fn set_period(&mut self, turn: &mut Turn<'_>, at: Now) {
        if let Some(number) = self.alarms.period.set(at) {
            turn.timer(at, Timer::Period(number));
        }
    }

    pub(super) fn period(&mut self, turn: &mut Turn<'_>, number: u32) {
        let Some(due) = self.alarms.period.fired(number) else { return };
        let lag = turn.now.since(due);
        self.awareness.lagged(lag);
        self.judge(turn, lag);
        let before = self.awareness.level();
        self.awareness.period_ended();
        self.tell_level(turn, before);
        self.prober.told.clear();
        if self.me.is_active() {
            self.side_probes(turn);
            self.next_round(turn);
            self.ask_for_members(turn);
            if self.prober.rounds.is_multiple_of(ASK_AGAIN_PERIODS) {
                self.ask_for_workers(turn);
            }
        }
        let next = turn.now.plus(self.awareness.stretch(self.config.probe.period));
        self.set_period(turn, next);
    }

    /// A node that slept through the end of the period may have the answer waiting in its socket: it does not judge.
    pub(super) fn slept(&self, lag: Duration) -> bool {
        self.config.lifeguard == Lifeguard::On && lag >= self.config.probe.timeout
    }

    pub(super) fn lagged(&mut self, turn: &mut Turn<'_>, lag: Duration) {
        let before = self.awareness.level();
        self.awareness.lagged(lag);
        self.tell_level(turn, before);
    }

    fn tell_level(&mut self, turn: &mut Turn<'_>, before: crate::load::LoadLevel) {
        let level = self.awareness.level();
        if level != before {
            turn.event(Event::LoadChanged { level, lhm: self.awareness.lhm() });
        }
    }

    /// Ends the round of the period that is over.
    fn judge(&mut self, turn: &mut Turn<'_>, lag: Duration) {
        let outcome = self.prober.round.end();
        self.prober.debtors.clear();
        let Outcome::Failed { target, silent } = outcome else { return };
        if self.slept(lag) || !self.me.is_active() {
            return;
        }
        self.counters.probes_failed += 1;
        if bug!(self.config, NacksRaiseHealth) {
            self.awareness.nacks_missing(usize::from(self.config.probe.helpers.get()));
        }
        self.blame_myself(turn, silent);
        if let Some(slot) = self.members.find(target)
            && self.members.get(slot).confirmed
            && self.members.get(slot).status().is_live()
        {
            self.accuse(turn, slot, Cause::ProbeFailed);
        }
    }

    /// Nacks that did not come. If nobody at all was heard for two periods, this node is the one cut off, and all of
    /// them count. Else only those of helpers that turn out to be well count: a helper may be as dead as the target,
    /// and the death of others must not make this node think itself ill.
    fn blame_myself(&mut self, turn: &Turn<'_>, silent: Vec<NodeId>) {
        if turn.now.since(self.prober.heard) >= self.config.probe.period * 2 {
            self.awareness.nacks_missing(silent.len());
            return;
        }
        self.prober.debtors = silent;
    }

    /// A helper that owed a nack is well: the nack was missing.
    pub(super) fn settle_debt(&mut self, node: NodeId) {
        if let Some(place) = self.prober.debtors.iter().position(|debtor| *debtor == node) {
            self.prober.debtors.swap_remove(place);
            self.awareness.nacks_missing(1);
        }
    }

    fn next_round(&mut self, turn: &mut Turn<'_>) {
        let (level, round) = (self.awareness.level(), self.prober.rounds);
        self.prober.rounds += 1;
        let suspects_only = level.skips_probe(round) && !level.sends_optional_probes();
        if level.skips_probe(round) && !suspects_only {
            self.counters.probes_skipped += 1;
            return;
        }
        let Some(slot) = self.next_target(suspects_only) else { return };
        let target = self.members.get(slot).peer.node;
        let seq = self.probe(turn, slot);
        self.prober.round = Round::Direct { seq, target };
        self.counters.probes += 1;
        let timeout = turn.now.plus(self.awareness.stretch(self.config.probe.timeout));
        turn.timer(timeout, Timer::ProbeTimeout(seq));
    }

    fn next_target(&mut self, suspects_only: bool) -> Option<Slot> {
        if suspects_only {
            self.counters.probes_skipped += 1;
            let count = self.suspicions.len();
            let place = (count > 0).then(|| self.rng.usize(..count))?;
            return self.suspicions.keys().nth(place).copied();
        }
        let members = &self.members;
        self.prober.order.next(&mut self.rng, |slot| {
            members.try_get(slot).is_some_and(|member| member.confirmed && member.status().is_live())
        })
    }

    /// Sends a probe that carries whatever the target is accused of; its number.
    pub(super) fn probe(&mut self, turn: &mut Turn<'_>, slot: Slot) -> u32 {
        let seq = self.next_seq();
        let to = self.destination(slot);
        self.send(turn, to, Message::Probe { seq, target: to.node }, None);
        seq
    }

    pub(super) fn probe_timeout(&mut self, turn: &mut Turn<'_>, seq: u32) {
        let Some(target) = self.prober.round.timeout(seq) else { return };
        let Some(slot) = self.members.find(target) else { return };
        let to = self.destination(slot);
        self.send_stream(turn, to.into(), StreamBody::Probe { seq });
        // What is really left: the multiplier may have moved since the period was set.
        let nack_after = self.alarms.period.left(turn.now).mul_f64(NACK_SHARE);
        let message = Message::PingReq { seq, target, addr: to.addr, nack_after };
        for helper in self.draw_helpers(slot) {
            let to = self.destination(helper);
            self.prober.round.asked(to.node);
            self.send(turn, to, message, None);
        }
    }

    /// Random members that are well as far as anybody knows.
    fn draw_helpers(&mut self, target: Slot) -> Vec<Slot> {
        let members = &self.members;
        let mut helpers = Vec::new();
        let eligible = |slot: Slot| {
            let member = members.get(slot);
            slot != target && member.confirmed && member.status() == Status::Alive
        };
        let count = usize::from(self.config.probe.helpers.get());
        sample(&mut self.rng, members.live(), count, eligible, &mut helpers);
        helpers
    }

    /// An ack arrived on a datagram or a stream: for this round, or for somebody this node helps.
    pub(super) fn acked(&mut self, turn: &mut Turn<'_>, seq: u32, from: NodeId) {
        if self.prober.round.ack(seq, from) {
            self.awareness.probe_answered();
        } else if let Some(relay) = self.prober.relays.ack(seq, from) {
            self.pass_ack(turn, relay);
        }
    }

    /// Beside the round: helpers that owe a nack are probed, and some of the dead and of those given up, so that a healed
    /// partition is noticed.
    fn side_probes(&mut self, turn: &mut Turn<'_>) {
        if !self.awareness.level().sends_optional_probes() {
            return;
        }
        if let Some(slot) = self.prober.met.take().and_then(|node| self.members.find(node)) {
            self.send_digest(turn, slot);
        }
        for debtor in self.prober.debtors.clone() {
            if let Some(slot) = self.members.find(debtor) {
                self.probe(turn, slot);
            }
        }
        self.seek(turn);
        self.recall(turn);
    }

    /// Probes one of those that were given up as never reached.
    fn seek(&mut self, turn: &mut Turn<'_>) {
        if let Some(peer) = self.prober.astray.draw(&mut self.rng) {
            let (to, seq) = (Destination { node: peer.node, addr: peer.addr }, self.next_seq());
            self.send(turn, to, Message::Probe { seq, target: to.node }, None);
        }
    }

    /// Probes some of the dead, telling them so.
    fn recall(&mut self, turn: &mut Turn<'_>) {
        let healing = self.config.probe.period * REVIVAL_PERIODS;
        let revived = self.prober.revived.is_some_and(|at| turn.now.since(at) < healing);
        let count = if revived { RECALLS_AFTER_REVIVAL } else { RECALLS };
        let mut picks = std::mem::take(&mut self.prober.picks);
        sample(&mut self.rng, self.members.dead(), count, |_| true, &mut picks);
        for slot in picks.drain(..) {
            let (to, accusation, seq) = (self.destination(slot), self.update_about(slot), self.next_seq());
            self.send(turn, to, Message::Probe { seq, target: to.node }, Some(accusation));
        }
        self.prober.picks = picks;
    }
}
