//! The replay window: every counter once, and none from too long ago (RFC 4303, section 3.4.3).

use super::DatagramError;
use crate::limits::REPLAY_WINDOW;

/// Counters of one sender and boot that were seen.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayWindow {
    newest: u64,
    /// Bit n: `newest - n` was seen.
    seen: u128,
}

const _: () = assert!(REPLAY_WINDOW == u128::BITS as u64, "the window is one machine word");

impl ReplayWindow {
    /// The window of a boot that is met with this answer to a challenge. What it sealed before may have been delivered
    /// already, to an earlier life of the receiver or before that forgot the sender: all of it counts as seen.
    pub(super) const fn met_with(answer: u64) -> Self {
        Self { newest: answer, seen: u128::MAX }
    }

    /// Accepts a counter, once.
    pub(super) fn accept(&mut self, counter: u64) -> Result<(), DatagramError> {
        if counter > self.newest {
            let ahead = counter - self.newest;
            self.seen = if ahead >= REPLAY_WINDOW { 0 } else { self.seen << ahead };
            self.newest = counter;
            self.seen |= 1;
            return Ok(());
        }
        let behind = self.newest - counter;
        if behind >= REPLAY_WINDOW {
            return Err(DatagramError::TooOld);
        }
        if self.seen & (1 << behind) != 0 {
            return Err(DatagramError::Replayed);
        }
        self.seen |= 1 << behind;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_window_ends_after_128_counters() {
        let mut window = ReplayWindow::default();
        window.accept(1_000).unwrap();
        assert_eq!(window.accept(1_000 - 127), Ok(()));
        assert_eq!(window.accept(1_000 - 128), Err(DatagramError::TooOld));
        assert_eq!(window.accept(1_000), Err(DatagramError::Replayed));
        window.accept(u64::MAX).unwrap();
        assert_eq!(window.accept(1_000), Err(DatagramError::TooOld));
    }

    #[test]
    fn what_was_sealed_before_the_answer_counts_as_seen() {
        let mut window = ReplayWindow::met_with(1_000);
        for earlier in [1_000, 999, 1_000 - 127] {
            assert_eq!(window.accept(earlier), Err(DatagramError::Replayed));
        }
        assert_eq!(window.accept(1), Err(DatagramError::TooOld));
        assert_eq!((window.accept(1_002), window.accept(1_001)), (Ok(()), Ok(())));
    }

    proptest! {
        #[test]
        fn nothing_is_accepted_twice_and_nothing_recent_is_lost(counters in prop::collection::vec(1u64..600, 1..300)) {
            let mut window = ReplayWindow::default();
            let mut accepted = BTreeSet::new();
            for counter in counters {
                let newest = accepted.last().copied().unwrap_or(0);
                let recent = counter + REPLAY_WINDOW > newest;
                let fresh = !accepted.contains(&counter);
                prop_assert_eq!(window.accept(counter).is_ok(), fresh && recent);
                if fresh && recent {
                    accepted.insert(counter);
                }
            }
        }
    }
}
