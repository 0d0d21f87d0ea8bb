//! Between the world and the membership cores: inputs in, actions out, everything shown to the judges.

use std::sync::Arc;

use hyperscale_codec::gossip;
use hyperscale_swim::{
    Action, Command, Datagram, Endpoint, Event, Input, MemberUpdate, StreamBody, StreamMessage, Timer,
    WorkerUpdate, size,
};
use hyperscale_types::{BootEpoch, NodeId, Now};

use super::node::{index_at, index_of};
use super::{Happening, World};
use crate::invariants::What;
use crate::network::Connection;
use crate::paths::Path;
use crate::process::Crash;

/// About what a stream message takes on the wire, beside its entries.
const STREAM_BYTES: usize = 200;
/// A digest: a number of eight bytes per bucket.
const DIGEST_BYTES: usize = 64 * 8;

impl World {
    pub(super) fn datagram(&mut self, to: usize, datagram: Datagram) {
        if !self.truth.nodes[to].process.is_up() {
            return;
        }
        let (sender, boot) = (datagram.from.peer.node, datagram.from.boot);
        self.show(to, What::Heard { from: sender, boot });
        let members = if self.judges.is_thorough() { datagram.members.clone() } else { Vec::new() };
        self.handle(to, Input::Datagram(datagram));
        self.show(to, What::Merged { from: sender, boot, members: &members, is_list: false });
    }

    pub(super) fn stream(&mut self, from: usize, to: usize, message: StreamMessage) {
        let now = self.kernel.now();
        let connected = self.network.reaches(now, from, to) && self.network.reaches(now, to, from);
        if !self.truth.nodes[to].process.is_up() || !connected {
            return;
        }
        let Some(message) = self.reread(to, message) else { return };
        let (sender, boot) = (message.from.peer.node, message.from.boot);
        self.show(to, What::Heard { from: sender, boot });
        let listed = match &message.body {
            StreamBody::MemberDifference { members, .. } if self.judges.is_thorough() => members.clone(),
            _ => Vec::new(),
        };
        if let StreamBody::MemberDifference { members, .. } = &message.body {
            self.show(to, What::Listed(members));
        }
        self.handle(to, Input::Stream(message));
        self.show(to, What::Merged { from: sender, boot, members: &listed, is_list: true });
    }

    pub(super) fn timer(&mut self, node: usize, boot: BootEpoch, at: Now, timer: Timer) {
        if !self.is_life(node, boot) {
            return;
        }
        let now = self.kernel.now();
        let lag = self.nodes[node].clock.read(now).since(at);
        if lag * 2 >= self.nodes[node].swim.config().lag_tick {
            self.handle(node, Input::Command(Command::RuntimeLag(lag)));
        }
        self.handle(node, Input::Timer(timer));
    }

    pub(super) fn command(&mut self, node: usize, boot: BootEpoch, command: Command) {
        if !self.is_life(node, boot) {
            return;
        }
        if matches!(command, Command::Leave) {
            self.truth.nodes[node].leaving = true;
        }
        self.handle(node, Input::Command(command));
    }

    /// Gives the core an input and does what it wants.
    pub(super) fn handle(&mut self, index: usize, input: Input) {
        let now = self.kernel.now();
        self.recorder.note(now, index, || format!("{input:?}"));
        let mut actions = std::mem::take(&mut self.actions);
        let node = &mut self.nodes[index];
        let local = node.clock.read(now);
        node.swim.handle(local, input, &mut actions);
        self.kernel.trace.mix(&[actions.len() as u64]);
        for action in actions.drain(..) {
            self.perform(index, action);
        }
        self.actions = actions;
        self.show_transitions(index);
        self.show(index, What::Handled);
    }

