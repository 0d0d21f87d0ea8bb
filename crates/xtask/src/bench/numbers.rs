//! Arithmetic of the benchmarks: medians, spreads, ratios of the same repetition. Pure.

/// Median, least and greatest of some repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// The spread of `values`; `None` without any, or if one is no number.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        if sorted.iter().any(|value| !value.is_finite()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self { median, min, max })
    }

    /// The spread of `value / reference`, repetition by repetition: what slowed the machine down in one repetition
    /// slowed both.
    pub(super) fn of_ratios(values: &[f64], references: &[f64]) -> Option<Self> {
        let pairs = values.iter().zip(references);
        Self::of(pairs.map(|(value, reference)| value / reference))
    }
}

/// The value below which that share of the values lies; sorts them.
pub(super) fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last * percent).div_ceil(100)).copied().unwrap_or(f64::NAN)
}

/// The order in which `count` clients run in a repetition: rotated, so that none always follows the same one.
pub(super) fn rotated(count: usize, repetition: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |at| (at + repetition) % count)
}

/// Two digits after the point below ten, one below hundred, none above; thousands apart.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1000.0 => thousands(value.round() as i64),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let mut groups: Vec<&str> = Vec::from_iter((!head.is_empty()).then_some(head));
    groups.extend((0..tail.len() / 3).map(|at| &tail[at * 3..at * 3 + 3]));
    format!("{}{}", if value < 0 { "-" } else { "" }, groups.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_or_between_the_two_middle_values() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).map(|spread| spread.median), Some(2.5));
        assert_eq!(Spread::of([7.0]), Some(Spread { median: 7.0, min: 7.0, max: 7.0 }));
    }

    #[test]
    fn percentile_of_few_values_is_one_of_them() {
        let mut values = [3.0, 1.0, 2.0];
        assert_eq!([0, 50, 99].map(|percent| percentile(&mut values, percent) as u32), [1, 2, 3]);
    }

    #[test]
    fn nothing_and_no_numbers_have_no_spread() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([1.0, f64::NAN]), None);
        assert_eq!(Spread::of_ratios(&[1.0], &[0.0]), None);
    }

    #[test]
    fn ratios_pair_values_of_the_same_repetition() {
        // The machine was half as fast in the second repetition; the ratio does not care.
        let spread = Spread::of_ratios(&[8.0, 16.0, 9.0], &[10.0, 20.0, 10.0]).expect("three pairs");
        assert_eq!(spread, Spread { median: 0.8, min: 0.8, max: 0.9 });
    }

    #[test]
    fn every_client_runs_once_per_repetition_in_rotated_order() {
        assert_eq!(rotated(3, 0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(rotated(3, 1).collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(rotated(3, 5).collect::<Vec<_>>(), [2, 0, 1]);
    }

    #[test]
    fn numbers_keep_three_digits_and_part_thousands() {
        let shown = [0.0, 0.8765, 7.9, 12.34, 123.4, 1234.0, 98_765.4, 1_234_567.0, -1200.0].map(number);
        assert_eq!(shown, ["0", "0.88", "7.90", "12.3", "123", "1 234", "98 765", "1 234 567", "-1 200"]);
    }
}
