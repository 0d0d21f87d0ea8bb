//! A short fingerprint of a set of records, kept up to date one record at a time.
//!
//! Records are spread over 64 buckets by their key; a bucket is the wrapping sum of the fingerprints in it, so adding and
//! removing cost O(1) and the order does not matter. Two nodes exchange digests and then only the buckets that differ.

use hyperscale_types::split_mix;

/// Number of buckets: one bit each in a mask.
pub const BUCKETS: usize = 64;

/// Fingerprint of a set of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest(pub [u64; BUCKETS]);

impl Default for Digest {
    fn default() -> Self {
        Self([0; BUCKETS])
    }
}

impl Digest {
    /// The buckets in which the two differ, one bit each.
    pub fn difference(&self, other: &Digest) -> u64 {
        self.0
            .iter()
            .zip(&other.0)
            .enumerate()
            .fold(0, |mask, (bucket, (mine, theirs))| mask | (u64::from(mine != theirs) << bucket))
    }

    pub(crate) fn add(&mut self, key: u64, fingerprint: u64) {
        let bucket = &mut self.0[bucket_of(key)];
        *bucket = bucket.wrapping_add(fingerprint);
    }

    pub(crate) fn remove(&mut self, key: u64, fingerprint: u64) {
        let bucket = &mut self.0[bucket_of(key)];
        *bucket = bucket.wrapping_sub(fingerprint);
    }
}

/// The bucket of a key.
pub(crate) fn bucket_of(key: u64) -> usize {
    (mix(key) >> 58) as usize
}

/// Whether the key's bucket is in the mask.
pub(crate) fn in_mask(mask: u64, key: u64) -> bool {
    mask & (1 << bucket_of(key)) != 0
}

/// A bijective scrambling of 64 bits: equal everywhere, unlike a seeded hasher.
pub(crate) fn mix(value: u64) -> u64 {
    split_mix::step(value).1
}

/// Fingerprint of several numbers in their order.
pub(crate) fn fingerprint(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |hash, part| mix(hash ^ part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digest_depends_on_the_set_not_on_the_order(records in proptest::collection::vec(any::<(u64, u64)>(), 0..50)) {
            let mut forwards = Digest::default();
            let mut backwards = Digest::default();
            for (key, print) in &records {
                forwards.add(*key, *print);
            }
            for (key, print) in records.iter().rev() {
                backwards.add(*key, *print);
            }
            prop_assert_eq!(forwards.difference(&backwards), 0);
            for (key, print) in &records {
                forwards.remove(*key, *print);
            }
            prop_assert_eq!(forwards, Digest::default());
        }
    }

    #[test]
    fn difference_names_the_bucket_of_the_record_that_differs() {
        let mut mine = Digest::default();
        let theirs = mine.clone();
        mine.add(77, fingerprint(&[77, 1]));
        let mask = mine.difference(&theirs);
        assert_eq!(mask.count_ones(), 1);
        assert!(in_mask(mask, 77));
    }

    #[test]
    fn keys_spread_over_all_buckets() {
        let mut seen = 0u64;
        for key in 0..1000 {
            seen |= 1 << bucket_of(key);
        }
        assert_eq!(seen, u64::MAX);
    }
}