    fn perform(&mut self, from: usize, action: Action) {
        match action {
            Action::SetTimer { at, timer } => {
                let boot = self.truth.nodes[from].process.boot;
                let moment = self.nodes[from].clock.moment_of(at);
                self.kernel.at(moment, Happening::Timer { node: from, boot, at, timer });
            }
            Action::SendDatagram { to, datagram } => self.send_datagram(from, to.node, datagram),
            Action::SendStream { to, message } => self.send_stream(from, to, message),
            Action::Event(event) => {
                self.recorder.note(self.kernel.now(), from, || format!("► {event:?}"));
                self.show(from, What::Event(&event));
                if let Event::Refuted { .. } = event {
                    self.paths.take(Path::Contradicted);
                }
                self.gossip(from, &event);
                if let Event::Departed = event {
                    self.end(from, Crash::Process);
                }
            }
        }
    }

    fn send_datagram(&mut self, from: usize, to: NodeId, datagram: Datagram) {
        self.show(from, What::Sent { to, datagram: &datagram });
        let versions = self.versions(from);
        if self.seal_to(from, to, || gossip::encode(&datagram, versions)) {
            return;
        }
        let (now, to) = (self.kernel.now(), index_of(to));
        let bytes = size::datagram_len(&datagram) + self.setup.config.gossip.seal_bytes;
        let times = self.network.datagram(now, from, to, bytes);
        self.arrives(times, datagram, |datagram| Happening::Datagram { from, to, datagram });
    }

    fn send_stream(&mut self, from: usize, to: Endpoint, message: StreamMessage) {
        let Some(index) = index_at(to.addr).filter(|index| *index < self.nodes.len()) else { return };
        let now = self.kernel.now();
        let bytes = STREAM_BYTES + entry_bytes(&message.body);
        let Some(at) = self.network.stream(now, Connection::Gossip, from, index, bytes) else {
            return;
        };
        if !self.truth.nodes[index].process.refuses() {
            self.kernel.at(at, Happening::Stream { from, to: index, message });
        } else if let Some(node) = to.node {
            let boot = self.truth.nodes[from].process.boot;
            let command = Command::ConnectionFailed { node, boot: None };
            self.kernel.at(at, Happening::Command { node: from, boot, command });
        }
    }

    /// Shows the judges every transition of one input. Those that fell out of the ring before were seen by nobody, and whatever
    /// the judges say from then on is worth nothing: that ends the seed.
    fn show_transitions(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let total = node.swim.audit_total();
        let news = total - std::mem::replace(&mut node.transitions_seen, total);
        if news == 0 || !self.judges.is_thorough() {
            return;
        }
        let kept = node.swim.audit().count();
        let Some(known) = usize::try_from(news).ok().and_then(|news| kept.checked_sub(news)) else {
            let limit = node.swim.config().limits.audit;
            let what =
                format!("one input made {news} transitions, of which limits.audit = {limit} kept {kept}");
            self.judges.object("transitions_shown", self.kernel.now(), Some(index), what);
            return;
        };
        let entries: Vec<_> = node.swim.audit().skip(known).copied().collect();
        for entry in &entries {
            self.show(index, What::Transition(entry));
        }
    }

    pub(super) fn is_life(&self, node: usize, boot: BootEpoch) -> bool {
        let process = &self.truth.nodes[node].process;
        process.is_up() && process.boot == boot
    }
}

/// What the entries of a stream message take.
fn entry_bytes(body: &StreamBody) -> usize {
    let of_members = |members: &[MemberUpdate]| members.iter().map(size::member_len).sum();
    let of_workers = |workers: &[Arc<WorkerUpdate>]| workers.iter().map(|it| size::worker_len(it)).sum();
    match body {
        StreamBody::Members { members, .. } | StreamBody::MemberDifference { members, .. } => {
            of_members(members)
        }
        StreamBody::WorkerList { workers, .. } | StreamBody::WorkerDifference { workers, .. } => {
            of_workers(workers)
        }
        StreamBody::Worker(update) => size::worker_len(update),
        StreamBody::Digest { workers, .. } => DIGEST_BYTES * (1 + usize::from(workers.is_some())),
        StreamBody::Join
        | StreamBody::Probe { .. }
        | StreamBody::Ack { .. }
        | StreamBody::WorkerListRequest => 0,
    }
}

#[cfg(test)]
mod tests;
