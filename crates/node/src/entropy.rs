//! Randomness of the operating system, for keys, ids and seeds.

use aws_lc_rs::rand;
use hyperscale_types::NodeId;
use hyperscale_wire::entropy::{Entropy, draw};

/// Draws from the generator of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&mut self, out: &mut [u8]) {
        rand::fill(out).expect("the operating system provides randomness once it has booted");
    }
}

/// Draws a seed for a generator that need not be secret: jitter, election timeouts, probe order.
pub fn seed() -> u64 {
    u64::from_be_bytes(draw(&mut OsEntropy))
}

/// Draws the id of a node.
pub fn node_id() -> NodeId {
    loop {
        if let Some(id) = NodeId::new(seed()) {
            return id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ() {
        assert_ne!(draw::<32>(&mut OsEntropy), draw::<32>(&mut OsEntropy));
        assert_ne!(node_id(), node_id());
    }
}
