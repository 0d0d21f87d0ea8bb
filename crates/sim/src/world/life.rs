//! Nodes start, crash, come back and end.

use std::time::Duration;

use hyperscale_swim::{Command, Config, Input, LocalNode, Swim};
use hyperscale_types::{BootEpoch, Role};

use super::node::{Node, address_of, id_of, peer_of};
use super::state;
use super::{Fact, Happening, World};
use crate::clock::Clock;
use crate::cpu::Cpu;
use crate::invariants::What;
use crate::paths::Path;
use crate::process::{Crash, Life, Process, Version};

/// Peers a node is configured with.
const CONTACTS: usize = 3;

impl World {
    /// Adds a node that starts after a while; its number.
    pub fn add(&mut self, role: Role, cluster: u8, after: Duration) -> usize {
        self.network.connect(cluster, None);
        self.put(role, cluster, self.setup.version, after)
    }

    /// Ends a node for ever. Another one with the same software starts in its place after a while; its number.
    pub fn replace(&mut self, index: usize, after: Duration) -> usize {
        self.end(index, Crash::Machine);
        self.disturb_founding(index);
        let Fact { role, cluster, process, .. } = self.truth.nodes[index];
        self.network.connect(cluster, Some(index));
        self.put(role, cluster, process.version, after)
    }

    /// A node that is connected already gets its machine.
    fn put(&mut self, role: Role, cluster: u8, version: Version, after: Duration) -> usize {
        let index = self.nodes.len();
        let clock = if self.setup.skewed_clocks { Clock::skewed(&mut self.rng) } else { Clock::exact() };
        let swim = self.core(index, role, BootEpoch(0));
        let mut process = Process::started(version);
        (process.life, process.boot) = (Life::Down(Crash::Machine), BootEpoch(0));
        let host = self.new_host(role);
        let (cpu, control) = (Cpu::default(), Cpu::default());
        self.nodes.push(Node {
            clock,
            cpu,
            control,
            swim,
            federation: None,
            wire: None,
            host,
            worker: None,
            outlived: None,
            transitions_seen: 0,
        });
        self.truth.nodes.push(Fact { role, cluster, process, since: self.kernel.now(), leaving: false });
        self.kernel.after(after, Happening::Start { node: index });
        index
    }

    /// Starts a node in a new life, if it is down and may come back.
    pub(super) fn start(&mut self, index: usize) {
        let now = self.kernel.now();
        let fact = &mut self.truth.nodes[index];
        if !fact.process.restart() {
            return;
        }
        (fact.since, fact.leaving) = (now, false);
        let (boot, role, cluster) = (fact.process.boot, fact.role, fact.cluster);
        self.recorder.note(now, index, || format!("starts, boot {boot}"));
        let swim = self.core(index, role, boot);
        let wire = self.new_wire(index);
        let node = &mut self.nodes[index];
        node.wire = wire;
        (node.swim, node.cpu, node.control, node.transitions_seen) =
            (swim, Cpu::default(), Cpu::default(), 0);
        self.show(index, What::Started);
        let contacts = self.contacts_of(index, cluster).map(address_of).collect();
        self.handle(index, Input::Command(Command::Join { contacts }));
        self.kernel.after(state::FIRST, Happening::State { node: index, boot });
        self.start_cross(index, boot);
        self.start_log(index, boot);
    }

    /// Starts a second process of a worker under the same id. The first one runs on, and hears nothing any more: what is sent
    /// to the node reaches the second one.
    pub(super) fn start_beside(&mut self, index: usize) {
        let first = self.truth.nodes[index].process.boot;
        let Some(worker) = self.nodes[index].worker.take() else { return };
        if worker.has_load() {
            self.paths.take(Path::TwoLives);
        }
        self.crash(index, Crash::Machine);
        self.nodes[index].outlived = Some((first, worker));
        self.start(index);
    }

    /// Ends a process; it may be started again.
    pub fn crash(&mut self, index: usize, how: Crash) {
        if self.truth.nodes[index].process.crash(how) {
            self.recorder.note(self.kernel.now(), index, || format!("crashes ({how:?})"));
            self.show(index, What::Ended);
            self.nodes[index].outlived = None;
            self.crash_log(index, how);
            if how == Crash::Process {
                self.hang_up(index);
            }
        }
    }

    /// The machine of a process that ended closes its connections. Those at their other ends see that.
    fn hang_up(&mut self, index: usize) {
        let ended = self.truth.nodes[index].process.boot;
        for (node, at) in self.network.hang_up(self.kernel.now(), index) {
            let boot = self.truth.nodes[node].process.boot;
            let command = Command::ConnectionFailed { node: id_of(index), boot: Some(ended) };
            self.kernel.at(at, Happening::Command { node, boot, command });
            self.kernel.at(at, Happening::HungUp { node, boot, by: index });
        }
    }

    /// Ends a node for ever.
    pub fn end(&mut self, index: usize, how: Crash) {
        self.crash(index, how);
        self.truth.nodes[index].process.end(how);
    }

    /// The first nodes of the cluster: managers, or gates.
    fn contacts_of(&self, index: usize, cluster: u8) -> impl Iterator<Item = usize> + '_ {
        let seniors = self.truth.nodes.iter().enumerate().filter(move |(_, fact)| fact.cluster == cluster);
        seniors.map(|(other, _)| other).take(CONTACTS).filter(move |other| *other != index)
    }

    fn core(&mut self, index: usize, role: Role, boot: BootEpoch) -> Swim {
        let config = self.config_of(role);
        let identity = LocalNode { peer: peer_of(index, role), boot };
        Swim::new(config, identity, self.rng.u64(..))
            .expect("setups have a configuration that passes its check")
    }

    fn config_of(&self, role: Role) -> Config {
        let lan = &self.setup.config;
        match role {
            Role::Gate => Config { limits: lan.limits.clone(), bugs: lan.bugs, ..Config::wan() },
            Role::Manager | Role::Worker => lan.clone(),
        }
    }
}
