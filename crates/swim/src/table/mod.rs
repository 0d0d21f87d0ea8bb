//! The member table: who is known, what is claimed about them, and dense lists to draw from.
//!
//! A member keeps its slot from its arrival until it is forgotten; everything else in this crate refers to it by slot.
//! Finding by id, changing a claim and drawing at random cost O(1), whatever the size of the cluster. The table never
//! decides anything: it stores claims it is given and keeps lists, counts and digest consistent with them. The node
//! itself is not in it.

mod order;
mod sample;
mod tombs;

use std::sync::Arc;

use hashbrown::HashTable;
use hyperscale_types::{NodeId, Now, Role};

pub(crate) use order::ProbeOrder;
pub(crate) use sample::sample;
pub use tombs::TOMBS_MAX;
pub(crate) use tombs::Tombs;

use crate::claim::{Claim, Status};
use crate::digest::{Digest, fingerprint, mix};
use crate::embedded::Embedded;
use crate::message::Peer;

/// Place of a member in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A member's update is not waiting to be gossiped.
pub(crate) const NOT_QUEUED: u8 = u8::MAX;

/// What is known about a member. Kept small: a cluster of n nodes holds n² of these.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) peer: Peer,
    /// Changed through [`Members::set_claim`] only, which keeps the lists.
    claim: Claim,
    /// When its status last changed.
    pub(crate) since: Now,
    /// Its entry in the deadlines; [`Now::NEVER`] without one.
    pub(crate) deadline: Now,
    pub(crate) embedded: Option<Arc<Embedded>>,
    /// Where it is in the live or the dead list.
    position: u32,
    /// How often its update was sent, or [`NOT_QUEUED`].
    pub(crate) transmissions: u8,
    /// Tries to reach it while it is unconfirmed.
    pub(crate) attempts: u8,
    /// Whether it was reached once: only then it counts for failure detection.
    pub(crate) confirmed: bool,
    /// Whether the host was warned that it cannot be reached.
    pub(crate) warned: bool,
}

impl Member {
    pub(crate) fn claim(&self) -> Claim {
        self.claim
    }

    pub(crate) fn status(&self) -> Status {
        self.claim.status
    }

    fn fingerprint(&self) -> u64 {
        let Claim { boot, incarnation, status } = self.claim;
        fingerprint(&[self.peer.node.get(), boot.0, u64::from(incarnation.0), status as u64])
    }
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    slots: Vec<Option<Member>>,
    free: Vec<Slot>,
    index: HashTable<Slot>,
    /// Alive and suspected, in no order.
    live: Vec<Slot>,
    /// Dead and remembered, in no order.
    dead: Vec<Slot>,
    /// Live managers: few, so that they can be told at once.
    managers: Vec<Slot>,
    digest: Digest,
}

impl Members {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            live: Vec::new(),
            dead: Vec::new(),
            managers: Vec::new(),
            digest: Digest::default(),
        }
    }

    pub(crate) fn find(&self, node: NodeId) -> Option<Slot> {
        self.index.find(mix(node.get()), |slot| self.get(*slot).peer.node == node).copied()
    }

    /// The member in a slot that is known to be taken.
    pub(crate) fn get(&self, slot: Slot) -> &Member {
        self.slots[slot.index()].as_ref().expect("slots are held only while their member is in the table")
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut Member {
        self.slots[slot.index()].as_mut().expect("slots are held only while their member is in the table")
    }

    /// The member in a slot that may have been freed since it was remembered.
    pub(crate) fn try_get(&self, slot: Slot) -> Option<&Member> {
        self.slots.get(slot.index())?.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.slots.iter().flatten()
    }

    /// The places of all members, whatever is known about them.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let taken = self.slots.iter().enumerate().filter(|(_, member)| member.is_some());
        taken.map(|(place, _)| Slot(place as u32))
    }

    pub(crate) fn live(&self) -> &[Slot] {
        &self.live
    }

    pub(crate) fn dead(&self) -> &[Slot] {
        &self.dead
    }

    /// One of those that left. Asked for only when the table is full, so it may look through all of it.
    pub(crate) fn first_left(&self) -> Option<Slot> {
        let left = |member: &Option<Member>| member.as_ref().is_some_and(|it| it.status() == Status::Left);
        self.slots.iter().position(left).map(|place| Slot(place as u32))
    }

    pub(crate) fn managers(&self) -> &[Slot] {
        &self.managers
    }

    /// Fingerprint of the live members. The dead are left out: each node forgets them at its own time.
    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Adds a node that is not in the table.
    pub(crate) fn insert(&mut self, peer: Peer, claim: Claim, now: Now) -> Slot {
        let member = Member {
            peer,
            claim,
            since: now,
            deadline: Now::NEVER,
            embedded: None,
            position: 0,
            transmissions: NOT_QUEUED,
            attempts: 0,
            confirmed: false,
            warned: false,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            Slot(self.slots.len() as u32 - 1)
        });
        self.slots[slot.index()] = Some(member);
        let slots = &self.slots;
        self.index.insert_unique(mix(peer.node.get()), slot, |slot| {
            mix(slots[slot.index()].as_ref().map_or(0, |member| member.peer.node.get()))
        });
        self.enlist(slot);
        slot
    }

    /// Stores a claim that was found to hold, and moves the member between the lists.
    pub(crate) fn set_claim(&mut self, slot: Slot, peer: Peer, claim: Claim, now: Now) {
        self.delist(slot);
        let member = self.get_mut(slot);
        if member.claim.status != claim.status {
            member.since = now;
        }
        member.peer = peer;
        member.claim = claim;
        self.enlist(slot);
    }

    /// Forgets a member. Its slot may be given to another.
    pub(crate) fn remove(&mut self, slot: Slot) -> Member {
        self.delist(slot);
        let node = self.get(slot).peer.node;
        let slots = &self.slots;
        let found = self.index.find_entry(mix(node.get()), |other| {
            slots[other.index()].as_ref().is_some_and(|member| member.peer.node == node)
        });
        if let Ok(entry) = found {
            entry.remove();
        }
        self.free.push(slot);
        self.slots[slot.index()].take().expect("checked by the lookup above")
    }

    fn enlist(&mut self, slot: Slot) {
        let member = self.get(slot);
        let (role, status) = (member.peer.role, member.status());
        let (node, print) = (member.peer.node.get(), member.fingerprint());
        let list = match status {
            Status::Alive | Status::Suspect => &mut self.live,
            Status::Dead => &mut self.dead,
            Status::Left => return,
        };
        list.push(slot);
        let position = list.len() as u32 - 1;
        self.get_mut(slot).position = position;
        if status.is_live() {
            self.digest.add(node, print);
            if role == Role::Manager {
                self.managers.push(slot);
            }
        }
    }

    fn delist(&mut self, slot: Slot) {
        let member = self.get(slot);
        let (role, status, position) = (member.peer.role, member.status(), member.position as usize);
        let (node, print) = (member.peer.node.get(), member.fingerprint());
        let list = match status {
            Status::Alive | Status::Suspect => &mut self.live,
            Status::Dead => &mut self.dead,
            Status::Left => return,
        };
        list.swap_remove(position);
        if let Some(moved) = list.get(position).copied() {
            self.get_mut(moved).position = position as u32;
        }
        if status.is_live() {
            self.digest.remove(node, print);
            if role == Role::Manager {
                self.managers.retain(|other| *other != slot);
            }
        }
    }
}

#[cfg(test)]
mod tests;
