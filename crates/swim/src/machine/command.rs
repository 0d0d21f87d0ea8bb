//! What the host wants or reports.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::{Swim, Turn};
use crate::audit::Cause;
use crate::claim::Status;
use crate::io::{Command, Timer};
use hyperscale_types::{BootEpoch, NodeId};

impl Swim {
    pub(super) fn command(&mut self, turn: &mut Turn<'_>, command: Command) {
        match command {
            Command::Join { contacts } => self.join(turn, &contacts),
            Command::Leave => self.leave(turn),
            Command::SetState(state) => self.set_state(state),
            Command::ConnectionFailed { node, boot } => self.connection_failed(turn, node, boot),
            Command::RuntimeLag(lag) => self.lagged(turn, lag),
            Command::Worker(report) => self.report_worker(turn, report),
            Command::WorkerOver { worker, boot } => self.worker_over(turn, worker, boot),
        }
    }

    fn join(&mut self, turn: &mut Turn<'_>, addrs: &[SocketAddr]) {
        let own = self.me.peer().addr;
        let others: Vec<_> = addrs.iter().copied().filter(|addr| *addr != own).collect();
        self.counters.contacts_dropped += self.contacts.add(&others, turn.now);
        // The host may name members that have spoken long ago, as the log does: nobody confirms them a second time.
        for member in self.members.iter().filter(|member| member.confirmed && member.status().is_live()) {
            self.contacts.reached(member.peer.addr);
        }
        if !self.me.activate() {
            return;
        }
        // A random phase, so that nodes started together do not probe together.
        let first = turn.now.plus(self.config.probe.period.mul_f64(self.rng.f64()));
        self.set_period(turn, first);
        let sync = turn.now.plus(self.config.sync_interval.mul_f64(self.rng.f64()));
        if let Some(number) = self.alarms.sync.set(sync) {
            turn.timer(sync, Timer::Sync(number));
        }
        if self.contacts.is_empty() {
            self.contacts.joined();
            self.begin_intake(turn, BTreeSet::new());
        }
    }

    /// A refused port or reset connection is evidence to suspect now. It is never a death: the node may be restarting,
    /// or something between the two may have spoken in its name. The end of a former life says nothing of the present one.
    fn connection_failed(&mut self, turn: &mut Turn<'_>, node: NodeId, boot: Option<BootEpoch>) {
        let Some(slot) = self.members.find(node) else { return };
        let member = self.members.get(slot);
        if boot.is_some_and(|boot| boot < member.claim().boot) {
            return;
        }
        if !member.confirmed || !member.status().is_live() || !self.me.is_active() {
            return;
        }
        let was_alive = member.status() == Status::Alive;
        self.accuse(turn, slot, Cause::ConnectionRefused);
        if was_alive {
            // At once, so that it can contradict at once.
            self.probe(turn, slot);
        }
    }
}
