//! A small seeded generator for arrivals: the same seed gives the same run on every machine.

use hyperscale_types::split_mix::{GAMMA, SplitMix64, mix};

/// Numbers between 0 and 1.
#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    /// A stream of its own for every pair of seed and stream number.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self(SplitMix64::new(mix(seed).wrapping_add(mix(stream.wrapping_add(1).wrapping_mul(GAMMA)))))
    }

    /// Uniform in the open interval (0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        let bits = self.0.next_u64() >> 11;
        (bits as f64 + 0.5) / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, stream| Random::new(seed, stream).unit().to_bits();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }

    #[test]
    fn the_mean_is_one_half() {
        let mut random = Random::new(7, 7);
        let mean = (0..100_000).map(|_| random.unit()).sum::<f64>() / 100_000.0;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
