//! What becomes of messages on their way: lost, doubled, delayed and thereby overtaken. Drawn from a seed.

use std::time::Duration;

use fastrand::Rng;

/// How long a message takes where nothing goes wrong.
const DELAY: Duration = Duration::from_millis(1);
/// Messages of a hundred that are lost on a bad network, and that arrive twice.
const LOST: u32 = 10;
const DOUBLED: u32 = 10;
/// The longest delay of a message on a bad network.
const DELAY_MAX: Duration = Duration::from_millis(300);

/// The network between all nodes.
pub(crate) struct Network {
    /// Nothing: every message arrives once, in order.
    faults: Option<Rng>,
}

impl Network {
    pub(crate) fn steady() -> Self {
        Self { faults: None }
    }

    /// One that loses, doubles, delays and reorders messages.
    pub(crate) fn bad(seed: u64) -> Self {
        Self { faults: Some(Rng::with_seed(seed)) }
    }

    /// After which time each copy of a message arrives.
    pub(super) fn copies(&mut self) -> Vec<Duration> {
        let Some(rng) = &mut self.faults else { return vec![DELAY] };
        let copies = match rng.u32(..100) {
            it if it < LOST => 0,
            it if it < LOST + DOUBLED => 2,
            _ => 1,
        };
        (0..copies).map(|_| DELAY_MAX.mul_f64(rng.f64()).max(DELAY)).collect()
    }
}
