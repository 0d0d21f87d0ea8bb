//! Which part of a workflow belongs to a core.
//!
//! VU `i` (from 0) lives on core `i mod cores`: every core gets ⌊vus/cores⌋ VUs, and the first ones get one more.
//! Start or iteration `k` belongs to VU `k mod vus` and therefore to that VU's core, so that rates and counts are split
//! in the same proportion as VUs, interleaved, and add up exactly.

/// One core's part of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the core, from 0.
    pub core: u32,
    /// How many cores the workflow runs on.
    pub cores: u32,
    /// VUs of the whole workflow (`max_vus` in open models).
    pub vus: u32,
}

impl Share {
    /// VUs on this core.
    pub fn own_vus(&self) -> u32 {
        self.below(u64::from(self.vus)) as u32
    }

    /// How many of `0..n` belong to this core.
    pub fn count_of(&self, n: u64) -> u64 {
        let vus = u64::from(self.vus);
        if vus == 0 {
            return 0;
        }
        (n / vus) * self.below(vus) + self.below(n % vus)
    }

    /// The first number that belongs to this core.
    pub fn first(&self) -> Option<u64> {
        (self.own_vus() > 0).then_some(u64::from(self.core))
    }

    /// The next number after `k` (one of its own) that belongs to this core.
    pub fn next(&self, k: u64) -> u64 {
        let (vus, cores) = (u64::from(self.vus), u64::from(self.cores));
        if k % vus + cores < vus { k + cores } else { k - k % vus + vus + u64::from(self.core) }
    }

    /// How many VUs below `vu` live on this core.
    fn below(&self, vu: u64) -> u64 {
        let (core, cores) = (u64::from(self.core), u64::from(self.cores));
        if core < cores { (vu + cores - 1 - core) / cores } else { 0 }
    }
}

/// One worker's part of a workflow: the cores `first_core .. first_core + cores` out of `cores_total`.
///
/// A core's [`Share`] depends on its number in the workflow alone and is the same on whatever worker it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentShare {
    /// Number of its first core in the workflow.
    pub first_core: u32,
    /// Cores of the segment.
    pub cores: u32,
    /// Cores of the whole workflow.
    pub cores_total: u32,
    /// VUs of the whole workflow (`max_vus` in open models).
    pub vus: u32,
}

impl SegmentShare {
    /// The whole of a workflow as one segment.
    pub fn whole(cores: u32, vus: u32) -> Self {
        SegmentShare { first_core: 0, cores, cores_total: cores, vus }
    }

    /// The shares of its cores, in order.
    pub fn shares(self) -> impl ExactSizeIterator<Item = Share> {
        let share =
            move |core| Share { core: self.first_core + core, cores: self.cores_total, vus: self.vus };
        (0..self.cores).map(share)
    }

    /// VUs of the segment.
    pub fn own_vus(self) -> u32 {
        self.shares().map(|share| share.own_vus()).sum()
    }

    /// How many of the starts or iterations `0..n` of the workflow belong to the segment.
    pub fn count_of(self, n: u64) -> u64 {
        self.shares().map(|share| share.count_of(n)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::shares;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_cores_get_the_remainder() {
        for (vus, cores, wanted) in [
            (10, 4, vec![3, 3, 2, 2]),
            (50_000, 6, vec![8_334, 8_334, 8_333, 8_333, 8_333, 8_333]),
            (2, 4, vec![1, 1, 0, 0]),
            (7, 1, vec![7]),
            (0, 2, vec![0, 0]),
        ] {
            let own: Vec<_> = (0..cores).map(|core| Share { core, cores, vus }.own_vus()).collect();
            assert_eq!(own, wanted, "{vus} VUs on {cores} cores");
        }
    }

    #[test]
    fn a_core_without_vus_has_no_part() {
        let share = Share { core: 3, cores: 4, vus: 2 };
        assert_eq!((share.first(), share.count_of(1_000)), (None, 0));
    }

    proptest! {
        #[test]
        fn every_number_belongs_to_exactly_one_core(shares in shares(), n in 0u64..500) {
            let mut all: Vec<u64> = Vec::new();
            for share in &shares {
                let own: Vec<u64> = std::iter::successors(share.first(), |k| Some(share.next(*k))).take_while(|k| *k < n).collect();
                prop_assert_eq!(own.len() as u64, share.count_of(n));
                prop_assert!(own.iter().all(|k| k % u64::from(share.vus) % u64::from(share.cores) == u64::from(share.core)));
                all.extend(own);
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
    }
}
