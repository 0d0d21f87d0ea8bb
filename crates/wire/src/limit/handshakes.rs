//! The cap on handshakes in progress: connections that have not shown the secret yet.

use std::collections::BTreeMap;

use hyperscale_types::Now;

use super::rates::Source;
use crate::counters::{Counters, Refusal};
use crate::limits::{HANDSHAKE_TIMEOUT, HANDSHAKES_MAX, HANDSHAKES_PER_SOURCE_MAX};

/// A handshake in progress. Given back with [`Handshakes::end`], whatever became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandshakeSlot(u64);

/// Too many handshakes are in progress, of all or of this source. The connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many handshakes in progress")]
pub struct HandshakesFull;

/// All handshakes in progress of a node.
#[derive(Debug, Default)]
pub struct Handshakes {
    next: u64,
    slots: BTreeMap<HandshakeSlot, (Now, Source)>,
    per_source: BTreeMap<Source, usize>,
}

impl Handshakes {
    /// Asks for a slot, before anything is read from the connection.
    pub fn begin(
        &mut self,
        now: Now,
        source: Source,
        counters: &mut Counters,
    ) -> Result<HandshakeSlot, HandshakesFull> {
        let from_source = self.per_source.entry(source).or_default();
        if self.slots.len() >= HANDSHAKES_MAX || *from_source >= HANDSHAKES_PER_SOURCE_MAX {
            if *from_source == 0 {
                self.per_source.remove(&source);
            }
            counters.refuse(Refusal::HandshakesFull);
            return Err(HandshakesFull);
        }
        *from_source += 1;
        self.next += 1;
        let slot = HandshakeSlot(self.next);
        self.slots.insert(slot, (now, source));
        Ok(slot)
    }

    /// The handshake succeeded, failed or was dropped.
    pub fn end(&mut self, slot: HandshakeSlot) {
        let Some((_, source)) = self.slots.remove(&slot) else { return };
        if let Some(count) = self.per_source.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.per_source.remove(&source);
            }
        }
    }

    /// Takes back the slots of those that took too long; their connections must be closed.
    pub fn expire(&mut self, now: Now, counters: &mut Counters) -> Vec<HandshakeSlot> {
        // Slots are numbered in the order of their begin, so the old ones come first.
        let late = |(slot, (since, _)): (&HandshakeSlot, &(Now, Source))| {
            (now.since(*since) >= HANDSHAKE_TIMEOUT).then_some(*slot)
        };
        let expired: Vec<_> = self.slots.iter().map_while(late).collect();
        for slot in &expired {
            self.end(*slot);
            counters.refuse(Refusal::HandshakeTimeout);
        }
        expired
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(number: usize) -> Source {
        Source::V4((number as u32).to_be_bytes())
    }

    #[test]
    fn neither_one_source_nor_many_can_take_all_there_is() {
        let (mut handshakes, mut counters) = (Handshakes::default(), Counters::default());
        let mut begin = |number| handshakes.begin(Now::ZERO, source(number), &mut counters);
        for _ in 0..HANDSHAKES_PER_SOURCE_MAX {
            begin(0).unwrap();
        }
        assert_eq!(begin(0), Err(HandshakesFull));
        for number in HANDSHAKES_PER_SOURCE_MAX..HANDSHAKES_MAX {
            begin(number).unwrap();
        }
        assert_eq!(begin(9_999), Err(HandshakesFull));
        assert_eq!(counters.refused(Refusal::HandshakesFull), 2);
        assert_eq!(handshakes.len(), HANDSHAKES_MAX);
        assert!(
            !handshakes.per_source.contains_key(&source(9_999)),
            "a refused source leaves nothing behind"
        );
    }

    #[test]
    fn a_slot_is_free_again_after_its_end_and_after_its_time() {
        let (mut handshakes, mut counters) = (Handshakes::default(), Counters::default());
        let first = handshakes.begin(Now::ZERO, source(1), &mut counters).unwrap();
        let later = Now::after_start(HANDSHAKE_TIMEOUT);
        let second = handshakes.begin(Now(later.0 / 2), source(1), &mut counters).unwrap();
        assert_eq!(handshakes.expire(Now(later.0 - 1), &mut counters), []);
        assert_eq!(handshakes.expire(later, &mut counters), [first]);
        assert_eq!(counters.refused(Refusal::HandshakeTimeout), 1);
        handshakes.end(second);
        handshakes.end(second);
        assert!(handshakes.is_empty() && handshakes.per_source.is_empty());
    }
}
