//! How much a node trusts itself: the local health multiplier of Lifeguard (LHM) and the load level made from it.
//!
//! The multiplier is an integer 0…8. It stretches the node's own timeouts, so that a node that is slow, starved or badly
//! connected accuses others later. What moves it:
//!
//! | what happened                                   | change          |
//! | ----------------------------------------------- | --------------- |
//! | a probe was answered                            | −1              |
//! | a failed probe, per nack a living helper owed   | +1              |
//! | had to refute an accusation about itself        | +1              |
//! | a period in which the runtime lagged            | +1, +2 if twice |
//! | a period in which it did not                    | −1              |
//!
//! The death of others is not in the table and must never be: a dead target answered by nacks changes nothing.

use std::time::Duration;

use crate::load::LoadLevel;

/// Highest health multiplier.
pub const LHM_MAX: u8 = 8;

/// Whether Lifeguard is used. `Off` exists to measure what it is worth; it is plain SWIM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifeguard {
    /// Health multiplier, shrinking suspicion and buddy.
    #[default]
    On,
    /// Multiplier stays 0, suspicion lasts its minimum, probes do not carry accusations.
    Off,
}

/// A node's view of its own health.
#[derive(Clone, Debug)]
pub(crate) struct Awareness {
    mode: Lifeguard,
    /// Interval of the loop that lag is compared with.
    tick: Duration,
    lhm: u8,
    /// Largest lag reported in the running period.
    lag_max: Duration,
    level: LoadLevel,
}

impl Awareness {
    pub(crate) fn new(mode: Lifeguard, tick: Duration) -> Self {
        Self { mode, tick, lhm: 0, lag_max: Duration::ZERO, level: LoadLevel::Normal }
    }

    pub(crate) fn lhm(&self) -> u8 {
        self.lhm
    }

    pub(crate) fn level(&self) -> LoadLevel {
        self.level
    }

    pub(crate) fn probe_answered(&mut self) {
        self.change(-1);
    }

    pub(crate) fn nacks_missing(&mut self, count: usize) {
        self.change(i8::try_from(count).unwrap_or(i8::MAX));
    }

    pub(crate) fn refuted_accusation(&mut self) {
        self.change(1);
    }

    /// The loop ran this late. Counts once, at the end of the period, with the largest lag of it.
    pub(crate) fn lagged(&mut self, lag: Duration) {
        self.lag_max = self.lag_max.max(lag);
        let seen = LoadLevel::of(self.lhm, self.lag_max, self.tick);
        if self.mode == Lifeguard::On {
            self.level = self.level.max(seen);
        }
    }

    /// Closes a period: lag moves the multiplier, and the level is made anew.
    pub(crate) fn period_ended(&mut self) {
        let half_ticks = self.lag_max.as_nanos().saturating_mul(2) / self.tick.as_nanos().max(1);
        self.change(match half_ticks {
            0 => -1,
            1 => 1,
            _ => 2,
        });
        if self.mode == Lifeguard::On {
            self.level = LoadLevel::of(self.lhm, self.lag_max, self.tick);
        }
        self.lag_max = Duration::ZERO;
    }

    /// A timeout or period of this node: the larger of the two factors applies, never their product.
    pub(crate) fn stretch(&self, base: Duration) -> Duration {
        let quarters = (4 * (u32::from(self.lhm) + 1)).max(self.level.quarters());
        base * quarters / 4
    }

    /// The gossip interval: only the level slows it, an ill node must still be able to refute.
    pub(crate) fn stretch_gossip(&self, base: Duration) -> Duration {
        base * self.level.quarters() / 4
    }

    fn change(&mut self, by: i8) {
        if self.mode == Lifeguard::On {
            self.lhm = self.lhm.saturating_add_signed(by).min(LHM_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(200);
    const SECOND: Duration = Duration::from_secs(1);

    fn awareness() -> Awareness {
        Awareness::new(Lifeguard::On, TICK)
    }

    #[test]
    fn multiplier_stays_between_zero_and_eight() {
        let mut it = awareness();
        it.probe_answered();
        assert_eq!(it.lhm(), 0);
        for _ in 0..20 {
            it.nacks_missing(3);
        }
        assert_eq!(it.lhm(), 8);
        assert_eq!(it.stretch(SECOND), 9 * SECOND);
    }

    #[test]
    fn lag_adds_one_or_two_and_its_absence_takes_one() {
        let mut it = awareness();
        it.lagged(TICK / 2);
        it.period_ended();
        assert_eq!(it.lhm(), 1);
        it.lagged(TICK / 4);
        it.lagged(TICK);
        it.period_ended();
        assert_eq!(it.lhm(), 3);
        it.lagged(TICK / 4);
        it.period_ended();
        assert_eq!(it.lhm(), 2);
    }

    #[test]
    fn refuting_and_missing_nacks_add_and_an_answer_subtracts() {
        let mut it = awareness();
        it.refuted_accusation();
        it.nacks_missing(2);
        assert_eq!(it.lhm(), 3);
        it.probe_answered();
        assert_eq!(it.lhm(), 2);
        it.nacks_missing(0);
        assert_eq!(it.lhm(), 2);
    }

    #[test]
    fn larger_of_both_factors_applies_never_their_product() {
        let mut it = awareness();
        it.lagged(4 * TICK);
        assert_eq!((it.lhm(), it.level()), (0, LoadLevel::Critical));
        assert_eq!(it.stretch(SECOND), 3 * SECOND);
        it.nacks_missing(4);
        assert_eq!(it.stretch(SECOND), 5 * SECOND);
    }

    #[test]
    fn elevated_load_stretches_by_a_quarter() {
        let mut it = awareness();
        it.lagged(TICK / 2);
        assert_eq!(it.stretch(SECOND), Duration::from_millis(1250));
        assert_eq!(it.stretch_gossip(TICK), Duration::from_millis(250));
    }

    #[test]
    fn without_lifeguard_nothing_moves() {
        let mut it = Awareness::new(Lifeguard::Off, TICK);
        it.nacks_missing(3);
        it.refuted_accusation();
        it.lagged(SECOND);
        it.period_ended();
        assert_eq!((it.lhm(), it.level()), (0, LoadLevel::Normal));
        assert_eq!(it.stretch(SECOND), SECOND);
    }
}
