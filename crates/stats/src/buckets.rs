//! HOT: counters in chunks of one power of two, allocated when first touched. [`Buckets::add_one`] runs several times
//! per request: no allocation once a chunk exists, no division, no float.
//!
//! Both histograms share it; they differ only in how a value becomes a bucket number. A window counts in `u32` (it is
//! cleared ten times a second), totals count in `u64`.

/// Bits of a value kept below its leading one: 512 buckets per power of two, so that the middle of a bucket is at most
/// 1/1024 (0.098 %) away from any value in it.
pub(crate) const SUB_BITS: u32 = 9;
/// Buckets per chunk.
pub(crate) const SUB: usize = 1 << SUB_BITS;

/// A counter of a bucket.
pub trait Count: Copy + Default + Send + 'static {
    /// One more. No window lives for 2³² calls and no run for 2⁶⁴.
    fn bump(&mut self);
    /// `n` more. A counter that is full stays full.
    fn add(&mut self, n: u64);
    /// The number.
    fn get(self) -> u64;
    /// The largest number it holds.
    const MAX: u64;
}

impl Count for u32 {
    const MAX: u64 = u32::MAX as u64;
    #[inline]
    fn bump(&mut self) {
        *self += 1;
    }
    fn add(&mut self, n: u64) {
        *self = self.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
    }
    fn get(self) -> u64 {
        u64::from(self)
    }
}

impl Count for u64 {
    const MAX: u64 = u64::MAX;
    #[inline]
    fn bump(&mut self) {
        *self += 1;
    }
    fn add(&mut self, n: u64) {
        *self = self.saturating_add(n);
    }
    fn get(self) -> u64 {
        self
    }
}

/// `SLOTS` chunks of [`SUB`] counters. An unused one costs two words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets<C, const SLOTS: usize> {
    slots: Box<[Option<Box<[C; SUB]>>]>,
}

impl<C: Count, const SLOTS: usize> Buckets<C, SLOTS> {
    /// How many buckets there are.
    pub(crate) const LEN: usize = SLOTS * SUB;

    /// Counts one in bucket `sub` (below [`SUB`]) of chunk `slot` (below `SLOTS`).
    #[inline]
    pub(crate) fn add_one(&mut self, slot: usize, sub: usize) {
        if let Some(Some(chunk)) = self.slots.get_mut(slot) {
            chunk[sub & (SUB - 1)].bump();
        } else {
            self.chunk(slot)[sub & (SUB - 1)].bump();
        }
    }

    /// Counts `n` in a bucket by its number (below [`Self::LEN`]).
    pub(crate) fn add(&mut self, bucket: usize, n: u64) {
        self.chunk(bucket / SUB)[bucket % SUB].add(n);
    }

    /// Adds all of `other`.
    pub(crate) fn merge<D: Count>(&mut self, other: &Buckets<D, SLOTS>) {
        for (slot, chunk) in other.slots.iter().enumerate() {
            let Some(chunk) = chunk else { continue };
            if chunk.iter().all(|count| count.get() == 0) {
                continue;
            }
            for (mine, theirs) in self.chunk(slot).iter_mut().zip(chunk.iter()) {
                mine.add(theirs.get());
            }
        }
    }

    /// All counters to zero; keeps the memory.
    pub(crate) fn clear(&mut self) {
        for chunk in self.slots.iter_mut().flatten() {
            chunk.fill(C::default());
        }
    }

    /// Number and count of every bucket that is not empty, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.slots.iter().enumerate().flat_map(|(slot, chunk)| {
            chunk.iter().flat_map(move |chunk| {
                chunk
                    .iter()
                    .enumerate()
                    .filter(|(_, count)| count.get() != 0)
                    .map(move |(sub, count)| (slot * SUB + sub, count.get()))
            })
        })
    }

    /// The bucket that holds the `rank`-th sample (from 1) in order of buckets.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<usize> {
        let mut seen = 0u64;
        self.iter().find_map(|(bucket, count)| {
            seen = seen.saturating_add(count);
            (seen >= rank).then_some(bucket)
        })
    }

    #[cold]
    #[inline(never)]
    fn chunk(&mut self, slot: usize) -> &mut [C; SUB] {
        if self.slots.is_empty() {
            self.slots = std::iter::repeat_with(|| None).take(SLOTS).collect();
        }
        self.slots[slot].get_or_insert_with(|| Box::new([C::default(); SUB]))
    }
}

/// The rank (from 1) of a percentile among `count` samples: the smallest number of samples that is at least that
/// percentage of them.
pub(crate) fn rank_of(percent: f64, count: u64) -> u64 {
    // A product like 99.9 % × 1000 must not become 1000 through the last bit of a float.
    let exact = percent.clamp(0.0, 100.0) * count as f64 / 100.0;
    ((exact * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_not_moved_by_rounding() {
        for (percent, count, rank) in [
            (0.0, 10, 1),
            (50.0, 10, 5),
            (99.0, 100, 99),
            (99.9, 1000, 999),
            (99.99, 10_000, 9_999),
            (99.9, 10, 10),
            (100.0, 7, 7),
        ] {
            assert_eq!(rank_of(percent, count), rank, "p{percent} of {count}");
        }
    }

    #[test]
    fn an_unused_histogram_allocates_nothing() {
        let mut buckets = Buckets::<u32, 34>::default();
        assert!(buckets.slots.is_empty());
        buckets.add_one(3, 5);
        assert_eq!(buckets.slots.iter().flatten().count(), 1);
        buckets.clear();
        assert_eq!(buckets.iter().count(), 0);
        assert_eq!(buckets.slots.iter().flatten().count(), 1, "clear keeps the memory");
    }
}
