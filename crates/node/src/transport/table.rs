//! Which links there are, where nodes listen, and how dialling went so far.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Outgoing;
use hyperscale_wire::hello::Peer;
use hyperscale_wire::table::BoundedMap;
use tokio::sync::mpsc;

use super::dial::Dial;
use super::event::{Destination, NotSent};
use super::options::Timing;
use super::tries::Tries;

/// Messages that a link has not taken yet: what a host says in one turn of its loop, as an open link takes them at once and
/// limits them by class and bytes. One that is being dialled takes none.
pub(super) const LINK_QUEUE_MAX: usize = 4_096;
/// Links at a time: two lanes to every worker of a large datacenter, each dialled from both ends.
const LINKS_MAX: usize = 65_536;
/// Links that one peer may have opened on one lane; the oldest one makes room. One is in use, another may be dying.
const ACCEPTED_PER_PEER_MAX: usize = 4;
/// Nodes whose address is remembered: all members and workers of a datacenter; the one not used for longest makes room.
const ADDRESSES_MAX: usize = 131_072;

/// A link of this process. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LinkId(u64);

/// Who opened a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// This node, to this address.
    Dialled(SocketAddr),
    /// The peer.
    Accepted,
}

/// What became of a message.
#[expect(clippy::large_enum_variant, reason = "looked at where it is made")]
pub(super) enum Offered {
    /// It is in the queue of a link.
    Taken,
    /// The queue of the link is full.
    Full,
    /// There is no link.
    NoLink(Outgoing),
}

#[derive(Debug)]
struct Entry {
    lane: Lane,
    origin: Origin,
    /// Dropped with the entry, which ends the link.
    queue: mpsc::Sender<Outgoing>,
    /// Once it is known.
    node: Option<NodeId>,
    /// Once it is open.
    boot: Option<BootEpoch>,
}

/// All links of a node.
#[derive(Debug)]
pub(super) struct Table {
    last: u64,
    links: BTreeMap<LinkId, Entry>,
    /// In the order they were opened.
    by_node: BTreeMap<(NodeId, Lane), Vec<LinkId>>,
    by_address: BTreeMap<(SocketAddr, Lane), LinkId>,
    addresses: BoundedMap<NodeId, SocketAddr>,
    pub(super) tries: Tries,
}

impl Table {
    pub(super) fn new(timing: Timing, seed: u64) -> Self {
        Self {
            last: 0,
            links: BTreeMap::new(),
            by_node: BTreeMap::new(),
            by_address: BTreeMap::new(),
            addresses: BoundedMap::new(ADDRESSES_MAX),
            tries: Tries::new(timing, seed),
        }
    }

    pub(super) fn know(&mut self, node: NodeId, address: SocketAddr) {
        self.addresses.insert(node, address);
    }

    pub(super) fn suggest(&mut self, node: NodeId, address: SocketAddr) {
        self.addresses.get_or_insert_with(&node, || address);
    }

    pub(super) fn is_connected(&self, node: NodeId, lane: Lane) -> bool {
        self.links_of(node, lane).any(|(_, entry)| entry.boot.is_some())
    }

    pub(super) fn is_full(&self) -> bool {
        self.links.len() >= LINKS_MAX
    }

    pub(super) fn has_link(&self, to: Destination, lane: Lane) -> bool {
        self.link_to(to, lane).is_some()
    }

    /// Puts a message into the queue of the link to a destination.
    pub(super) fn offer(&mut self, to: Destination, lane: Lane, outgoing: Outgoing) -> Offered {
        let Some(entry) = self.link_to(to, lane).and_then(|id| self.links.get(&id)) else {
            return Offered::NoLink(outgoing);
        };
        match entry.queue.try_send(outgoing) {
            Ok(()) => Offered::Taken,
            Err(mpsc::error::TrySendError::Full(_)) => Offered::Full,
            // Its task is about to remove it.
            Err(mpsc::error::TrySendError::Closed(outgoing)) => Offered::NoLink(outgoing),
        }
    }

    /// The link that messages take: one that this node dialled, else the newest of the peer's.
    fn link_to(&self, to: Destination, lane: Lane) -> Option<LinkId> {
        let node = match to {
            Destination::Address(address) => return self.by_address.get(&(address, lane)).copied(),
            Destination::Node(node) => node,
        };
        let is_dialled = |(_, entry): &(LinkId, &Entry)| matches!(entry.origin, Origin::Dialled(_));
        let dialled = self.links_of(node, lane).find(is_dialled);
        dialled.or_else(|| self.links_of(node, lane).last()).map(|(id, _)| id)
    }

    fn links_of(&self, node: NodeId, lane: Lane) -> impl Iterator<Item = (LinkId, &Entry)> {
        let ids = self.by_node.get(&(node, lane)).into_iter().flatten();
        ids.filter_map(|id| Some((*id, self.links.get(id)?)))
    }

