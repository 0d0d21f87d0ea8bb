//! HOT: open models. The intended nanosecond of every start of a core; no allocation per start.
//!
//! Starts live in the space of the curve's integral, where they have a density of one. There are
//! `N = round(area of the curve)` of them in the whole workflow, exactly.
//! - **Uniform**: start `k` lies at integral `k + ½`. At any time the number of starts is the rounded integral.
//! - **Dealt**: the same of all workflows of a mix together, of which this one makes its turns. Its own curve is its share of
//!   the mix's, so that start `k` of the mix lies at integral `(k + ½) · share`.
//! - **Poisson**: given their number, the starts of a Poisson process are independent and uniform in the integral. The
//!   smallest of `m` uniform numbers in `(y, Y)` is `y + (Y − y)·(1 − U^(1/m))`, which yields them one by one in order.
//!
//! A core's starts are its [`Share`] of the numbers `0..N`.

use super::curve::{Curve, Piece};
use super::mix::Turns;
use super::random::Random;
use super::share::Share;
use crate::model::workflow::ArrivalKind;

/// The intended starts of one core, in order, in nanoseconds since the begin of the curve.
#[derive(Clone, Debug)]
pub struct Arrivals {
    curve: Curve,
    share: Share,
    process: Process,
    pieces: Box<[Piece]>,
    /// The piece in which the last start lay; starts only go forward.
    piece: usize,
    last_ns: u64,
}

#[derive(Clone, Debug)]
enum Process {
    Uniform {
        /// Number of the next start in the whole workflow.
        next: Option<u64>,
        /// Starts of the whole workflow.
        end: u64,
        /// Which starts of a mix these are.
        turns: Option<Turns>,
        /// Integral from one start of the mix to the next; 1 without a mix.
        step: f64,
    },
    Poisson {
        /// Integral at the last start.
        at: f64,
        /// Integral at the end of the curve.
        end: f64,
        /// Starts that this core has still to make.
        left: u64,
        random: Random,
    },
}

impl Arrivals {
    /// The starts of one core of a workflow. All cores must be given the same curve, kind and seed.
    pub fn new(curve: Curve, kind: ArrivalKind, share: Share, seed: u64) -> Self {
        let area = curve.area();
        let process = match kind {
            ArrivalKind::Uniform => {
                Process::Uniform { next: share.first(), end: starts_of(area), turns: None, step: 1.0 }
            }
            ArrivalKind::Dealt(turns) => Process::Uniform {
                next: share.first(),
                end: dealt(area, &turns),
                step: turns.share(),
                turns: Some(turns),
            },
            ArrivalKind::Poisson => Process::Poisson {
                at: 0.0,
                end: area,
                left: share.count_of(starts_of(area)),
                random: Random::new(seed, u64::from(share.core)),
            },
        };
        let pieces = curve.pieces().collect();
        Self { curve, share, process, pieces, piece: 0, last_ns: 0 }
    }

    /// How many starts this core has still to make.
    pub fn left(&self) -> u64 {
        match &self.process {
            Process::Uniform { next: None, .. } => 0,
            Process::Uniform { next: Some(next), end, .. } => {
                self.share.count_of(*end).saturating_sub(self.share.count_of(*next))
            }
            Process::Poisson { left, .. } => *left,
        }
    }

    /// Leaves out the starts before `at_ns`, for a core that takes over in the middle of the curve. To be called before
    /// the first start is taken.
    pub fn begin_at(&mut self, at_ns: u64) {
        if at_ns == 0 {
            return;
        }
        let done = self.curve.integral(at_ns);
        match &mut self.process {
            Process::Uniform { next, turns, step, .. } => {
                while let Some(k) = next.filter(|k| uniform_area(*k, turns.as_ref(), *step) < done) {
                    *next = Some(self.share.next(k));
                }
            }
            Process::Poisson { at, end, left, .. } => {
                *at = done.min(*end);
                *left = self.share.count_of(starts_of(*end - *at));
            }
        }
        self.last_ns = at_ns;
    }

    /// Changes the workflow's rate from `at_ns` on, on all cores with the same `at_ns`. To be called when all starts that are due
    /// before `at_ns` were taken. A start that was taken already is not made twice, and order is kept.
    pub fn rescale(&mut self, at_ns: u64, rate: f64) {
        self.curve = self.curve.changed(at_ns, rate);
        let area = self.curve.area();
        let done = self.curve.integral(at_ns);
        match &mut self.process {
            Process::Uniform { end, turns, .. } => {
                *end = turns.as_ref().map_or_else(|| starts_of(area), |turns| dealt(area, turns));
            }
            Process::Poisson { at, end, left, .. } => {
                *at = at.max(done);
                *end = area.max(*at);
                *left = self.share.count_of(starts_of(*end - *at));
            }
        }
        self.pieces = self.curve.pieces().collect();
        self.piece = 0;
    }

