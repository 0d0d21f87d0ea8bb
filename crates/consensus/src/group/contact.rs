//! What is known of peers beside the log: when each was last heard of, which snapshots are on their way to them, what they
//! lack, and who newer members are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::check::MessageRefusal;
use crate::id::RaftId;
use crate::message::{Configuration, Member};
use crate::roster::Roster;

/// A snapshot that was not answered for this long is sent again.
pub(super) const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(10);

/// Most members that others vouch for while this replica's log does not name them; the oldest are forgotten first.
pub const VOUCHED_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Contacts {
    heard: BTreeMap<RaftId, Now>,
    /// Peers that said they lack blobs which their state names.
    lacking: BTreeSet<RaftId>,
    snapshots: BTreeMap<RaftId, Now>,
    vouched: BTreeMap<RaftId, NodeId>,
    refused: BTreeMap<MessageRefusal, u64>,
}

impl Contacts {
    /// Somebody spoke. Only members are remembered: messages of ids that this replica has not heard of yet are taken too, and
    /// there is no end to those.
    pub(super) fn heard(&mut self, peer: RaftId, now: Now, members: &Configuration) {
        if members.contains(peer) {
            self.heard.insert(peer, now);
        }
    }

    /// A member says whether it lacks blobs that its state names.
    pub(super) fn set_lacking(&mut self, peer: RaftId, lacks_blobs: bool, members: &Configuration) {
        if lacks_blobs && members.contains(peer) {
            self.lacking.insert(peer);
        } else {
            self.lacking.remove(&peer);
        }
    }

    pub(super) fn lacks_blobs(&self, peer: RaftId) -> bool {
        self.lacking.contains(&peer)
    }

    /// Whether a snapshot is on its way to that peer.
    pub(super) fn awaits_snapshot(&self, peer: RaftId) -> bool {
        self.snapshots.contains_key(&peer)
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

    /// A member says that these are members too. Only those count that the log does not know yet.
    pub(super) fn vouch(&mut self, members: &[Member], roster: &Roster) {
        self.vouched.extend(members.iter().map(|member| (member.raft_id, member.node)));
        self.vouched.retain(|id, _| roster.is_beyond(*id));
        while self.vouched.len() > VOUCHED_MAX {
            self.vouched.pop_first();
        }
    }

    /// Members that others vouch for.
    pub(super) fn vouched(&self) -> &BTreeMap<RaftId, NodeId> {
        &self.vouched
    }

    /// A message was refused.
    pub(super) fn count_refusal(&mut self, refusal: MessageRefusal) {
        *self.refused.entry(refusal).or_default() += 1;
    }

    /// How many messages were refused, by reason.
    pub(super) fn refused(&self) -> &BTreeMap<MessageRefusal, u64> {
        &self.refused
    }

    pub(super) fn forget_others(&mut self, is_member: impl Fn(RaftId) -> bool) {
        self.heard.retain(|id, _| is_member(*id));
        self.snapshots.retain(|id, _| is_member(*id));
        self.lacking.retain(|id| is_member(*id));
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_types::BootEpoch;

    use super::*;
    use crate::id::DirectoryId;
    use crate::message::Addresses;

    #[test]
    fn strangers_are_not_remembered() {
        let members = Configuration { voters: vec![RaftId::FIRST], ..Configuration::default() };
        let mut contacts = Contacts::default();
        for number in 1..=10_000 {
            contacts.heard(RaftId::new(number).unwrap(), Now::ZERO, &members);
        }
        assert_eq!(contacts.heard.into_keys().collect::<Vec<_>>(), [RaftId::FIRST]);
    }

    #[test]
    fn members_that_others_vouch_for_are_bounded_and_forgotten_once_the_log_knows() {
        let member = |number: u64| Member {
            raft_id: RaftId::new(number).unwrap(),
            node: NodeId::new(number).unwrap(),
            directory: DirectoryId([number as u8; 16]),
            addresses: Addresses::example(number as u8),
            boot: BootEpoch(0),
        };
        let mut contacts = Contacts::default();
        contacts.vouch(&(1..=100).map(member).collect::<Vec<_>>(), &Roster::default());
        assert_eq!(contacts.vouched.len(), VOUCHED_MAX);
        let founders = (1..=99).map(|number| (member(number).node, member(number).founder())).collect();
        contacts.vouch(&[], &Roster::founding(&founders));
        assert_eq!(contacts.vouched.into_keys().map(RaftId::get).collect::<Vec<_>>(), [100]);
    }
}