    /// Begins a link to a destination.
    pub(super) fn begin(
        &mut self,
        to: Destination,
        lane: Lane,
        first: Option<Outgoing>,
    ) -> Result<Dial, NotSent> {
        if self.is_full() {
            return Err(NotSent::TooManyLinks);
        }
        let (node, address) = match to {
            Destination::Address(address) => (None, address),
            Destination::Node(node) => {
                (Some(node), *self.addresses.get_mut(&node).ok_or(NotSent::NoAddress)?)
            }
        };
        let (queue, messages) = mpsc::channel(LINK_QUEUE_MAX);
        if let Some(first) = first {
            queue.try_send(first).map_err(|_| NotSent::Full)?;
        }
        let origin = Origin::Dialled(address);
        let id = self.insert(Entry { lane, origin, queue, node, boot: None });
        match to {
            Destination::Address(address) => {
                self.by_address.insert((address, lane), id);
            }
            Destination::Node(node) => self.by_node.entry((node, lane)).or_default().push(id),
        }
        let pause = self.tries.pause(address);
        Ok(Dial { id, to, address, lane, messages, pause })
    }

    fn insert(&mut self, entry: Entry) -> LinkId {
        self.last += 1;
        let id = LinkId(self.last);
        self.links.insert(id, entry);
        id
    }

    /// A link that this node dialled is open. `false`: it is of a former life of its peer.
    pub(super) fn admit_dialled(&mut self, id: LinkId, peer: &Peer) -> bool {
        let Some(Entry { lane, origin, .. }) = self.links.get(&id) else { return false };
        let (lane, origin) = (*lane, *origin);
        if !self.begin_life(peer) {
            return false;
        }
        if let Origin::Dialled(address) = origin {
            self.know(peer.node, address);
            self.tries.succeeded(address);
        }
        if let Some(entry) = self.links.get_mut(&id) {
            (entry.node, entry.boot) = (Some(peer.node), Some(peer.boot));
        }
        let ids = self.by_node.entry((peer.node, lane)).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
        true
    }

    /// A link that a peer opened is open; its queue. `None`: it is of a former life of its peer.
    pub(super) fn admit_accepted(
        &mut self,
        peer: &Peer,
        lane: Lane,
    ) -> Option<(LinkId, mpsc::Receiver<Outgoing>)> {
        if !self.begin_life(peer) {
            return None;
        }
        if let Ok(address) = peer.said.peer_address.parse() {
            self.know(peer.node, address);
        }
        let is_accepted = |(id, entry): (LinkId, &Entry)| (entry.origin == Origin::Accepted).then_some(id);
        let accepted: Vec<LinkId> = self.links_of(peer.node, lane).filter_map(is_accepted).collect();
        if accepted.len() >= ACCEPTED_PER_PEER_MAX {
            accepted.first().map(|oldest| self.remove(*oldest));
        }
        let (queue, messages) = mpsc::channel(LINK_QUEUE_MAX);
        let (node, boot) = (Some(peer.node), Some(peer.boot));
        let id = self.insert(Entry { lane, origin: Origin::Accepted, queue, node, boot });
        self.by_node.entry((peer.node, lane)).or_default().push(id);
        Some((id, messages))
    }

    /// Ends the links to former lives of a peer; `false` if a later life of it is known.
    fn begin_life(&mut self, peer: &Peer) -> bool {
        let mut former = Vec::new();
        for lane in [Lane::Control, Lane::Bulk] {
            for (id, boot) in self.links_of(peer.node, lane).filter_map(|(id, entry)| Some((id, entry.boot?)))
            {
                match boot.cmp(&peer.boot) {
                    std::cmp::Ordering::Less => former.push(id),
                    std::cmp::Ordering::Equal => {}
                    std::cmp::Ordering::Greater => return false,
                }
            }
        }
        for id in former {
            self.remove(id);
        }
        true
    }

    /// Forgets a link, which ends it. Returns whether another one to the same life of the node is open on its lane.
    pub(super) fn remove(&mut self, id: LinkId) -> bool {
        let Some(entry) = self.links.remove(&id) else { return false };
        if let Origin::Dialled(address) = entry.origin {
            let key = (address, entry.lane);
            if self.by_address.get(&key) == Some(&id) {
                self.by_address.remove(&key);
            }
        }
        let Some(node) = entry.node else { return false };
        let key = (node, entry.lane);
        if let Some(ids) = self.by_node.get_mut(&key) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_node.remove(&key);
            }
        }
        self.links_of(node, entry.lane).any(|(_, other)| other.boot.is_some() && other.boot == entry.boot)
    }

    /// Ends every link to a node.
    pub(super) fn evict(&mut self, node: NodeId) {
        for lane in [Lane::Control, Lane::Bulk] {
            let ids: Vec<LinkId> = self.links_of(node, lane).map(|(id, _)| id).collect();
            for id in ids {
                self.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
