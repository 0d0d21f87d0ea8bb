//! A node of the simulated cluster, and how its number, id and address belong together.

use std::net::{Ipv4Addr, SocketAddr};

use hyperscale_consensus::Addresses;
use hyperscale_swim::federation::Federation;
use hyperscale_swim::{Peer, Swim};
use hyperscale_types::{BootEpoch, NodeId, Role};

use super::wire::Wire;
use crate::clock::Clock;
use crate::cpu::Cpu;
use crate::jobs::WorkerHost;
use crate::log::Host;

/// First address; the others follow by number.
const FIRST_ADDRESS: u32 = 0x0a00_0001;
const PORT: u16 = 7000;

/// One node: models of its machine around the cores it runs.
#[derive(Debug)]
pub struct Node {
    /// Its own clock.
    pub clock: Clock,
    /// Its processor, as far as membership has it: that runs on a thread of its own.
    pub cpu: Cpu,
    /// Its processor, as far as everything else has it.
    pub control: Cpu,
    /// Its membership core, as in production.
    pub swim: Swim,
    /// Its core for probes between clusters, in this life, if it is a manager or a gate beside other clusters.
    pub federation: Option<Box<Federation>>,
    /// Its end of the wire, in worlds that seal.
    pub wire: Option<Box<Wire>>,
    /// Its part in the replicated log, if it is a manager or a gate in a world with logs.
    pub host: Option<Box<Host>>,
    /// Its work in this life, if it is a worker in a world with logs.
    pub worker: Option<Box<WorkerHost>>,
    /// The worker of an earlier life that runs on beside the present one: a second process was started under the same id.
    pub(super) outlived: Option<(BootEpoch, Box<WorkerHost>)>,
    /// Transitions of the core that the judges have seen.
    pub(super) transitions_seen: u64,
}

/// The id of a node.
pub fn id_of(index: usize) -> NodeId {
    NodeId::new(index as u64 + 1).expect("one more than an index is not zero")
}

/// The number of the node with that id.
pub fn index_of(node: NodeId) -> usize {
    usize::try_from(node.get() - 1).unwrap_or(usize::MAX)
}

/// Where a node is reached, as its log group knows it.
pub fn addresses_of(index: usize) -> Addresses {
    Addresses { peer: address_of(index), api: None }
}

/// The address of a node.
pub fn address_of(index: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from(FIRST_ADDRESS + index as u32), PORT))
}

/// The number of the node at that address.
pub fn index_at(address: SocketAddr) -> Option<usize> {
    match address {
        SocketAddr::V4(address) => u32::from(*address.ip()).checked_sub(FIRST_ADDRESS).map(|it| it as usize),
        SocketAddr::V6(_) => None,
    }
}

/// A node as others know it.
pub fn peer_of(index: usize, role: Role) -> Peer {
    Peer { node: id_of(index), addr: address_of(index), role }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_id_and_address_belong_together() {
        for index in [0, 1, 255, 256, 70_000] {
            assert_eq!(index_of(id_of(index)), index);
            assert_eq!(index_at(address_of(index)), Some(index));
        }
        assert_eq!(index_at(SocketAddr::from(([9, 9, 9, 9], 1))), None);
    }
}
