//! Mixes: one load for several workflows, split by weight.
//!
//! VUs and iterations are apportioned by largest remainder ([`apportion`]). Starts of a uniform open model are dealt out one
//! by one: start `k` of the plan's curve belongs to one workflow, and [`turns`] says to which, the same on every core.
//! After any number of starts each workflow has had its exact share, give or take less than one start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Sum of the weights of a mix, divided by their greatest common divisor: the length of the sequence of turns.
pub const PERIOD_MAX: u64 = 1_000_000;

/// Splits a number by weights, exactly: whole shares first, then one each to the largest remainders, the first ones among
/// equals. Where there are enough, nobody is left without any: those take one from who has the most.
pub fn apportion(total: u64, weights: &[u32]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact: Vec<u128> = weights.iter().map(|weight| u128::from(total) * u128::from(*weight)).collect();
    let mut shares: Vec<u64> = exact.iter().map(|exact| (exact / sum) as u64).collect();
    let left = total - shares.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| Reverse(exact[*at] % sum));
    for at in order.into_iter().take(left as usize) {
        shares[at] += 1;
    }
    if total >= weights.len() as u64 {
        while let Some(none) = shares.iter().position(|share| *share == 0) {
            let most = (0..shares.len()).max_by_key(|at| (shares[*at], Reverse(*at))).unwrap_or(none);
            shares[most] -= 1;
            shares[none] += 1;
        }
    }
    shares
}

/// Which starts of the plan's curve belong to one workflow of a mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Its positions in one period, ascending.
    positions: Arc<[u32]>,
    period: u32,
}

impl Turns {
    /// How many of the first `n` starts of the mix are its own.
    pub fn count_of(&self, n: u64) -> u64 {
        let (periods, rest) = (n / u64::from(self.period), (n % u64::from(self.period)) as u32);
        let own = self.positions.len() as u64;
        periods * own + self.positions.partition_point(|position| *position < rest) as u64
    }

    /// The number in the mix of its own start `k`.
    #[inline]
    pub fn number_of(&self, k: u64) -> u64 {
        let own = self.positions.len() as u64;
        k / own * u64::from(self.period) + u64::from(self.positions[(k % own) as usize])
    }

    /// Its share of the mix, 0 … 1.
    pub fn share(&self) -> f64 {
        self.positions.len() as f64 / f64::from(self.period)
    }
}

/// The sum of weights divided by their greatest common divisor.
pub fn period(weights: &[u32]) -> u64 {
    let divisor = weights.iter().fold(0, |a, b| gcd(a, *b)).max(1);
    weights.iter().map(|weight| u64::from(weight / divisor)).sum()
}

