//! Between the world and the log: replicas on their disks, letters on the network, and everything shown to the judges.
//!
//! | file       | what it does                                                        |
//! | ---------- | ------------------------------------------------------------------- |
//! | `founding` | groups are founded, and the operator helps where that fails          |
//! | `lives`    | replicas start, found or join their group, crash and come back      |
//! | `work`     | does what a replica asks for, in the order it asks                  |
//! | `leader_faults` | faults that wait for a moment in the life of a leader          |
//! | `rare`     | recognises rare paths                                               |
//! | `shown`    | shows the judges what replicas do                                   |
//! | `standing` | what elections of a group depend on                                 |
//! | `letters`  | letters leave and arrive                                            |
//! | `minority` | who may stay away while the rest still decides                      |
//! | `operator` | removes members that are gone or lost their disk, adds those that wait |
//! | `workers_and_clients` | those outside of the group                                                |

mod founding;
mod leader_faults;
mod letters;
mod lives;
mod minority;
mod operator;
mod rare;
mod shown;
mod standing;
mod work;
mod workers_and_clients;

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_cluster::bugs::Bugs;
use hyperscale_consensus::{Config, DirectoryId};
use hyperscale_types::Role;

use super::{Happening, Shape, World};
use crate::jobs::client::Orders;
use crate::log::Host;
use crate::log::disk::Frailty;
use crate::moment::Moment;

pub(super) use leader_faults::ArmedFault;
pub(super) use letters::connection_of;
pub use minority::{Absence, Absent};
pub(super) use operator::ROUND as OPERATOR_ROUND;

/// How the log of a world is made. A world without it has membership only.
#[derive(Clone, Debug)]
pub struct LogSetup {
    /// Settings of the groups of managers; gates take the times of those for wide areas.
    pub config: Config,
    /// What power losses do to disks.
    pub frailty: Frailty,
    /// Deliberate bugs of managers, workers and the log.
    pub bugs: Bugs,
    /// Jobs that clients of each datacenter order.
    pub jobs: usize,
    /// From when on, and within which time.
    pub ordered: (Moment, Duration),
}

impl LogSetup {
    /// Groups as in production, without jobs.
    pub fn quiet(config: Config) -> Self {
        let ordered = (Moment::ZERO, Duration::ZERO);
        Self { config, frailty: Frailty::default(), bugs: Bugs::default(), jobs: 0, ordered }
    }

    fn config_of(&self, role: Role) -> Config {
        let lan = &self.config;
        match role {
            Role::Gate => {
                let wan = Config::wan();
                Config {
                    tick: wan.tick,
                    heartbeat: wan.heartbeat,
                    election_min: wan.election_min,
                    election_max: wan.election_max,
                    quorum_timeout: wan.quorum_timeout,
                    ..lan.clone()
                }
            }
            Role::Manager | Role::Worker => lan.clone(),
        }
    }
}

/// What the world knows of its logs.
#[derive(Debug)]
pub(super) struct LogWorld {
    setup: LogSetup,
    rng: Rng,
    /// The last entry that was applied anywhere, per group.
    frontier: BTreeMap<u8, u64>,
    /// Faults that wait for their moment in the life of a leader.
    armed: Vec<ArmedFault>,
    foundings: founding::Foundings,
    /// What recognises rare paths.
    rare: rare::Memory,
}

impl LogWorld {
    fn new_directory(&mut self) -> DirectoryId {
        let mut directory = DirectoryId::default();
        self.rng.fill(&mut directory.0);
        directory
    }
}

impl World {
    /// Makes the log a part of the world, before any node is added.
    pub(super) fn prepare_log(&mut self) {
        let Some(setup) = self.setup.log.clone() else { return };
        let mut rng = Rng::with_seed(self.setup.seed ^ 0x10c5_0f00_d000_0001);
        self.order(&mut rng, setup.jobs, setup.ordered, false);
        self.kernel.after(OPERATOR_ROUND, Happening::Operator);
        self.log = Some(LogWorld {
            setup,
            rng,
            frontier: BTreeMap::new(),
            armed: Vec::new(),
            foundings: founding::Foundings::default(),
            rare: rare::Memory::default(),
        });
    }

    /// Clients of each datacenter order so many jobs from now on, those of the gates a third; all of them must complete.
    pub fn order_jobs(&mut self, count: usize, within: Duration) {
        let Some(mut rng) = self.log.as_mut().map(|log| log.rng.fork()) else { return };
        self.order(&mut rng, count, (self.kernel.now(), within), true);
    }

    fn order(
        &mut self,
        rng: &mut Rng,
        count: usize,
        (from, within): (Moment, Duration),
        must_complete: bool,
    ) {
        let Shape { datacenters, gates, .. } = self.setup.shape;
        for cluster in 0..datacenters + u8::from(gates > 0) {
            let has_workers = cluster < datacenters;
            let count = if has_workers { count } else { count.div_ceil(3) };
            let orders = Orders { cluster, count, from, within, has_workers, must_complete };
            for client_job in self.clients.draw(rng, orders) {
                let at = self.clients.client_jobs[client_job].at;
                self.kernel.at(at, Happening::Client { client_job });
            }
        }
    }

    /// The hosts of a cluster's log whose nodes run and stay.
    pub fn hosts_of(&self, cluster: u8) -> Vec<(usize, &Host)> {
        let members = self.truth.members(cluster);
        members.filter_map(|index| Some((index, self.nodes[index].host.as_deref()?))).collect()
    }

    /// The node that leads a cluster's log and knows all that was decided.
    pub fn leader_of(&self, cluster: u8) -> Option<usize> {
        let leads = |host: &Host| host.manager().is_some_and(|manager| manager.group().is_established());
        self.hosts_of(cluster).into_iter().find(|(_, host)| leads(host)).map(|(index, _)| index)
    }

    /// All that a cluster ever had.
    fn all_hosts_of(&self, cluster: u8) -> impl Iterator<Item = (usize, &Host)> {
        let facts = self.truth.nodes.iter().enumerate();
        let members = facts.filter(move |(_, fact)| fact.cluster == cluster).map(|(index, _)| index);
        members.filter_map(|index| Some((index, self.nodes[index].host.as_deref()?)))
    }
}

#[cfg(test)]
impl World {
    /// Nodes with a log on a network without faults, all judges watching; they are about to start.
    pub(in crate::world) fn with_quiet_log(shape: Shape) -> Self {
        let setup = super::Setup {
            seed: 5,
            shape,
            config: hyperscale_swim::Config::lan(),
            weather: crate::network::Weather::fair(),
            skewed_clocks: false,
            log: Some(LogSetup::quiet(Config::lan())),
            registers: false,
            version: crate::process::Version::New,
            start_within: Duration::from_secs(1),
        };
        World::new(setup, crate::invariants::Judges::all(), crate::recorder::Recorder::off())
    }
}
