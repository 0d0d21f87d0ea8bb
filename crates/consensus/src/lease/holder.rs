//! The holder's side: it counts from before it sent the renewal, and stops early.

use std::time::Duration;

use hyperscale_types::{Now, Token};

#[cfg(feature = "bugs")]
use crate::bugs::Bugs;

/// Time the holder leaves beside the tenth of the TTL.
pub const MARGIN: Duration = Duration::from_millis(200);

/// A lease as its holder sees it.
#[derive(Clone, Debug)]
pub struct Holder {
    token: Token,
    ttl: Duration,
    /// When the renewal that was answered last was sent.
    counted_from: Now,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
}

impl Holder {
    /// A lease that was granted in answer to a request sent at `sent`.
    pub fn new(token: Token, ttl: Duration, sent: Now) -> Self {
        Self {
            token,
            ttl,
            counted_from: sent,
            #[cfg(feature = "bugs")]
            bugs: Bugs::default(),
        }
    }

    /// With deliberate bugs.
    #[cfg(feature = "bugs")]
    #[must_use]
    pub fn with_bugs(mut self, bugs: Bugs) -> Self {
        self.bugs = bugs;
        self
    }

    /// Its token.
    pub fn token(&self) -> Token {
        self.token
    }

    /// How long it is from one renewal on.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The renewal sent at `sent` was answered at `now`. Answers may come out of order.
    pub fn renewed(&mut self, sent: Now, ttl: Duration, now: Now) {
        let from = if bug!(self.bugs, HolderCountsFromAnswer) { now } else { sent.min(now) };
        if from >= self.counted_from {
            (self.counted_from, self.ttl) = (from, ttl);
        }
    }

    /// From here on the lease is not used any more.
    pub fn usable_until(&self) -> Now {
        self.counted_from.plus((self.ttl * 9 / 10).saturating_sub(MARGIN))
    }

    /// Whether it may be used.
    pub fn is_usable(&self, now: Now) -> bool {
        now < self.usable_until()
    }

    /// When to send the next renewal: at a third of the TTL.
    pub fn renew_at(&self) -> Now {
        self.counted_from.plus(self.ttl / 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "bugs")]
    use crate::bugs::Bug;

    const TTL: Duration = Duration::from_secs(15);

    fn at(ms: u64) -> Now {
        Now::after_start(Duration::from_millis(ms))
    }

    #[test]
    fn holder_stops_at_nine_tenths_of_the_ttl_less_200_ms() {
        let holder = Holder::new(Token(1), TTL, at(1000));
        assert_eq!(holder.usable_until(), at(1000 + 13_300));
        assert!(holder.is_usable(at(14_299)) && !holder.is_usable(at(14_300)));
        assert_eq!(holder.renew_at(), at(6000));
    }

    #[test]
    fn holder_counts_from_before_it_sent_the_renewal() {
        let mut holder = Holder::new(Token(1), TTL, at(0));
        holder.renewed(at(5000), TTL, at(9000));
        assert_eq!(holder.usable_until(), at(5000 + 13_300));
    }

    #[test]
    fn late_answer_to_an_older_renewal_does_not_shorten_the_lease() {
        let mut holder = Holder::new(Token(1), TTL, at(0));
        holder.renewed(at(5000), TTL, at(5100));
        holder.renewed(at(1000), TTL, at(6000));
        assert_eq!(holder.usable_until(), at(5000 + 13_300));
    }

    #[cfg(feature = "bugs")]
    #[test]
    fn bug_of_counting_from_the_answer_outlives_what_the_granter_promised() {
        let mut holder =
            Holder::new(Token(1), TTL, at(0)).with_bugs([Bug::HolderCountsFromAnswer].into_iter().collect());
        holder.renewed(at(5000), TTL, at(9000));
        assert!(holder.is_usable(at(5000).plus(TTL)), "the granter may have given it away by then");
    }

    #[test]
    fn lease_shorter_than_the_margin_is_never_usable() {
        assert!(!Holder::new(Token(1), MARGIN, at(0)).is_usable(at(0)));
    }
}
