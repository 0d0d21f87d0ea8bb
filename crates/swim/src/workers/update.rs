//! What an owner says about a worker.

use std::net::SocketAddr;

use hyperscale_types::{BootEpoch, NodeId, Token};

use crate::digest::fingerprint;

/// Order of updates about one worker, across owners. The derived order is the precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerVersion {
    /// The worker's life.
    pub boot: BootEpoch,
    /// The token of the committed `WorkerOwner` under which its owner speaks. Not that of the lease.
    pub owner_token: Token,
    /// Raised by the owner with every update.
    pub counter: u64,
}

/// What became of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkerMembership {
    /// Registered with its owner.
    Registered,
    /// Its owner saw it die.
    Dead,
    /// Its owner threw it out.
    Evicted,
    /// It left.
    Left,
}

/// One update, as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerUpdate {
    /// Whom it is about.
    pub worker: NodeId,
    /// The manager it registered with, who alone may say this.
    pub owner: NodeId,
    /// Orders updates.
    pub version: WorkerVersion,
    /// Address of its datagrams and streams.
    pub addr: SocketAddr,
    /// Address of its HTTP API.
    pub api_addr: Option<SocketAddr>,
    /// What became of it.
    pub membership: WorkerMembership,
    /// Cores it has.
    pub cores_total: u16,
    /// Cores nothing runs on.
    pub cores_available: u16,
    /// Name of the datacenter it runs in.
    pub datacenter: Box<str>,
}

impl WorkerUpdate {
    pub(crate) fn fingerprint(&self) -> u64 {
        let version = self.version;
        fingerprint(&[self.worker.get(), version.boot.0, version.owner_token.0, version.counter])
    }
}

/// What an owner tells its core about one of its workers; the core adds owner and counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerReport {
    /// Whom it is about.
    pub worker: NodeId,
    /// The worker's life.
    pub boot: BootEpoch,
    /// The token of the committed `WorkerOwner` by which this manager owns it.
    pub owner_token: Token,
    /// Address of its datagrams and streams.
    pub addr: SocketAddr,
    /// Address of its HTTP API.
    pub api_addr: Option<SocketAddr>,
    /// What became of it.
    pub membership: WorkerMembership,
    /// Cores it has.
    pub cores_total: u16,
    /// Cores nothing runs on.
    pub cores_available: u16,
    /// Name of the datacenter it runs in.
    pub datacenter: Box<str>,
}

/// A worker as it is shown and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStanding {
    /// Registered with a living owner: may get work.
    Owned,
    /// Its owner is gone; it gets no new work until it registers with another.
    Unowned,
    /// Dead, evicted or left.
    Gone,
}

/// A worker in the view of this manager.
#[derive(Clone, Copy, Debug)]
pub struct WorkerView<'a> {
    /// The newest that its owner said.
    pub update: &'a WorkerUpdate,
    /// Whether it may get work, by its update and its owner.
    pub standing: WorkerStanding,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(boot: u64, owner_token: u64, counter: u64) -> WorkerVersion {
        WorkerVersion { boot: BootEpoch(boot), owner_token: Token(owner_token), counter }
    }

    proptest! {
        #[test]
        fn first_update_of_a_new_owner_is_newer_than_all_of_the_old(old in 0u64.., newer in 1u64..1000, counter: u64) {
            let token = old.min(u64::MAX - 1000);
            prop_assert!(version(1, token + newer, 1) > version(1, token, counter));
        }
    }

    #[test]
    fn restarted_worker_is_newer_under_any_owner() {
        assert!(version(2, 1, 1) > version(1, 99, 99));
    }
}
