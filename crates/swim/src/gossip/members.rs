//! Membership updates that wait to be gossiped.
//!
//! Only slots wait here; what is sent is made from the table at that moment. The number of transmissions is kept with
//! the member, so that a newer claim starts over by resetting it.

use super::rounds::{Offer, Rounds};
use crate::table::{Members, NOT_QUEUED, Slot};

/// Updates that may wait at most. Beyond the limit the most transmitted is dropped and counted; anti-entropy carries it then.
pub const MEMBER_UPDATES_MAX: usize = 4096;

#[derive(Clone, Debug)]
pub(crate) struct MemberQueue {
    rounds: Rounds<Slot>,
    /// Updates waiting, stale entries not counted.
    waiting: usize,
    /// How many may.
    most: usize,
}

impl MemberQueue {
    pub(crate) fn new(most: usize) -> Self {
        Self { rounds: Rounds::new(), waiting: 0, most }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting
    }

    /// Puts the member's newest claim up for gossip; the number of updates dropped for it.
    pub(crate) fn push(&mut self, members: &mut Members, slot: Slot) -> u64 {
        let member = members.get_mut(slot);
        match std::mem::replace(&mut member.transmissions, 0) {
            NOT_QUEUED => self.waiting += 1,
            // Not sent yet: its entry serves the newer claim.
            0 => return 0,
            _ => {}
        }
        self.rounds.push(slot);
        self.shrink(members)
    }

    /// Takes a member out, because it is forgotten.
    pub(crate) fn forget(&mut self, members: &mut Members, slot: Slot) {
        if std::mem::replace(&mut members.get_mut(slot).transmissions, NOT_QUEUED) != NOT_QUEUED {
            self.waiting -= 1;
        }
    }

    /// Offers slots, least sent first; `take` answers what became of the update.
    pub(crate) fn offer(
        &mut self,
        members: &mut Members,
        times: u8,
        mut take: impl FnMut(&Members, Slot) -> Offer,
    ) {
        let waiting = &mut self.waiting;
        self.rounds.offer(times, |slot, sent| {
            if members.try_get(slot).is_none_or(|member| member.transmissions != sent) {
                return Offer::Stale;
            }
            let offer = take(members, slot);
            if offer != Offer::Taken {
                return offer;
            }
            let member = members.get_mut(slot);
            member.transmissions = if sent + 1 < times { sent + 1 } else { NOT_QUEUED };
            *waiting -= usize::from(member.transmissions == NOT_QUEUED);
            Offer::Taken
        });
    }

    fn shrink(&mut self, members: &mut Members) -> u64 {
        let mut dropped = 0;
        while self.rounds.len() > self.most {
            let Some((slot, sent)) = self.rounds.drop_most_sent() else { break };
            if members.try_get(slot).is_some_and(|member| member.transmissions == sent) {
                self.forget(members, slot);
                dropped += 1;
            }
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use hyperscale_types::{BootEpoch, NodeId, Now, Role};

    use super::*;
    use crate::claim::{Claim, Incarnation};
    use crate::message::Peer;

    fn members(count: u64) -> (Members, Vec<Slot>) {
        let mut members = Members::new();
        let slots = (1..=count)
            .map(|number| {
                let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
                let peer = Peer { node: NodeId::new(number).unwrap(), addr, role: Role::Worker };
                members.insert(peer, Claim::alive(BootEpoch(1), Incarnation(0)), Now::ZERO)
            })
            .collect();
        (members, slots)
    }

    fn draw(queue: &mut MemberQueue, members: &mut Members, room: usize) -> Vec<Slot> {
        let mut drawn = Vec::new();
        queue.offer(members, 12, |_, slot| {
            let fits = drawn.len() < room;
            drawn.extend(fits.then_some(slot));
            if fits { Offer::Taken } else { Offer::NoRoom }
        });
        drawn
    }

    #[test]
    fn update_is_sent_exactly_its_number_of_times() {
        let (mut members, slots) = members(3);
        let mut queue = MemberQueue::new(MEMBER_UPDATES_MAX);
        for slot in &slots {
            assert_eq!(queue.push(&mut members, *slot), 0);
        }
        let mut sent = [0; 3];
        while !queue.is_empty() {
            for slot in draw(&mut queue, &mut members, 2) {
                sent[slot.index()] += 1;
            }
        }
        assert_eq!(sent, [12; 3]);
    }

    #[test]
    fn update_that_is_not_for_a_receiver_is_sent_as_often_as_any_other() {
        let (mut members, slots) = members(2);
        let mut queue = MemberQueue::new(MEMBER_UPDATES_MAX);
        for slot in &slots {
            queue.push(&mut members, *slot);
        }
        let mut sent = 0;
        for datagram in 0..1000 {
            queue.offer(&mut members, 12, |_, slot| {
                if slot == slots[0] && datagram % 3 != 0 {
                    return Offer::Passed;
                }
                sent += usize::from(slot == slots[0]);
                Offer::Taken
            });
        }
        assert_eq!((sent, queue.is_empty()), (12, true));
    }

    #[test]
    fn newer_claim_starts_over() {
        let (mut members, slots) = members(1);
        let mut queue = MemberQueue::new(MEMBER_UPDATES_MAX);
        queue.push(&mut members, slots[0]);
        for _ in 0..11 {
            assert_eq!(draw(&mut queue, &mut members, 1).len(), 1);
        }
        queue.push(&mut members, slots[0]);
        let again = (0..99).take_while(|_| !draw(&mut queue, &mut members, 1).is_empty()).count();
        assert_eq!(again, 12);
        assert!(queue.is_empty());
    }

    #[test]
    fn forgotten_member_is_not_sent() {
        let (mut members, slots) = members(2);
        let mut queue = MemberQueue::new(MEMBER_UPDATES_MAX);
        for slot in &slots {
            queue.push(&mut members, *slot);
        }
        queue.forget(&mut members, slots[0]);
        members.remove(slots[0]);
        assert_eq!(draw(&mut queue, &mut members, 9), [slots[1]]);
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn full_queue_drops_the_most_transmitted_and_counts_it() {
        let (mut members, slots) = members(74);
        let mut queue = MemberQueue::new(64);
        queue.push(&mut members, slots[0]);
        draw(&mut queue, &mut members, 1);
        let dropped: u64 = slots[1..].iter().map(|slot| queue.push(&mut members, *slot)).sum();
        assert_eq!(dropped, 10);
        assert_eq!(queue.len(), 64);
        assert_eq!(members.get(slots[0]).transmissions, NOT_QUEUED);
    }
}