/// Deals starts out to the workflows of a mix. `None` if a weight is zero or the period is longer than [`PERIOD_MAX`].
///
/// R. Tijdeman, The chairman assignment problem (1980): with `m` workflows there is a sequence in which nobody is ever more
/// than `1 − 1/(2m − 2)` away from the exact proportion. Turn `x` of a workflow with share `λ` must lie within
/// `(x + 1/D) / λ ..= (x + 1 − 1/D) / λ + 1`, where `D = 2m − 2`; taking the earliest deadline first meets them all.
pub fn turns(weights: &[u32]) -> Option<Vec<Turns>> {
    let divisor = weights.iter().fold(0, |a, b| gcd(a, *b)).max(1);
    let weights: Vec<u64> = weights.iter().map(|weight| u64::from(weight / divisor)).collect();
    let period: u64 = weights.iter().sum();
    if weights.contains(&0) || period > PERIOD_MAX {
        return None;
    }
    let d = (2 * weights.len() as u64).saturating_sub(2).max(1);
    let released = |at: usize, turn: u64| (period * (d * turn + 1)).div_ceil(d * weights[at]);
    let deadline = |at: usize, turn: u64| period * (d * turn + d - 1) / (d * weights[at]) + 1;
    let mut positions: Vec<Vec<u32>> = vec![Vec::new(); weights.len()];
    let mut later: BinaryHeap<_> = (0..weights.len()).map(|at| Reverse((released(at, 0), at))).collect();
    let mut now = BinaryHeap::new();
    for number in 1..=period {
        while let Some(Reverse((_, at))) = later.peek().copied().filter(|next| next.0.0 <= number) {
            later.pop();
            now.push(Reverse((deadline(at, positions[at].len() as u64), at)));
        }
        let Some(Reverse((_, at))) = now.pop() else { continue };
        positions[at].push((number - 1) as u32);
        let turn = positions[at].len() as u64;
        if turn < weights[at] {
            later.push(Reverse((released(at, turn), at)));
        }
    }
    let turns = |positions: Vec<u32>| Turns { positions: positions.into(), period: period as u32 };
    Some(positions.into_iter().map(turns).collect())
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_apportioned_by_largest_remainder() {
        for (total, weights, wanted) in [
            (100, &[70, 30][..], vec![70, 30]),
            (10, &[1, 1, 1], vec![4, 3, 3]),
            (7, &[5, 3, 2], vec![4, 2, 1]),
            (10, &[99, 1], vec![9, 1]),
            (2, &[98, 1, 1], vec![2, 0, 0]),
            (3, &[98, 1, 1], vec![1, 1, 1]),
            (0, &[3, 4], vec![0, 0]),
        ] {
            assert_eq!(apportion(total, weights), wanted, "{total} by {weights:?}");
        }
    }

    #[test]
    fn seven_to_three_is_dealt_out_evenly() {
        let turns = turns(&[70, 30]).unwrap();
        assert_eq!(*turns[0].positions, [0, 2, 3, 4, 6, 7, 9]);
        assert_eq!(*turns[1].positions, [1, 5, 8]);
        assert_eq!((turns[1].number_of(4), turns[1].count_of(16)), (15, 5));
    }

    #[test]
    fn a_sequence_has_a_longest_period() {
        assert_eq!(period(&[1_000_000, 1_000_000]), 2);
        assert!(turns(&[1_000_000, 1]).is_none());
        assert!(turns(&[3, 0]).is_none());
        assert_eq!(turns(&[5]).unwrap()[0].number_of(9), 9, "a mix of one has every turn");
    }

    proptest! {
        #[test]
        fn shares_add_up_and_are_within_one(total in 0u64..100_000, weights in vec(1u32..1_000, 1..12)) {
            let shares = apportion(total, &weights);
            prop_assert_eq!(shares.iter().sum::<u64>(), total);
            if total >= weights.len() as u64 {
                prop_assert!(!shares.contains(&0));
            }
            let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            if shares.iter().zip(&weights).all(|(_, weight)| total * u64::from(*weight) >= sum) {
                for (share, weight) in shares.iter().zip(&weights) {
                    prop_assert!((share * sum).abs_diff(total * u64::from(*weight)) < sum);
                }
            }
        }

        #[test]
        fn every_prefix_is_within_one_start_of_the_proportion(weights in vec(1u32..60, 1..9)) {
            let (turns, period) = (turns(&weights).unwrap(), period(&weights));
            let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            for n in 0..=2 * period {
                let counts: Vec<u64> = turns.iter().map(|turns| turns.count_of(n)).collect();
                prop_assert_eq!(counts.iter().sum::<u64>(), n, "each start has one workflow");
                for (count, weight) in counts.iter().zip(&weights) {
                    let (count, exact) = (count * sum, n * u64::from(*weight));
                    prop_assert!(count.abs_diff(exact) < sum, "{:?} after {}", counts, n);
                }
            }
        }

        #[test]
        fn number_of_and_count_of_agree(weights in vec(1u32..60, 1..9), k in 0u64..500) {
            for turns in turns(&weights).unwrap() {
                let number = turns.number_of(k);
                prop_assert_eq!(turns.count_of(number), k);
                prop_assert_eq!(turns.count_of(number + 1), k + 1);
            }
        }
    }
}
