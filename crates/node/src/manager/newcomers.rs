//! Managers that ask to join the group and that the log does not name. An operator adds them.

use std::collections::BTreeMap;

use hyperscale_consensus::{Addresses, DirectoryId};
use hyperscale_types::NodeId;

/// Managers outside of the group that are remembered; one makes room for another.
const NEWCOMERS_MAX: usize = 64;

/// A manager that is not a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newcomer {
    /// Where it is reached, as it says itself.
    pub addresses: Addresses,
    /// Its data directory, once it has asked what the group is: an empty one, for it would not ask otherwise.
    pub directory: Option<DirectoryId>,
}

/// Managers that are not members.
#[derive(Debug, Default)]
pub struct Newcomers(BTreeMap<NodeId, Newcomer>);

impl Newcomers {
    /// Those that wait to be added.
    pub fn waiting(&self) -> impl Iterator<Item = (NodeId, Addresses, DirectoryId)> {
        let waits = |(node, it): (&NodeId, &Newcomer)| Some((*node, it.addresses, it.directory?));
        self.0.iter().filter_map(waits)
    }

    /// A manager said where it is.
    pub(super) fn met(&mut self, node: NodeId, addresses: Addresses) {
        if self.0.len() >= NEWCOMERS_MAX && !self.0.contains_key(&node) {
            self.0.pop_first();
        }
        self.0.insert(node, Newcomer { addresses, directory: None });
    }

    /// A manager asked what the group is.
    pub(super) fn asked(&mut self, node: NodeId, directory: DirectoryId) {
        if let Some(newcomer) = self.0.get_mut(&node) {
            newcomer.directory = Some(directory);
        }
    }

    /// The log names it.
    pub(super) fn joined(&mut self, node: NodeId) {
        self.0.remove(&node);
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    #[test]
    fn manager_waits_once_it_has_asked_and_until_the_log_names_it() {
        let mut newcomers = Newcomers::default();
        let peer: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let (node, addresses) = (|number: u64| NodeId::new(number).unwrap(), Addresses { peer, api: None });
        newcomers.asked(node(1), DirectoryId([1; 16]));
        newcomers.met(node(1), addresses);
        assert_eq!(newcomers.waiting().count(), 0);
        newcomers.asked(node(1), DirectoryId([1; 16]));
        assert_eq!(newcomers.waiting().collect::<Vec<_>>(), [(node(1), addresses, DirectoryId([1; 16]))]);
        newcomers.joined(node(1));
        assert_eq!(newcomers.waiting().count(), 0);
        (1..=2 * NEWCOMERS_MAX as u64).for_each(|number| newcomers.met(node(number), addresses));
        assert_eq!(newcomers.0.len(), NEWCOMERS_MAX);
    }
}
