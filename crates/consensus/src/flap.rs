//! Voluntary transfers are kept apart, so that two ill nodes do not hand leadership back and forth.
//!
//! The gap doubles when the next transfer comes soon after it was allowed, and is back at its base after a calm time.
//! Elections after a failure are never held back, nor are transfers somebody asked for.

use std::time::Duration;

use hyperscale_types::Now;

/// The gap stops doubling here.
pub const GAP_MAX: Duration = Duration::from_mins(16);

/// Keeps transfers apart.
#[derive(Debug)]
pub(crate) struct Damper {
    base: Duration,
    gap: Duration,
    last: Option<Now>,
}

impl Damper {
    pub(crate) fn new(base: Duration) -> Self {
        Self { base, gap: base, last: None }
    }

    /// Whether a transfer is allowed.
    pub(crate) fn allows(&self, now: Now) -> bool {
        self.last.is_none_or(|last| now.since(last) >= self.gap)
    }

    /// A voluntary transfer, by this node or to it.
    pub(crate) fn note(&mut self, now: Now) {
        let is_repeat = self.last.is_some_and(|last| now.since(last) < self.gap * 2);
        self.gap = if is_repeat { (self.gap * 2).min(GAP_MAX) } else { self.base };
        self.last = Some(now);
    }

    /// Whether transfers repeat.
    pub(crate) fn is_flapping(&self, now: Now) -> bool {
        self.gap > self.base && self.last.is_some_and(|last| now.since(last) < self.gap * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now::after_start(Duration::from_secs(seconds))
    }

    #[test]
    fn transfers_are_thirty_seconds_apart_and_double_when_repeated() {
        let mut damper = Damper::new(Duration::from_secs(30));
        assert!(damper.allows(at(0)));
        damper.note(at(0));
        assert!(!damper.allows(at(29)) && damper.allows(at(30)));
        damper.note(at(30));
        assert!(damper.is_flapping(at(31)));
        assert!(!damper.allows(at(89)) && damper.allows(at(90)));
        damper.note(at(90));
        assert!(!damper.allows(at(209)) && damper.allows(at(210)));
    }

    #[test]
    fn gap_is_back_at_its_base_after_a_calm_time() {
        let mut damper = Damper::new(Duration::from_secs(30));
        damper.note(at(0));
        damper.note(at(30));
        assert!(!damper.is_flapping(at(150)));
        damper.note(at(200));
        assert!(damper.allows(at(230)) && !damper.is_flapping(at(201)));
    }

    #[test]
    fn gap_is_bounded() {
        let mut damper = Damper::new(Duration::from_secs(30));
        let mut now = at(0);
        for _ in 0..20 {
            damper.note(now);
            now = now.plus(damper.gap);
        }
        assert_eq!(damper.gap, GAP_MAX);
    }
}
