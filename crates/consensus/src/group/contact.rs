//! When each peer was last heard of, and which snapshots are on their way.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::Now;

use crate::id::RaftId;
use crate::message::Configuration;

/// A snapshot that was not answered for this long is sent again.
pub(super) const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Contacts {
    heard: BTreeMap<RaftId, Now>,
    snapshots: BTreeMap<RaftId, Now>,
}

impl Contacts {
    /// Somebody spoke. Only members are remembered: messages of ids that this replica has not heard of yet are taken too, and
    /// there is no end to those.
    pub(super) fn heard(&mut self, peer: RaftId, now: Now, members: &Configuration) {
        if members.contains(peer) {
            self.heard.insert(peer, now);
        }
    }

    pub(super) fn is_heard(&self, peer: RaftId, now: Now, within: Duration) -> bool {
        self.heard.get(&peer).is_some_and(|heard| now.since(*heard) < within)
    }

    pub(super) fn snapshot_sent(&mut self, peer: RaftId, now: Now) {
        self.snapshots.insert(peer, now);
    }

    pub(super) fn snapshot_settled(&mut self, peer: RaftId) {
        self.snapshots.remove(&peer);
    }

    /// Peers whose snapshot must have got lost: sent long ago, and raft-rs still waits for it. An answer proves nothing; it
    /// may be to something older.
    pub(super) fn overdue_snapshots(&mut self, now: Now, is_awaited: impl Fn(RaftId) -> bool) -> Vec<RaftId> {
        self.snapshots.retain(|id, _| is_awaited(*id));
        let overdue = |(id, sent): (&RaftId, &Now)| (now.since(*sent) >= SNAPSHOT_PATIENCE).then_some(*id);
        self.snapshots.iter().filter_map(overdue).collect()
    }

    pub(super) fn forget_others(&mut self, is_member: impl Fn(RaftId) -> bool) {
        self.heard.retain(|id, _| is_member(*id));
        self.snapshots.retain(|id, _| is_member(*id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_not_remembered() {
        let members = Configuration { voters: vec![RaftId::FIRST], ..Configuration::default() };
        let mut contacts = Contacts::default();
        for number in 1..=10_000 {
            contacts.heard(RaftId::new(number).unwrap(), Now::ZERO, &members);
        }
        assert_eq!(contacts.heard.into_keys().collect::<Vec<_>>(), [RaftId::FIRST]);
    }
}
