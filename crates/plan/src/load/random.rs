//! A small seeded generator for arrivals: the same seed gives the same run on every machine.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    /// A stream of its own for every pair of seed and stream number.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed).wrapping_add(mix(stream.wrapping_add(1).wrapping_mul(Self::GAMMA))))
    }

    /// Uniform in the open interval (0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        let bits = mix(self.0) >> 11;
        (bits as f64 + 0.5) / (1u64 << 53) as f64
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
