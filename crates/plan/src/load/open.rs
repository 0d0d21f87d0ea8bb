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
//!
//! A change of rate changes the curve, never where starts lie in its integral. So nothing is lost or made twice however
//! often the rate changes and whenever a core hears of it: one that hears late has made starts too many and waits until
//! the integral has come that far, or has made too few and makes them at once.

use super::curve::{Curve, Piece};
use super::mix::Turns;
use super::random::Random;
use super::share::Share;
use crate::model::workflow::ArrivalKind;

/// The intended starts of one core, in order, in nanoseconds since the begin of the curve.
#[derive(Clone, Debug)]
pub struct Arrivals {
    share: Share,
    process: Process,
    pieces: Box<[Piece]>,
    /// The piece in which the last start lay; starts only go forward.
    piece: usize,
    length_ns: u64,
    last_ns: u64,
    /// The next start, if it was asked for.
    due: Option<u64>,
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
        /// Integral at the next start, once it was drawn.
        next: Option<f64>,
        /// Integral at the newest start that was drawn.
        at: f64,
        /// Starts that are still to be drawn lie between `at` and here.
        end: f64,
        /// How many they are.
        left: u64,
        /// Integral at the end of the curve: beyond `end`, or before it, if the rate was changed.
        area: f64,
        random: Random,
    },
}

