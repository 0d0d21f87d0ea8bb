//! Probing on behalf of others: ack if the target answers, nack if it does not.

use std::time::Duration;

use super::{Swim, Turn};
use crate::io::{Destination, Timer};
use crate::message::Message;
use crate::probe::Relay;

impl Swim {
    pub(super) fn help(
        &mut self,
        turn: &mut Turn<'_>,
        origin: Destination,
        origin_seq: u32,
        target: Destination,
        nack_after: Duration,
    ) {
        if target.node == self.me.peer().node {
            self.send(turn, origin, Message::Ack { seq: origin_seq }, None);
            return;
        }
        let seq = self.next_seq();
        let relay = Relay { origin: origin.node, origin_addr: origin.addr, origin_seq, target: target.node };
        if !self.prober.relays.add(seq, relay) {
            self.counters.relays_dropped += 1;
            return;
        }
        self.send(turn, target, Message::Probe { seq, target: target.node }, None);
        // Never longer than a probe may take here, whatever was asked for.
        let patience = nack_after.min(self.config.probe.period);
        turn.timer(turn.now.plus(patience), Timer::Relay(seq));
    }

    pub(super) fn pass_ack(&mut self, turn: &mut Turn<'_>, relay: Relay) {
        let to = Destination { node: relay.origin, addr: relay.origin_addr };
        self.send(turn, to, Message::Ack { seq: relay.origin_seq }, None);
    }

    pub(super) fn relay_timeout(&mut self, turn: &mut Turn<'_>, seq: u32) {
        let Some(relay) = self.prober.relays.expire(seq) else { return };
        if bug!(self.config, NoNacks) {
            return;
        }
        let to = Destination { node: relay.origin, addr: relay.origin_addr };
        self.send(turn, to, Message::Nack { seq: relay.origin_seq }, None);
    }
}
