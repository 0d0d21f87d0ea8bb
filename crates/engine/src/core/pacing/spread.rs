//! When virtual users begin that are added while a run goes on, so that not all begin in the same millisecond.

use hyperscale_plan::load::closed;
use hyperscale_types::Span;

/// When the virtual users begin that were added last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// The override that was last seen.
    seen: Option<u32>,
    /// Virtual users of the workflow before it, and how many it added.
    before: u32,
    added: u32,
    /// When it was seen, on the load clock.
    at_ns: u64,
}

impl Spread {
    /// As the plan says, from `at_ns` of the load clock on.
    pub(super) fn planned(vus_max: u32, at_ns: u64) -> Self {
        Self { seen: None, before: 0, added: vus_max, at_ns }
    }

    /// Notes a new wish for virtual users.
    pub(super) fn follow(&mut self, wanted: Option<u32>, planned: u32, now_ns: u64) {
        if wanted == self.seen {
            return;
        }
        let before = self.seen.unwrap_or(planned);
        let added = wanted.unwrap_or(planned).saturating_sub(before);
        *self = Self { seen: wanted, before, added, at_ns: now_ns };
    }

    /// When a virtual user may begin, on the load clock.
    pub(super) fn due_ns(&self, ramp: Span, global: u32, vus_max: u32) -> u64 {
        if self.seen.is_some() && global >= self.before {
            return self.at_ns + closed::spread(ramp, global - self.before, self.added).as_nanos();
        }
        let begin = if self.seen.is_none() { self.at_ns } else { 0 };
        begin + closed::spread(ramp, global.min(vus_max), vus_max).as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn added_virtual_users_begin_spread_over_the_ramp() {
        let ramp = Span::from_secs(1);
        let mut spread = Spread::planned(4, 0);
        let due_ms = |spread: &Spread, vu| spread.due_ns(ramp, vu, 4) / MS;
        spread.follow(None, 4, 100 * MS);
        assert_eq!([0, 1, 2, 3].map(|vu| due_ms(&spread, vu)), [0, 250, 500, 750], "as planned");
        spread.follow(Some(8), 4, 5_000 * MS);
        assert_eq!(
            [0, 4, 5, 7].map(|vu| due_ms(&spread, vu)),
            [0, 5_000, 5_250, 5_750],
            "from the change on"
        );
        spread.follow(Some(8), 4, 6_000 * MS);
        assert_eq!(due_ms(&spread, 4), 5_000, "the same wish is not a new one");
        spread.follow(Some(2), 4, 7_000 * MS);
        spread.follow(Some(4), 4, 8_000 * MS);
        assert_eq!([1, 2, 3].map(|vu| due_ms(&spread, vu)), [250, 8_000, 8_500], "after fewer");
    }
}
