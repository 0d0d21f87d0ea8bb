//! Probes between clusters: gates and managers host the production core that watches other clusters.
//!
//! Gates watch every datacenter, managers watch the gates. Whom to probe there comes from configuration, which knows every
//! node that was not taken away; it is read anew now and then, as hosts do.

use hyperscale_codec::gossip;
use hyperscale_swim::federation::{
    Aggregate, ClusterName, CrossMessage, CrossSender, DatacenterLoad, Federation, FederationAction,
    FederationCommand, FederationConfig, FederationEvent, FederationInput, FederationTimer, MANAGERS_MAX,
};
use hyperscale_swim::{GateLoad, LoadLevel, Phase};
use hyperscale_types::{BootEpoch, NodeId, Role};

use super::node::{address_of, id_of, index_at};
use super::{Happening, World};
use crate::invariants::What;
use crate::network::Connection;
use crate::paths::Path;

/// What a message between clusters takes on the wire, about.
const CROSS_BYTES: usize = 150;

/// The name under which clusters know each other.
pub fn cluster_name(cluster: u8) -> ClusterName {
    ClusterName::new(&format!("cluster-{cluster}"))
}

impl World {
    /// Gives a node that starts its core, if there are other clusters for it to watch.
    pub(super) fn start_cross(&mut self, index: usize, boot: BootEpoch) {
        if self.watched_by(index).is_empty() {
            return;
        }
        let me = CrossSender {
            cluster: cluster_name(self.truth.nodes[index].cluster),
            node: id_of(index),
            addr: address_of(index),
            boot,
            incarnation: self.nodes[index].swim.incarnation(),
        };
        let config = FederationConfig { bugs: self.setup.config.bugs, ..FederationConfig::wan() };
        let core = Federation::new(config, me, self.rng.u64(..)).expect("the preset passes its check");
        self.nodes[index].federation = Some(Box::new(core));
        self.cross_news(index);
    }

    /// What configuration and membership tell the core: whom to watch, and how its own cluster is.
    pub(super) fn cross_news(&mut self, index: usize) {
        if self.nodes[index].federation.is_none() {
            return;
        }
        for cluster in self.watched_by(index) {
            let members =
                self.truth.voters(cluster).map(|node| (address_of(node), Some(id_of(node)))).collect();
            let cluster = cluster_name(cluster);
            self.cross(index, FederationInput::Command(FederationCommand::Watch { cluster, members }));
        }
        let aggregate = FederationCommand::SetAggregate(self.aggregate(index));
        self.cross(index, FederationInput::Command(aggregate));
        let incarnation = FederationCommand::SetIncarnation(self.nodes[index].swim.incarnation());
        self.cross(index, FederationInput::Command(incarnation));
    }

    pub(super) fn cross_message(&mut self, to: usize, message: CrossMessage) {
        if self.truth.nodes[to].process.is_up() {
            self.cross(to, FederationInput::Message(message));
        }
    }

    pub(super) fn cross_stream(&mut self, from: usize, to: usize, message: CrossMessage) {
        if self.truth.nodes[to].process.is_up()
            && let Some(message) = self.reread_cross(from, to, message)
        {
            self.cross(to, FederationInput::Stream(message));
        }
    }

    pub(super) fn cross_timer(&mut self, node: usize, boot: BootEpoch, timer: FederationTimer) {
        if self.is_life(node, boot) {
            self.cross(node, FederationInput::Timer(timer));
        }
    }

    /// The clusters a node watches: none if it is a worker, or if there is only one kind of cluster.
    fn watched_by(&self, index: usize) -> Vec<u8> {
        let wanted = match self.truth.nodes[index].role {
            Role::Gate => Role::Manager,
            Role::Manager => Role::Gate,
            Role::Worker => return Vec::new(),
        };
        let there = |cluster: &u8| {
            self.truth.nodes.iter().any(|fact| fact.cluster == *cluster && fact.role == wanted)
        };
        (0..self.truth.clusters()).filter(there).collect()
    }

    fn aggregate(&self, index: usize) -> Aggregate {
        let (swim, cluster) = (&self.nodes[index].swim, self.truth.nodes[index].cluster);
        let workers = u32::try_from(swim.workers().count()).unwrap_or(u32::MAX);
        match self.truth.nodes[index].role {
            Role::Gate => Aggregate::Gates(GateLoad {
                leader: false,
                term: 1,
                phase: Phase::Active,
                jobs_owned: 0,
                lhm: swim.lhm(),
            }),
            Role::Manager | Role::Worker => Aggregate::Datacenter(DatacenterLoad {
                term: 1,
                leader: None,
                managers_alive: 1,
                managers_total: u32::try_from(self.truth.voters(cluster).count()).unwrap_or(u32::MAX),
                managers: self
                    .truth
                    .voters(cluster)
                    .map(|it| (id_of(it), address_of(it)))
                    .take(MANAGERS_MAX)
                    .collect(),
                workers_total: workers,
                workers_healthy: workers,
                workers_degraded: 0,
                cores_total: 8 * workers,
                cores_available: 0,
                lhm: swim.lhm(),
                backpressure: LoadLevel::Normal,
            }),
        }
    }

    fn cross(&mut self, index: usize, input: FederationInput) {
        let now = self.kernel.now();
        let node = &mut self.nodes[index];
        let Some(core) = &mut node.federation else { return };
        let (local, mut actions) = (node.clock.read(now), Vec::new());
        core.handle(local, input, &mut actions);
        for action in actions {
            match action {
                FederationAction::Send { to, node, message } => {
                    if let Some(to) = index_at(to).filter(|to| *to < self.nodes.len()) {
                        self.send_cross(index, to, node, message);
                    }
                }
                FederationAction::SendStream { to, message, .. } => {
                    if let Some(to) = index_at(to).filter(|to| *to < self.nodes.len()) {
                        self.stream_cross(index, to, message);
                    }
                }
                FederationAction::SetTimer { at, timer } => {
                    let boot = self.truth.nodes[index].process.boot;
                    let moment = self.nodes[index].clock.moment_of(at);
                    self.kernel.at(moment, Happening::CrossTimer { node: index, boot, at, timer });
                }
                FederationAction::Event(event) => {
                    self.recorder.note(now, index, || format!("► {event:?}"));
                    match event {
                        FederationEvent::Unreachable { .. } => self.paths.take(Path::ClusterGivenUp),
                        FederationEvent::JudgementHeld { .. } => self.paths.take(Path::JudgementHeld),
                        _ => {}
                    }
                    self.show(index, What::Cross(&event));
                }
            }
        }
    }

    fn send_cross(&mut self, from: usize, to: usize, node: Option<NodeId>, message: CrossMessage) {
        let (role, versions) = (self.truth.nodes[from].role, self.versions(from));
        if let Some(node) = node
            && self.seal_to(from, node, || gossip::encode_cross(&message, role, versions))
        {
            return;
        }
        let times = self.network.datagram(self.kernel.now(), from, to, CROSS_BYTES);
        self.arrives(times, Box::new(message), |message| Happening::Cross { from, to, message });
    }

    /// A message between clusters goes over a connection, if there can be one.
    fn stream_cross(&mut self, from: usize, to: usize, message: CrossMessage) {
        let now = self.kernel.now();
        let arrives = self.network.stream(now, Connection::Gossip, from, to, CROSS_BYTES);
        if let Some(at) = arrives.filter(|_| self.truth.nodes[to].process.is_up()) {
            self.kernel.at(at, Happening::CrossStream { from, to, message: Box::new(message) });
        }
    }
}
