//! A map with a limit: the entry not used for the longest time makes room.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

/// Ordered map of at most `max` entries. Deterministic: the same calls evict the same entries on every node and run.
#[derive(Clone, Debug)]
pub struct BoundedMap<K, V> {
    max: usize,
    entries: BTreeMap<K, Slot<V>>,
    by_use: BTreeMap<u64, K>,
    uses: u64,
}

#[derive(Clone, Debug)]
struct Slot<V> {
    used: u64,
    value: V,
}

impl<K: Ord + Clone, V> BoundedMap<K, V> {
    /// An empty map for `max` entries (at least one).
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), entries: BTreeMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Looks without counting as a use.
    pub fn peek(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|slot| &slot.value)
    }

    /// The value, which is now the last to be evicted.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let slot = self.entries.get_mut(key)?;
        self.by_use.remove(&slot.used);
        self.uses += 1;
        slot.used = self.uses;
        self.by_use.insert(self.uses, key.clone());
        Some(&mut slot.value)
    }

    /// Puts a value in; returns what had to go to make room.
    pub fn insert(&mut self, key: K, value: V) -> Option<(K, V)> {
        self.remove(&key);
        let evicted = if self.entries.len() >= self.max { self.evict() } else { None };
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        self.entries.insert(key, Slot { used: self.uses, value });
        evicted
    }

    /// The value, made if it is missing; and whether another entry had to go for it.
    pub fn get_or_insert_with(&mut self, key: &K, make: impl FnOnce() -> V) -> (&mut V, bool) {
        let evicted = !self.entries.contains_key(key) && self.insert(key.clone(), make()).is_some();
        (self.get_mut(key).expect("it was there or has just been inserted"), evicted)
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let slot = self.entries.remove(key)?;
        self.by_use.remove(&slot.used);
        Some(slot.value)
    }

    /// Takes all values of a range of keys out.
    pub fn remove_range(&mut self, range: impl RangeBounds<K>) {
        for (_, slot) in self.entries.extract_if(range, |_, _| true) {
            self.by_use.remove(&slot.used);
        }
    }

    fn evict(&mut self) -> Option<(K, V)> {
        let (_, key) = self.by_use.pop_first()?;
        let slot = self.entries.remove(&key)?;
        Some((key, slot.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_makes_room() {
        let mut map = BoundedMap::new(2);
        assert!(map.insert("a", 1).is_none());
        assert!(map.insert("b", 2).is_none());
        assert_eq!(map.get_mut(&"a"), Some(&mut 1));
        assert_eq!(map.insert("c", 3), Some(("b", 2)));
        assert_eq!(map.peek(&"a"), Some(&1));
        assert_eq!(map.len(), 2);
    }

    #[test]
    fn replacing_a_value_evicts_nobody() {
        let mut map = BoundedMap::new(2);
        map.insert("a", 1);
        map.insert("b", 2);
        assert_eq!(map.insert("a", 3), None);
        assert_eq!(map.len(), 2);
        let (value, evicted) = map.get_or_insert_with(&"c", || 4);
        assert_eq!((*value, evicted), (4, true));
        assert_eq!(map.peek(&"b"), None);
    }

    #[test]
    fn both_indexes_stay_the_same_size() {
        let mut map = BoundedMap::new(3);
        for i in 0..100u32 {
            map.insert(i % 5, i);
            map.get_mut(&(i % 3));
            map.remove(&(i % 7));
            if i % 11 == 0 {
                map.remove_range(1..=2);
                assert_eq!((map.peek(&1), map.peek(&2)), (None, None));
            }
            assert_eq!(map.entries.len(), map.by_use.len());
            assert!(map.len() <= 3);
        }
    }
}