    /// Integral at the next start.
    #[inline]
    fn next_area(&mut self) -> Option<f64> {
        match &mut self.process {
            Process::Uniform { next, end, turns, step } => {
                let k = next.filter(|k| k < end)?;
                *next = Some(self.share.next(k));
                Some(uniform_area(k, turns.as_ref(), *step))
            }
            Process::Poisson { at, end, left, random } => {
                let m = *left;
                *left = m.checked_sub(1)?;
                *at += (*end - *at) * -(random.unit().ln() / m as f64).exp_m1();
                Some(*at)
            }
        }
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let area = self.next_area()?;
        let last = self.pieces.len().checked_sub(1)?;
        while self.piece < last && area > self.pieces[self.piece].before + self.pieces[self.piece].area() {
            self.piece += 1;
        }
        self.last_ns = self.pieces[self.piece].time_of(area).max(self.last_ns);
        Some(self.last_ns)
    }
}

/// Where start `k` of a workflow lies: in the middle between two numbers of the workflow, or of its mix.
#[inline]
fn uniform_area(k: u64, turns: Option<&Turns>, step: f64) -> f64 {
    let number = turns.map_or(k, |turns| turns.number_of(k));
    (number as f64 + 0.5) * step
}

/// Starts of a whole workflow whose curve has this area.
pub fn starts_of(area: f64) -> u64 {
    area.round() as u64
}

/// Starts of a whole workflow with this curve.
pub fn starts(curve: &Curve, kind: &ArrivalKind) -> u64 {
    match kind {
        ArrivalKind::Uniform | ArrivalKind::Poisson => starts_of(curve.area()),
        ArrivalKind::Dealt(turns) => dealt(curve.area(), turns),
    }
}

/// Starts of one workflow of a mix, whose own curve has this area.
fn dealt(area: f64, turns: &Turns) -> u64 {
    // Every workflow must come to the same number for the mix, also where rounding decides: 82.5 is 82.5 for all of them.
    const GRAIN: f64 = 1e6;
    turns.count_of(starts_of((area / turns.share() * GRAIN).round() / GRAIN))
}

#[cfg(test)]
mod tests {
    use super::super::curve::Stage;
    use super::super::tests::{curve, shares};
    use super::*;
    use crate::model::workflow::{Late, Load};
    use hyperscale_types::Span;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;
    const ALONE: Share = Share { core: 0, cores: 1, vus: 64 };

    fn all(curve: &Curve, kind: &ArrivalKind, shares: &[Share], seed: u64) -> Vec<u64> {
        let of = |share: &Share| Arrivals::new(curve.clone(), kind.clone(), *share, seed);
        let mut all: Vec<u64> = shares.iter().flat_map(of).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_constant_rate_starts_evenly() {
        let starts: Vec<u64> =
            Arrivals::new(Curve::constant(4.0, Span::from_secs(1)), ArrivalKind::Uniform, ALONE, 0).collect();
        assert_eq!(starts, [125_000_000, 375_000_000, 625_000_000, 875_000_000]);
    }

    #[test]
    fn a_ramp_starts_at_the_roots_of_its_integral() {
        let ramp = Curve { start: 0.0, stages: vec![Stage { to: 8.0, over: Span::from_secs(1) }] };
        let starts: Vec<u64> = Arrivals::new(ramp, ArrivalKind::Uniform, ALONE, 0).collect();
        // 4 t² = k + ½
        let wanted = [0.353_553_391, 0.612_372_436, 0.790_569_415, 0.935_414_347].map(|s| (s * 1e9) as u64);
        assert_eq!(starts, wanted);
    }

    #[test]
    fn a_change_of_rate_is_exact_too() {
        let shares = [0, 1, 2].map(|core| Share { core, cores: 3, vus: 10 });
        let mut total = 0;
        for share in shares {
            let curve = Curve::constant(100.0, Span::from_secs(10));
            let mut arrivals = Arrivals::new(curve, ArrivalKind::Uniform, share, 0);
            let mut peek = arrivals.clone();
            let before =
                arrivals.by_ref().take(std::iter::from_fn(|| peek.next().filter(|ns| *ns < 4 * S)).count());
            total += before.count();
            arrivals.rescale(4 * S, 1_000.0);
            let after: Vec<u64> = arrivals.collect();
            assert!(after.iter().all(|ns| (4 * S..=10 * S).contains(ns)));
            total += after.len();
        }
        assert_eq!(total, 400 + 6_000);
    }

    #[test]
    fn a_pause_starts_nothing() {
        for kind in [ArrivalKind::Uniform, ArrivalKind::Poisson] {
            let mut arrivals =
                Arrivals::new(Curve::constant(100.0, Span::from_secs(10)), kind.clone(), ALONE, 3);
            while arrivals.clone().next().is_some_and(|ns| ns < 4 * S) {
                arrivals.next();
            }
            arrivals.rescale(4 * S, 0.0);
            assert!(arrivals.count() <= 1, "{kind:?}");
        }
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let curve = Curve::constant(1_000.0, Span::from_secs(100));
        let starts =
            all(&curve, &ArrivalKind::Poisson, &[0, 1].map(|core| Share { core, cores: 2, vus: 64 }), 42);
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let longer = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "mean {mean}");
        assert!((variance.sqrt() - 1.0).abs() < 0.02, "deviation {}", variance.sqrt());
        assert!((longer - (-1f64).exp()).abs() < 0.01, "longer than the mean {longer}");
    }

