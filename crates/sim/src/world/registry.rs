//! What managers tell membership about workers: what their replicas have applied, and nothing else.
//!
//! | the replica says                         | membership knows                   | the manager tells                 |
//! | ---------------------------------------- | ---------------------------------- | --------------------------------- |
//! | this manager owns the worker             | nothing, or an older token          | registered, under the owner token |
//! | this manager owns the worker             | it                                 | now and then its free cores       |
//! | the grant of this boot has ended         | registered, owned by this manager  | dead, or left                     |
//! | the grant of this boot has ended         | registered, owned by another       | that it is over                   |
//!
//! A replica that is behind says nothing of tokens that it has not applied yet.

use std::time::Duration;

use hyperscale_consensus::register::Worker;
use hyperscale_swim::{Command, WorkerMembership, WorkerReport, WorkerUpdate};
use hyperscale_types::{NodeId, Role};

use super::node::{address_of, id_of, index_of};
use super::{Happening, World};

/// How often managers compare.
pub(super) const ROUND: Duration = Duration::from_secs(1);
/// One of so many looks at a worker is told though nothing but its free cores may have changed.
const CAPACITY_ONE_OF: u8 = 6;

/// How the managers of a world tell.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// Owners say only what has to be said.
    pub(super) is_silent: bool,
}

impl World {
    pub(super) fn registry_round(&mut self) {
        self.kernel.after(ROUND, Happening::Registry);
        for node in 0..self.truth.nodes.len() {
            match self.truth.nodes[node].role {
                Role::Manager if self.truth.runs(node) => self.tell_of_workers(node),
                Role::Worker if self.truth.runs(node) => self.reach_managers(node),
                _ => {}
            }
        }
    }

    fn tell_of_workers(&mut self, manager: usize) {
        let (boot, at) = (self.truth.nodes[manager].process.boot, self.kernel.now());
        for command in self.news_of_workers(manager) {
            self.kernel.at(at, Happening::Command { node: manager, boot, command });
        }
    }

    fn news_of_workers(&mut self, manager: usize) -> Vec<Command> {
        let Some(driver) = self.nodes[manager].host.as_deref().and_then(|host| host.manager()) else {
            return Vec::new();
        };
        let (register, me) = (driver.group().machine().register(), id_of(manager));
        let (applied, swim) = (driver.group().applied().0, &self.nodes[manager].swim);
        let mut news = Vec::new();
        for (worker, it) in register.workers() {
            let Some((_, token)) = it.owner.filter(|(owner, _)| *owner == me) else { continue };
            let is_told = swim.worker(*worker).is_some_and(|view| {
                let version = view.update.version;
                (version.boot, version.owner_token) == (it.boot, token)
                    && view.update.membership == WorkerMembership::Registered
            });
            // Silent once everything is healed: then only comparing views can repair what was lost.
            if !is_told || !self.registry.is_silent && self.rng.u8(..CAPACITY_ONE_OF) == 0 {
                news.push(Command::Worker(registered(*worker, it)));
            }
        }
        for view in swim.workers() {
            let (update, version) = (view.update, view.update.version);
            let has_grant = register.worker(update.worker).is_some_and(|it| it.boot == version.boot);
            if version.owner_token.0 > applied
                || has_grant
                || update.membership != WorkerMembership::Registered
            {
                continue;
            }
            news.push(if update.owner == me {
                let is_leaving = self.truth.nodes[index_of(update.worker)].leaving;
                Command::Worker(ended(update, is_leaving))
            } else {
                Command::WorkerOver { worker: update.worker, boot: version.boot }
            });
        }
        news
    }
}

fn registered(worker: NodeId, it: &Worker) -> WorkerReport {
    WorkerReport {
        worker,
        boot: it.boot,
        owner_token: it.owner_token(),
        addr: address_of(index_of(worker)),
        api_addr: None,
        membership: WorkerMembership::Registered,
        cores_total: it.cores as u16,
        cores_available: it.free() as u16,
        datacenter: "dc".into(),
    }
}

fn ended(update: &WorkerUpdate, is_leaving: bool) -> WorkerReport {
    WorkerReport {
        worker: update.worker,
        boot: update.version.boot,
        owner_token: update.version.owner_token,
        addr: update.addr,
        api_addr: update.api_addr,
        membership: if is_leaving { WorkerMembership::Left } else { WorkerMembership::Dead },
        cores_total: update.cores_total,
        cores_available: 0,
        datacenter: update.datacenter.clone(),
    }
}
