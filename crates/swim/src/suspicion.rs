//! A running suspicion: how long its subject may take to contradict.
//!
//! The timeout starts at its maximum and shrinks with every independent accuser (Lifeguard §IV-B):
//! `max(min, max − (max−min)·log(C+1)/log(K+1))`, min = α·max(1, log₁₀ n)·T, max = β·min, K = min(3, n − 2).
//! With K ≤ 0 nobody could ever confirm, and the timeout is min. A confirmation moves the deadline; the start of the
//! suspicion never moves, so repeated gossip can neither prolong nor restart it.

use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::awareness::Lifeguard;
use crate::claim::Status;
use crate::config::SuspicionConfig;

/// Confirmations after which the timeout is at its minimum, in clusters large enough to have them.
pub const CONFIRMATIONS_MAX: usize = 3;
/// Accusers remembered: the first one and those who confirm.
pub const WITNESSES_MAX: usize = CONFIRMATIONS_MAX + 1;

/// Who accused, in the order they were heard; at most [`WITNESSES_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Witnesses([Option<NodeId>; WITNESSES_MAX]);

impl Witnesses {
    /// One witness.
    pub fn one(node: NodeId) -> Self {
        Self::from_iter([node])
    }

    /// The nodes, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().flatten().copied()
    }

    /// Remembers a node; false if it is known already or there is no room.
    fn add(&mut self, node: NodeId) -> bool {
        if self.0.contains(&Some(node)) {
            return false;
        }
        match self.0.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => {
                *slot = Some(node);
                true
            }
            None => false,
        }
    }
}

impl FromIterator<NodeId> for Witnesses {
    /// The first [`WITNESSES_MAX`] of them, each once.
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut witnesses = Self::default();
        for node in nodes {
            witnesses.add(node);
        }
        witnesses
    }
}

/// The formula above with the numbers of one suspicion; they are fixed when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspicionTimeouts {
    min: Duration,
    max: Duration,
    /// Confirmations that bring the timeout to its minimum (K).
    confirmations_needed: usize,
}

impl SuspicionTimeouts {
    /// `period` is T, `members` is n: everyone who is alive or suspected, and the node itself.
    pub fn new(config: &SuspicionConfig, period: Duration, members: usize, mode: Lifeguard) -> Self {
        let min = config.timeout_min(period, members);
        match mode {
            Lifeguard::On => Self {
                min,
                max: min * config.beta.get(),
                confirmations_needed: members.saturating_sub(2).min(CONFIRMATIONS_MAX),
            },
            Lifeguard::Off => Self { min, max: min, confirmations_needed: 0 },
        }
    }

    /// The timeout with all confirmations that could come.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The timeout with this many confirmations (C).
    pub fn with(&self, confirmations: usize) -> Duration {
        if self.confirmations_needed == 0 {
            return self.min;
        }
        let share = ((confirmations + 1) as f64).ln() / ((self.confirmations_needed + 1) as f64).ln();
        let shrunk =
            self.max.as_secs_f64() - self.max.saturating_sub(self.min).as_secs_f64() * share.clamp(0.0, 1.0);
        Duration::from_secs_f64(shrunk).max(self.min)
    }
}

/// One suspicion of one identity of a member.
#[derive(Clone, Debug)]
pub(crate) struct Suspicion {
    started: Now,
    timeouts: SuspicionTimeouts,
    confirmations: usize,
    witnesses: Witnesses,
    /// What holds of a subject that does not contradict: dead, or left if somebody said so.
    verdict: Status,
}

impl Suspicion {
    pub(crate) fn new(now: Now, accuser: NodeId, timeouts: SuspicionTimeouts) -> Self {
        let (witnesses, verdict) = (Witnesses::one(accuser), Status::Dead);
        Self { started: now, timeouts, confirmations: 0, witnesses, verdict }
    }

