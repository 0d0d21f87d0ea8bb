//! Workers register with managers, as far as membership sees it: who owns which worker, under which grant.
//!
//! Grants come from one counter here, as they come from one log in production. A worker whose owner restarted or is gone
//! looks for another; an owner notices the death of its worker after its lease.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::{Command, WorkerMembership, WorkerReport, WorkerStanding, WorkerUpdate, WorkerVersion};
use hyperscale_types::{BootEpoch, Role, Token};

use super::node::{address_of, id_of, index_of};
use super::{Happening, World};
use crate::moment::Moment;

/// How often workers and owners look.
pub(super) const ROUND: Duration = Duration::from_secs(1);
/// How long an owner waits for a worker that is gone.
const LEASE: Duration = Duration::from_secs(15);

/// Who owns a worker.
#[derive(Clone, Copy, Debug)]
struct Ownership {
    owner: usize,
    owner_boot: BootEpoch,
    worker_boot: BootEpoch,
    grant: Token,
    gone_since: Option<Moment>,
}

/// All workers that registered.
#[derive(Debug, Default)]
pub(super) struct Registry {
    owners: BTreeMap<usize, Ownership>,
    grants: u64,
    /// Owners say only what has to be said.
    pub(super) is_silent: bool,
}

impl World {
    pub(super) fn registry_round(&mut self) {
        self.kernel.after(ROUND, Happening::Registry);
        for worker in 0..self.truth.nodes.len() {
            if self.truth.nodes[worker].role == Role::Worker {
                self.attend(worker);
            }
        }
    }

    fn attend(&mut self, worker: usize) {
        let known = self.registry.owners.get(&worker).copied();
        let lives = self.truth.stays(worker);
        match known {
            None if lives => self.register(worker),
            Some(it) if lives && !self.still_holds(worker, it) => self.register(worker),
            // Silent once everything is healed: then only comparing views can repair what was lost.
            Some(it) if lives && !self.registry.is_silent && self.rng.u8(..) < 40 => {
                self.report(worker, it, WorkerMembership::Registered);
            }
            Some(_) if lives => {}
            Some(it) => self.worker_gone(worker, it),
            None => {}
        }
    }

    fn still_holds(&self, worker: usize, it: Ownership) -> bool {
        let boot = self.truth.nodes[worker].process.boot;
        boot == it.worker_boot && self.truth.lives(id_of(it.owner), it.owner_boot)
    }

    fn register(&mut self, worker: usize) {
        if let Some(ownership) = self.grant(worker) {
            self.registry.owners.insert(worker, ownership);
            self.report(worker, ownership, WorkerMembership::Registered);
        }
    }

    /// Any manager that runs becomes the owner.
    fn grant(&mut self, worker: usize) -> Option<Ownership> {
        let cluster = self.truth.nodes[worker].cluster;
        let managers: Vec<usize> = self.truth.members_with(cluster, Role::Manager).collect();
        let owner = *managers.get(self.rng.usize(..managers.len().max(1)))?;
        self.registry.grants += 1;
        Some(Ownership {
            owner,
            owner_boot: self.truth.nodes[owner].process.boot,
            worker_boot: self.truth.nodes[worker].process.boot,
            grant: Token(self.registry.grants),
            gone_since: None,
        })
    }

    fn worker_gone(&mut self, worker: usize, it: Ownership) {
        let now = self.kernel.now();
        let since = it.gone_since.unwrap_or(now);
        if now.since(since) < LEASE {
            let waiting = Ownership { gone_since: Some(since), ..it };
            self.registry.owners.insert(worker, waiting);
            return;
        }
        let owner_lives = self.truth.lives(id_of(it.owner), it.owner_boot);
        let (speaker, ending) = match (owner_lives, self.truth.nodes[worker].leaving) {
            (true, true) => (Some(it), WorkerMembership::Left),
            (true, false) => (Some(it), WorkerMembership::Dead),
            // Both are gone: somebody else has to say so, under a grant of its own.
            (false, _) => (self.grant(worker), WorkerMembership::Evicted),
        };
        let Some(speaker) = speaker else { return };
        let told = self.nodes[speaker.owner].swim.worker(id_of(worker));
        if told.is_some_and(|view| view.standing == WorkerStanding::Gone) {
            self.registry.owners.remove(&worker);
            return;
        }
        // Said again in the next round: the owner may end before it hears of it.
        let gone_since = Some(since);
        self.registry.owners.insert(worker, Ownership { gone_since, ..speaker });
        self.report(worker, speaker, ending);
    }

    /// A manager hears that it owned a worker in an earlier life. Grants end with the life they were given in, so it says
    /// that it does not own it any more; the worker registers anew if it lives.
    pub(super) fn inherit(&mut self, owner: usize, update: &WorkerUpdate) {
        let (owner_boot, worker) = (self.truth.nodes[owner].process.boot, index_of(update.worker));
        let WorkerVersion { boot: worker_boot, grant, .. } = update.version;
        let disowned = Ownership { owner, owner_boot, worker_boot, grant, gone_since: None };
        self.report(worker, disowned, WorkerMembership::Evicted);
    }

    fn report(&mut self, worker: usize, it: Ownership, membership: WorkerMembership) {
        let report = WorkerReport {
            worker: id_of(worker),
            boot: it.worker_boot,
            grant: it.grant,
            addr: address_of(worker),
            api_addr: None,
            membership,
            cores_total: 8,
            cores_available: self.rng.u16(0..=8),
            datacenter: "dc".into(),
        };
        let command = Command::Worker(report);
        let at = self.kernel.now().plus(Duration::from_millis(1));
        self.kernel.at(at, Happening::Command { node: it.owner, boot: it.owner_boot, command });
    }
}
