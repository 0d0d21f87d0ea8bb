//! How dialling went so far: when an address is tried again, and with which secret.

use std::net::SocketAddr;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_wire::secret::SecretChoice;
use hyperscale_wire::table::BoundedMap;

use super::options::Timing;

/// Addresses that are remembered; the one not tried for longest makes room.
const TRIES_MAX: usize = 16_384;
/// Doublings of the pause after failed dials.
const DOUBLINGS_MAX: u32 = 16;

#[derive(Clone, Copy, Debug)]
struct Try {
    /// In a row.
    failed: u32,
    choice: SecretChoice,
}

/// Addresses that were dialled without success, or with the previous secret.
#[derive(Debug)]
pub(super) struct Tries {
    timing: Timing,
    rng: Rng,
    by_address: BoundedMap<SocketAddr, Try>,
}

impl Tries {
    pub(super) fn new(timing: Timing, seed: u64) -> Self {
        Self { timing, rng: Rng::with_seed(seed), by_address: BoundedMap::new(TRIES_MAX) }
    }

    /// How long to wait before an address is dialled again: doubled by each failure, with up to as much jitter, so that
    /// nodes that lost the same peer do not come back together.
    pub(super) fn pause(&mut self, address: SocketAddr) -> Duration {
        let failed = self.by_address.peek(&address).map_or(0, |it| it.failed);
        if failed == 0 {
            return Duration::ZERO;
        }
        let doubled = self.timing.back_off_min * 2_u32.pow((failed - 1).min(DOUBLINGS_MAX));
        let pause = doubled.min(self.timing.back_off_max);
        pause.mul_f64(1.0 + self.rng.f64())
    }

    /// Counts a failure; how many there were without a success between.
    pub(super) fn failed(&mut self, address: SocketAddr) -> u32 {
        let it = self.get(address);
        it.failed = it.failed.saturating_add(1);
        it.failed
    }

    /// The secret that was understood is tried first the next time.
    pub(super) fn succeeded(&mut self, address: SocketAddr) {
        if let Some(it) = self.by_address.get_mut(&address) {
            it.failed = 0;
        }
    }

    /// Which secret to try with an address.
    pub(super) fn choice(&self, address: SocketAddr) -> SecretChoice {
        self.by_address.peek(&address).map_or(SecretChoice::Current, |it| it.choice)
    }

    /// The peer does not understand the secret that was tried: the other one is next.
    pub(super) fn change_choice(&mut self, address: SocketAddr) {
        let it = self.get(address);
        it.choice = match it.choice {
            SecretChoice::Current => SecretChoice::Previous,
            SecretChoice::Previous => SecretChoice::Current,
        };
    }

    fn get(&mut self, address: SocketAddr) -> &mut Try {
        let fresh = || Try { failed: 0, choice: SecretChoice::Current };
        self.by_address.get_or_insert_with(&address, fresh).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> SocketAddr {
        "127.0.0.1:7001".parse().unwrap()
    }

    #[test]
    fn pause_doubles_up_to_its_limit_with_jitter_and_ends_with_success() {
        let timing = Timing::default();
        let mut tries = Tries::new(timing, 1);
        assert_eq!(tries.pause(address()), Duration::ZERO);
        for doubled in [1, 2, 4, 8, 16, 1_000, 1_000] {
            tries.failed(address());
            let least = (timing.back_off_min * doubled).min(timing.back_off_max);
            let pause = tries.pause(address());
            assert!((least..least * 2).contains(&pause), "{pause:?} after {doubled}");
        }
        tries.succeeded(address());
        assert_eq!(tries.pause(address()), Duration::ZERO);
    }

    #[test]
    fn secret_that_was_understood_is_kept_and_the_other_one_is_tried_after_a_refusal() {
        let mut tries = Tries::new(Timing::default(), 1);
        assert_eq!(tries.choice(address()), SecretChoice::Current);
        tries.change_choice(address());
        tries.succeeded(address());
        assert_eq!(tries.choice(address()), SecretChoice::Previous);
        tries.change_choice(address());
        assert_eq!(tries.choice(address()), SecretChoice::Current);
    }
}