    /// Counts an accuser; true if it was new and moved the deadline.
    pub(crate) fn confirm(&mut self, accuser: NodeId) -> bool {
        if self.confirmations >= self.timeouts.confirmations_needed || !self.witnesses.add(accuser) {
            return false;
        }
        self.confirmations += 1;
        true
    }

    /// Somebody already takes the subject for dead, or says that it left: no need to wait for confirmations.
    pub(crate) fn hasten(&mut self, gone: Status) {
        self.confirmations = self.timeouts.confirmations_needed;
        self.verdict = self.verdict.max(gone);
    }

    /// When the subject counts as gone.
    pub(crate) fn deadline(&self) -> Now {
        self.started.plus(self.timeout())
    }

    /// As what it counts then.
    pub(crate) fn verdict(&self) -> Status {
        self.verdict
    }

    pub(crate) fn witnesses(&self) -> Witnesses {
        self.witnesses
    }

    fn timeout(&self) -> Duration {
        self.timeouts.with(self.confirmations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(1);

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn suspicion(members: usize) -> Suspicion {
        let config = SuspicionConfig::default();
        let timeouts = SuspicionTimeouts::new(&config, PERIOD, members, Lifeguard::On);
        Suspicion::new(Now::ZERO, node(1), timeouts)
    }

    fn timeouts(members: usize) -> Vec<f64> {
        let mut it = suspicion(members);
        let mut all = vec![it.timeout().as_secs_f64()];
        for accuser in 2..6 {
            it.confirm(node(accuser));
            all.push((it.timeout().as_secs_f64() * 1000.0).round() / 1000.0);
        }
        all
    }

    #[test]
    fn timeout_shrinks_from_max_to_min_with_confirmations() {
        // n = 10: min 3 s, max 18 s, K = 3; the logarithm halves the way at one confirmation.
        assert_eq!(timeouts(10), [18.0, 10.5, 6.113, 3.0, 3.0]);
        // n = 1000: three times that, without rounding the logarithm up.
        assert_eq!(timeouts(1000), [54.0, 31.5, 18.338, 9.0, 9.0]);
    }

    #[test]
    fn timeout_follows_the_formula_between_powers_of_ten() {
        let min = suspicion(128).timeouts.min().as_secs_f64();
        assert!((min - 3.0 * 128f64.log10()).abs() < 1e-6, "{min}");
    }

    #[test]
    fn small_clusters_need_fewer_confirmations() {
        // n = 3: one possible confirmer. n = 2: none, so the minimum at once.
        assert_eq!(timeouts(3), [18.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(timeouts(2), [3.0; 5]);
        assert_eq!(timeouts(1), [3.0; 5]);
    }

    #[test]
    fn repeated_accuser_changes_nothing() {
        let mut it = suspicion(10);
        assert!(!it.confirm(node(1)));
        assert!(it.confirm(node(2)));
        assert!(!it.confirm(node(2)));
        assert_eq!(it.timeout(), Duration::from_secs_f64(10.5));
    }

    #[test]
    fn confirmation_moves_the_deadline_but_never_the_start() {
        let mut it = suspicion(10);
        let first = it.deadline();
        it.confirm(node(2));
        assert!(it.deadline() < first);
        assert_eq!(it.deadline(), Now::after_start(Duration::from_secs_f64(10.5)));
        assert_eq!(it.witnesses().iter().collect::<Vec<_>>(), [node(1), node(2)]);
    }

    #[test]
    fn hastened_suspicion_still_leaves_the_minimum() {
        let mut it = suspicion(10);
        it.hasten(Status::Dead);
        assert_eq!(it.timeout(), Duration::from_secs(3));
        assert!(!it.confirm(node(9)));
    }

    #[test]
    fn without_lifeguard_the_timeout_is_the_minimum() {
        let config = SuspicionConfig::default();
        let timeouts = SuspicionTimeouts::new(&config, PERIOD, 10, Lifeguard::Off);
        let it = Suspicion::new(Now::ZERO, node(1), timeouts);
        assert_eq!(it.deadline(), Now::after_start(Duration::from_secs(3)));
    }
}