impl Arrivals {
    /// The starts of one core of a workflow. All cores must be given the same curve, kind and seed.
    pub fn new(curve: &Curve, kind: ArrivalKind, share: Share, seed: u64) -> Self {
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
                next: None,
                at: 0.0,
                end: area,
                left: share.count_of(starts_of(area)),
                area,
                random: Random::new(seed, u64::from(share.core)),
            },
        };
        let (pieces, length_ns) = (curve.pieces().collect(), curve.length().as_nanos());
        Self { share, process, pieces, piece: 0, length_ns, last_ns: 0, due: None }
    }

    /// Leaves out the starts before `at_ns`, for a core that takes over in the middle of the curve.
    pub fn begin_at(&mut self, at_ns: u64) {
        while self.peek().is_some_and(|due| due < at_ns) {
            self.next();
        }
    }

    /// Changes the workflow's rate from `at_ns` on. `before` is the integral up to there: the number of starts of the whole
    /// workflow that are due before `at_ns`, earlier changes included. Both must be the same on all cores. To be called
    /// when all starts that are due before `at_ns` were taken.
    pub fn rescale(&mut self, at_ns: u64, rate: f64, before: f64) {
        let over_ns = self.length_ns.saturating_sub(at_ns);
        let piece = Piece { from_ns: at_ns, over_ns, from: rate, to: rate, before };
        let area_now = before + piece.area();
        match &mut self.process {
            Process::Uniform { end, turns, .. } => {
                *end = turns.as_ref().map_or_else(|| starts_of(area_now), |turns| dealt(area_now, turns));
            }
            Process::Poisson { area, .. } => *area = area_now,
        }
        self.pieces = Box::new([piece]);
        (self.piece, self.due) = (0, None);
    }

    /// When the next start is due, without taking it.
    #[inline]
    pub fn peek(&mut self) -> Option<u64> {
        if self.due.is_none() {
            let area = self.next_area()?;
            let last = self.pieces.len().checked_sub(1)?;
            while self.piece < last && area > self.pieces[self.piece].before + self.pieces[self.piece].area()
            {
                self.piece += 1;
            }
            self.due = Some(self.pieces[self.piece].time_of(area).max(self.last_ns));
        }
        self.due
    }

    /// Integral at the next start.
    #[inline]
    fn next_area(&mut self) -> Option<f64> {
        match &mut self.process {
            Process::Uniform { next, end, turns, step } => {
                let k = next.filter(|k| k < end)?;
                Some(uniform_area(k, turns.as_ref(), *step))
            }
            Process::Poisson { next, at, end, left, area, random } => {
                if next.is_none() {
                    if *left == 0 && *area > *end {
                        let more = |area: f64| self.share.count_of(starts_of(area));
                        *left = more(*area) - more(*end);
                        (*at, *end) = (*end, *area);
                    }
                    let m = *left;
                    *left = m.checked_sub(1)?;
                    *at += (*end - *at) * -(random.unit().ln() / m as f64).exp_m1();
                    *next = Some(*at);
                }
                next.filter(|next| next <= area)
            }
        }
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let due = self.peek()?;
        match &mut self.process {
            Process::Uniform { next, .. } => *next = next.map(|k| self.share.next(k)),
            Process::Poisson { next, .. } => *next = None,
        }
        (self.last_ns, self.due) = (due, None);
        Some(due)
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
        let of = |share: &Share| Arrivals::new(curve, kind.clone(), *share, seed);
        let mut all: Vec<u64> = shares.iter().flat_map(of).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_constant_rate_starts_evenly() {
        let starts: Vec<u64> =
            Arrivals::new(&Curve::constant(4.0, Span::from_secs(1)), ArrivalKind::Uniform, ALONE, 0)
                .collect();
        assert_eq!(starts, [125_000_000, 375_000_000, 625_000_000, 875_000_000]);
    }

    #[test]
    fn a_ramp_starts_at_the_roots_of_its_integral() {
        let ramp = Curve { start: 0.0, stages: vec![Stage { to: 8.0, over: Span::from_secs(1) }] };
        let starts: Vec<u64> = Arrivals::new(&ramp, ArrivalKind::Uniform, ALONE, 0).collect();
        // 4 t² = k + ½
        let wanted = [0.353_553_391, 0.612_372_436, 0.790_569_415, 0.935_414_347].map(|s| (s * 1e9) as u64);
        assert_eq!(starts, wanted);
    }

    /// Takes what is due before a time.
    fn take_until(arrivals: &mut Arrivals, until: u64) -> Vec<u64> {
        let mut taken = Vec::new();
        while arrivals.peek().is_some_and(|due| due < until) {
            taken.extend(arrivals.next());
        }
        taken
    }

    #[test]
    fn changes_of_rate_lose_nothing_whenever_cores_hear_of_them() {
        let shares = [0, 1, 2].map(|core| Share { core, cores: 3, vus: 10 });
        let changes: [(u64, f64); 4] = [(4_000, 1_000.0), (4_003, 7.0), (5_500, 333.3), (5_501, 100.0)];
        let (mut made, mut integral) = (0, 0.0);
        for (core, share) in shares.into_iter().enumerate() {
            let curve = Curve::constant(100.0, Span::from_secs(10));
            let mut arrivals = Arrivals::new(&curve, ArrivalKind::Uniform, share, 0);
            let (mut since, mut rate) = (0u64, 100.0);
            integral = 0.0;
            for (at_ms, next_rate) in changes {
                integral += rate * (at_ms - since) as f64 / 1e3;
                // Each core hears of each change at another time, and has drawn a start then.
                let heard = at_ms * S / 1_000 + core as u64 * 2 * S / 1_000;
                made += take_until(&mut arrivals, heard).len();
                arrivals.rescale(at_ms * S / 1_000, next_rate, integral);
                (since, rate) = (at_ms, next_rate);
            }
            integral += rate * (10_000 - since) as f64 / 1e3;
            let after: Vec<u64> = arrivals.collect();
            assert!(after.is_sorted() && after.last().is_some_and(|ns| *ns <= 10 * S));
            made += after.len();
        }
        assert_eq!(made as u64, starts_of(integral));
    }

    #[test]
    fn after_changes_cores_start_together_what_one_core_would() {
        let changes = [(4_000, 1_000.0, 400.0), (4_500, 10.0, 900.0), (6_000, 333.0, 915.0)];
        let starts = |share: Share| {
            let curve = Curve::constant(100.0, Span::from_secs(10));
            let mut arrivals = Arrivals::new(&curve, ArrivalKind::Uniform, share, 0);
            let mut starts = Vec::new();
            for (at_ms, rate, before) in changes {
                let at_ns = at_ms * S / 1_000;
                starts.extend(take_until(&mut arrivals, at_ns));
                arrivals.rescale(at_ns, rate, before);
            }
            starts.extend(arrivals);
            starts
        };
        let mut together: Vec<u64> =
            (0..3).flat_map(|core| starts(Share { core, cores: 3, vus: 10 })).collect();
        together.sort_unstable();
        assert_eq!(together, starts(ALONE));
        assert_eq!(together.len(), 915 + 4 * 333);
    }

    #[test]
    fn a_change_that_a_core_missed_does_not_matter() {
        let curve = Curve::constant(100.0, Span::from_secs(10));
        let mut every = Arrivals::new(&curve, ArrivalKind::Uniform, ALONE, 0);
        let mut last = every.clone();
        take_until(&mut every, 2 * S);
        every.rescale(2 * S, 1_000.0, 200.0);
        take_until(&mut last, 2 * S);
        every.rescale(3 * S, 10.0, 1_200.0);
        last.rescale(3 * S, 10.0, 1_200.0);
        assert_eq!(last.collect::<Vec<_>>(), every.collect::<Vec<_>>());
    }

    #[test]
    fn a_rate_of_zero_starts_nothing() {
        for kind in [ArrivalKind::Uniform, ArrivalKind::Poisson] {
            let curve = Curve::constant(100.0, Span::from_secs(10));
            let mut arrivals = Arrivals::new(&curve, kind.clone(), ALONE, 3);
            let before = take_until(&mut arrivals, 4 * S).len();
            arrivals.rescale(4 * S, 0.0, 400.0);
            // Starts of a Poisson process may be behind the integral; what is missing is made up for at once.
            let at_once = arrivals.by_ref().filter(|ns| *ns == 4 * S).count();
            assert_eq!(arrivals.next(), None, "{kind:?}");
            assert!(kind == ArrivalKind::Poisson || (before, at_once) == (400, 0), "{before} and {at_once}");
        }
    }

    #[test]
    fn poisson_starts_go_on_beyond_the_planned_number() {
        let shares = [0, 1].map(|core| Share { core, cores: 2, vus: 10 });
        let mut made = Vec::new();
        for share in shares {
            let mut arrivals =
                Arrivals::new(&Curve::constant(100.0, Span::from_secs(10)), ArrivalKind::Poisson, share, 5);
            made.extend(take_until(&mut arrivals, 4 * S));
            arrivals.rescale(4 * S, 10.0, 400.0);
            made.extend(take_until(&mut arrivals, 5 * S));
            arrivals.rescale(5 * S, 1_000.0, 410.0);
            made.extend(arrivals);
        }
        assert_eq!(made.len(), 5_410, "as many as the integral, over all cores");
        let (second, eighth) = (2 * S..3 * S, 8 * S..9 * S);
        let within = |range: std::ops::Range<u64>| made.iter().filter(|ns| range.contains(ns)).count();
        assert!((60..140).contains(&within(second.clone())), "{}", within(second));
        assert!((850..1_150).contains(&within(eighth.clone())), "{}", within(eighth));
    }

    #[test]
    fn a_core_that_takes_over_makes_the_starts_that_are_left() {
        for kind in [ArrivalKind::Uniform, ArrivalKind::Poisson] {
            let curve = Curve::constant(100.0, Span::from_secs(10));
            let mut first = Arrivals::new(&curve, kind, ALONE, 3);
            let mut second = first.clone();
            take_until(&mut first, 4 * S);
            second.begin_at(4 * S);
            assert_eq!(second.collect::<Vec<_>>(), first.collect::<Vec<_>>());
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
        fn a_core_starts_in_order(curve in curve(), shares in shares(), seed: u64, poisson: bool) {
            let kind = if poisson { ArrivalKind::Poisson } else { ArrivalKind::Uniform };
            let starts: Vec<u64> = Arrivals::new(&curve, kind, shares[0], seed).collect();
            prop_assert!(starts.is_sorted());
            prop_assert_eq!(starts.len() as u64, shares[0].count_of(starts_of(curve.area())));
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
            let before = curve.integral(at);
            let mut arrivals = Arrivals::new(&curve, kind, ALONE, 9);
            let mut last = take_until(&mut arrivals, at).last().copied().unwrap_or(0);
            arrivals.rescale(at, rate, before);
            for ns in arrivals {
                prop_assert!(ns >= last && ns <= length);
                last = ns;
            }
        }
    }
}
