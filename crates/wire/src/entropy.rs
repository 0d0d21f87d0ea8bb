//! Randomness, handed in.
//!
//! Nothing here draws randomness on its own: the shell passes the operating system's generator, the simulator a seeded
//! one.

use aws_lc_rs::digest;

/// A source of random bytes.
pub trait Entropy {
    /// Fills `out`. A source that can fail must end the process: there is no weaker randomness to fall back to.
    fn fill(&mut self, out: &mut [u8]);
}

/// `N` bytes from a source.
pub fn draw<const N: usize>(entropy: &mut dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}

/// The same bytes for the same seed: for simulator and tests, never for a node on a network.
#[derive(Clone, Debug)]
pub struct SeededEntropy {
    seed: u64,
    counter: u64,
}

impl SeededEntropy {
    /// A sequence that depends on the seed only.
    pub const fn new(seed: u64) -> Self {
        Self { seed, counter: 0 }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&mut self, out: &mut [u8]) {
        for part in out.chunks_mut(digest::SHA256_OUTPUT_LEN) {
            let mut block = digest::Context::new(&digest::SHA256);
            block.update(&self.seed.to_be_bytes());
            block.update(&self.counter.to_be_bytes());
            self.counter += 1;
            part.copy_from_slice(&block.finish().as_ref()[..part.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_every_byte() {
        let (mut a, mut b, mut other) = (SeededEntropy::new(1), SeededEntropy::new(1), SeededEntropy::new(2));
        let first = draw::<70>(&mut a);
        assert_eq!(first, draw::<70>(&mut b));
        assert_ne!(first, draw::<70>(&mut other));
        assert_ne!(first, draw::<70>(&mut a), "it goes on");
    }
}
