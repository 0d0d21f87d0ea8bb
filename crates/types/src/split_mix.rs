//! SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): the one small generator of
//! everything that must be equal for equal seeds. Not for secrets.

/// What the state grows by with each number.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of numbers that its state determines. Changing what it returns changes the draws of every recorded seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let (state, number) = step(self.0);
        self.0 = state;
        number
    }
}

/// One step from a state: the next state and a number, for who keeps the state elsewhere.
#[inline]
pub const fn step(state: u64) -> (u64, u64) {
    let next = state.wrapping_add(GAMMA);
    (next, mix(next))
}

/// The finalizer: a bijective scrambling of 64 bits, equal on every machine.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_returns_the_numbers_of_the_reference_implementation() {
        let mut random = SplitMix64::new(1_234_567);
        let numbers = [0; 5].map(|_: u64| random.next_u64());
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }
}
