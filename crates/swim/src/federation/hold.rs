//! Mass suspicion: when most clusters fall silent together, the fault is probably here.

use std::time::Duration;

use hyperscale_types::Now;

use super::config::FederationConfig;

/// Least clusters watched for a hold: the silence of a single one does not tell which side is cut off.
const WATCHED_MIN: usize = 2;

/// Whether judgement is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Silence is judged as usual.
    No,
    /// Holding since then.
    Since(Now),
    /// Held for as long as allowed; not again before the clusters have answered.
    Spent,
}

/// How holding changed with what was just heard or not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    Began,
    Resolved,
    TimedOut,
}

impl Hold {
    /// `suspected_at` are the times at which the clusters that are suspected now became so.
    pub(super) fn update(
        &mut self,
        now: Now,
        suspected_at: impl Iterator<Item = Now>,
        total: usize,
        config: &FederationConfig,
    ) -> Verdict {
        let times: Vec<Now> = suspected_at.collect();
        let mass = total >= WATCHED_MIN && times.len() * 2 > total;
        match *self {
            Hold::No if mass && spread(&times) <= config.mass_window => {
                *self = Hold::Since(now);
                Verdict::Began
            }
            Hold::Since(_) if !mass => {
                *self = Hold::No;
                Verdict::Resolved
            }
            Hold::Since(began) if now.since(began) >= config.hold_max => {
                *self = Hold::Spent;
                Verdict::TimedOut
            }
            Hold::Spent if times.is_empty() => {
                *self = Hold::No;
                Verdict::Unchanged
            }
            Hold::No | Hold::Since(_) | Hold::Spent => Verdict::Unchanged,
        }
    }

    /// Excludes the time by which this node's tick was late from the limit of the hold.
    pub(super) fn exclude_lateness(&mut self, late: Duration) {
        if let Hold::Since(began) = self {
            *began = began.plus(late);
        }
    }

    pub(super) fn is_holding(self) -> bool {
        matches!(self, Hold::Since(_))
    }
}

fn spread(times: &[Now]) -> Duration {
    match (times.iter().min(), times.iter().max()) {
        (Some(first), Some(last)) => last.since(*first),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now::after_start(Duration::from_secs(seconds))
    }

    fn update(hold: &mut Hold, now: u64, suspected_at: &[u64]) -> Verdict {
        hold.update(at(now), suspected_at.iter().map(|second| at(*second)), 4, &FederationConfig::wan())
    }

    #[test]
    fn more_than_half_within_the_window_holds_and_half_does_not() {
        let mut hold = Hold::No;
        assert_eq!(update(&mut hold, 10, &[1, 2]), Verdict::Unchanged);
        assert_eq!(update(&mut hold, 10, &[1, 2, 10]), Verdict::Began);
        assert!(hold.is_holding());
        assert_eq!(update(&mut hold, 12, &[1, 2]), Verdict::Resolved);
    }

    #[test]
    fn clusters_that_fail_one_after_the_other_do_not_hold() {
        assert_eq!(update(&mut Hold::No, 40, &[1, 20, 40]), Verdict::Unchanged);
    }

    #[test]
    fn hold_has_a_limit_and_does_not_begin_again_at_once() {
        let mut hold = Hold::No;
        update(&mut hold, 10, &[8, 9, 10]);
        assert_eq!(update(&mut hold, 69, &[8, 9, 10]), Verdict::Unchanged);
        assert_eq!(update(&mut hold, 70, &[8, 9, 10]), Verdict::TimedOut);
        assert_eq!(update(&mut hold, 71, &[8, 9, 10]), Verdict::Unchanged);
        assert!(!hold.is_holding());
        update(&mut hold, 80, &[]);
        assert_eq!(update(&mut hold, 90, &[88, 89, 90]), Verdict::Began);
    }
}