    #[test]
    fn the_same_seed_gives_the_same_starts() {
        let curve = Curve::constant(50.0, Span::from_secs(2));
        let starts = |seed| all(&curve, &ArrivalKind::Poisson, &[ALONE], seed);
        assert_eq!(starts(1), starts(1));
        assert_ne!(starts(1), starts(2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_mix_starts_what_one_workflow_would_start(
            curve in curve(), weights in proptest::collection::vec(1u32..20, 1..5), cores in 1u32..4, part in 0.0f64..1.0,
        ) {
            let whole = all(&curve, &ArrivalKind::Uniform, &[ALONE], 0);
            let members = weights.iter().enumerate();
            let members = members.map(|(workflow, weight)| crate::model::MixMember { workflow, weight: *weight });
            let load = Load::Open { rate: curve.clone(), arrivals: ArrivalKind::Uniform, max_vus: 64, late: Late::Queue };
            let mix = crate::model::Mix { load, members: members.collect() };
            let own = |load: Load| {
                let Load::Open { rate, arrivals, max_vus, .. } = load else { unreachable!("an open mix") };
                let shares: Vec<Share> = (0..cores).map(|core| Share { core, cores, vus: max_vus.max(cores) }).collect();
                let own = all(&rate, &arrivals, &shares, 0);
                assert_eq!(own.len() as u64, starts(&rate, &arrivals));
                own
            };
            let each: Vec<Vec<u64>> = mix.loads().into_iter().map(own).collect();
            let at = (curve.length().as_nanos() as f64 * part) as u64;
            let before = |starts: &[u64]| starts.iter().filter(|ns| **ns <= at).count() as f64;
            let (sum, weights_sum) = (before(&whole), f64::from(weights.iter().sum::<u32>()));
            for (own, weight) in each.iter().zip(&weights) {
                // One start may lie on the other side of `at` by a nanosecond.
                prop_assert!((before(own) - sum * f64::from(*weight) / weights_sum).abs() < 2.0);
            }
            let mut together = each.concat();
            together.sort_unstable();
            prop_assert_eq!(together.len(), whole.len());
            prop_assert!(together.iter().zip(&whole).all(|(a, b)| a.abs_diff(*b) <= 50), "at the same times");
        }

        #[test]
        fn starts_of_all_cores_are_the_integral(
            curve in curve(), shares in shares(), seed: u64, poisson: bool,
        ) {
            let kind = if poisson { ArrivalKind::Poisson } else { ArrivalKind::Uniform };
            let starts = all(&curve, &kind, &shares, seed);
            prop_assert_eq!(starts.len() as u64, starts_of(curve.area()));
            prop_assert!(starts.last().is_none_or(|ns| *ns <= curve.length().as_nanos()));
        }

        #[test]
        fn a_core_starts_in_order_and_knows_what_is_left(
            curve in curve(), shares in shares(), seed: u64, poisson: bool,
        ) {
            let kind = if poisson { ArrivalKind::Poisson } else { ArrivalKind::Uniform };
            let mut arrivals = Arrivals::new(curve, kind, shares[0], seed);
            let (mut left, mut last) = (arrivals.left(), 0);
            while let Some(ns) = arrivals.next() {
                prop_assert!(ns >= last);
                last = ns;
                left -= 1;
                prop_assert_eq!(arrivals.left(), left);
            }
            prop_assert_eq!(left, 0);
        }

        #[test]
        fn uniform_starts_follow_the_curve_at_every_time(curve in curve(), shares in shares(), part in 0.0f64..1.0) {
            let at = (curve.length().as_nanos() as f64 * part) as u64;
            let started = all(&curve, &ArrivalKind::Uniform, &shares, 0).iter().filter(|ns| **ns <= at).count();
            let integral = curve.integral(at);
            prop_assert!((started as f64 - integral).abs() <= 0.5 + 1e-5, "{} for {}", started, integral);
        }

        #[test]
        fn a_change_keeps_order_and_ends_in_time(curve in curve(), part in 0.0f64..1.0, rate in 0.0f64..500.0, poisson: bool) {
            let kind = if poisson { ArrivalKind::Poisson } else { ArrivalKind::Uniform };
            let length = curve.length().as_nanos();
            let at = (length as f64 * part) as u64;
            let mut arrivals = Arrivals::new(curve, kind, ALONE, 9);
            let mut last = 0;
            while arrivals.clone().next().is_some_and(|ns| ns < at) {
                last = arrivals.next().expect("just seen");
            }
            arrivals.rescale(at, rate);
            for ns in arrivals {
                prop_assert!(ns >= last && ns <= length);
                last = ns;
            }
        }
    }
}
