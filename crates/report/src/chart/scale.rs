//! From values to places on an axis, and the ticks of an axis.

use crate::human;

/// Ticks an axis has at most, unless its scale has ticks of its own.
const TICKS_MAX: f64 = 6.0;
/// Steps of seconds that people count time in.
const TIME_STEPS: [f64; 16] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0,
    43_200.0,
];
/// Most nines that are drawn: the best sample of a billion.
const NINES_MAX: f64 = 9.0;

/// How values become places between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Equal steps for equal differences.
    Linear { min: f64, max: f64 },
    /// Equal steps for equal factors. Both ends are above zero.
    Log { min: f64, max: f64 },
    /// Shares of all samples, `0.0 ..= 1.0`: equal steps for every further nine, up to so many.
    Nines { max: f64 },
}

/// What the numbers of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Plain numbers.
    Count,
    /// Per second.
    Rate,
    /// Microseconds.
    Micros,
    /// Seconds of the run.
    Seconds,
    /// Shares of all samples.
    Percentile,
}

impl Scale {
    /// From zero to at least `max`, so that the last tick is the upper end.
    pub(crate) fn from_zero(max: f64) -> Self {
        let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
        let step = nice_step(max / TICKS_MAX);
        Scale::Linear { min: 0.0, max: (max / step).ceil() * step }
    }

    /// For durations from `min` to `max`: by factors if they differ by more than one power of ten.
    pub(crate) fn of_durations(min: f64, max: f64) -> Self {
        if min > 0.0 && max / min > 10.0 { Scale::factors(min, max) } else { Scale::from_zero(max) }
    }

    /// By factors, from and to numbers that read well.
    pub(crate) fn factors(min: f64, max: f64) -> Self {
        let min = if min.is_finite() && min > 0.0 { min } else { 1.0 };
        let max = if max.is_finite() && max > min { max } else { min * 10.0 };
        Scale::Log { min: round_number(min, f64::floor), max: round_number(max, f64::ceil) }
    }

    /// Shares of `count` samples: as many nines as there are samples for.
    pub(crate) fn nines(count: u64) -> Self {
        Scale::Nines { max: (count.max(10) as f64).log10().clamp(1.0, NINES_MAX) }
    }

    /// Where a value lies: 0 at the lower end, 1 at the upper; never outside.
    pub(crate) fn place(self, value: f64) -> f64 {
        let place = match self {
            Scale::Linear { min, max } => (value - min) / (max - min),
            Scale::Log { min, max } => (value.max(min) / min).ln() / (max / min).ln(),
            Scale::Nines { max } => -(1.0 - value).max(1e-12).log10() / max,
        };
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Values that get a line and a label.
    pub(crate) fn ticks(self, unit: Unit) -> Vec<(f64, String)> {
        let values = match self {
            Scale::Linear { min, max } if unit == Unit::Seconds => {
                steps(min, max, time_step((max - min) / TICKS_MAX))
            }
            Scale::Linear { min, max } => steps(min, max, nice_step((max - min) / TICKS_MAX)),
            Scale::Log { min, max } => factors(min, max),
            Scale::Nines { max } => nines(max),
        };
        values.into_iter().map(|value| (value, label(value, unit))).collect()
    }
}

fn steps(min: f64, max: f64, step: f64) -> Vec<f64> {
    let count = ((max - min) / step + 1e-9).floor().min(4.0 * TICKS_MAX) as u32;
    (0..=count).map(|number| min + step * f64::from(number)).collect()
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn nice_step(step: f64) -> f64 {
    round_number(step.max(1e-9), f64::ceil)
}

fn time_step(step: f64) -> f64 {
    TIME_STEPS.into_iter().find(|nice| *nice >= step).unwrap_or_else(|| nice_step(step))
}

/// The nearest of 1, 2, 5 times a power of ten on the side that `towards` says.
fn round_number(value: f64, towards: fn(f64) -> f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let digit = value / power;
    let up = towards(0.5) > 0.5;
    let candidates = [1.0, 2.0, 5.0, 10.0];
    let found = if up {
        candidates.into_iter().find(|nice| *nice >= digit - 1e-9)
    } else {
        candidates.into_iter().rev().find(|nice| *nice <= digit + 1e-9)
    };
    found.unwrap_or(1.0) * power
}

/// Powers of ten; with their double and fivefold where the axis is short.
fn factors(min: f64, max: f64) -> Vec<f64> {
    let decades = (max / min).log10();
    let digits: &[f64] = if decades <= 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (first, last) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
    all.filter(|value| *value >= min * 0.999 && *value <= max * 1.001).collect()
}

fn nines(max: f64) -> Vec<f64> {
    let all: [f64; 9] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 0.999_999_9, 0.999_999_99];
    all.into_iter().filter(|share| -(1.0 - share).log10() <= max + 1e-9).collect()
}

/// A number as short as an axis needs it.
fn label(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => short(value),
        Unit::Rate => format!("{}/s", short(value)),
        Unit::Micros => micros(value),
        Unit::Seconds => seconds(value),
        Unit::Percentile => {
            format!("{}%", human::number((value * 1e9).round() / 1e7).trim_end_matches(".00"))
        }
    }
}

fn short(value: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let (divisor, unit) = UNITS.into_iter().find(|(from, _)| value >= *from).unwrap_or((1.0, ""));
    format!("{}{unit}", trimmed(value / divisor))
}

fn micros(us: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(60e6, "m"), (1e6, "s"), (1e3, "ms"), (1.0, "µs")];
    if us <= 0.0 {
        return "0".to_owned();
    }
    let below = (1e-3, "ns");
    let (divisor, unit) = UNITS.into_iter().find(|(from, _)| us >= from * 0.9999).unwrap_or(below);
    format!("{}{unit}", trimmed(us / divisor))
}

fn seconds(s: f64) -> String {
    let whole = s.round() as u64;
    match whole {
        0..60 => format!("{whole}s"),
        60..3_600 if whole.is_multiple_of(60) => format!("{}m", whole / 60),
        60..3_600 => format!("{}m{:02}s", whole / 60, whole % 60),
        _ if whole.is_multiple_of(3_600) => format!("{}h", whole / 3_600),
        _ => format!("{}h{:02}m", whole / 3_600, whole % 3_600 / 60),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, unit: Unit) -> Vec<String> {
        scale.ticks(unit).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn linear_axes_begin_at_zero_and_end_at_a_tick() {
        assert_eq!(labels(Scale::from_zero(1_234.0), Unit::Rate), ["0/s", "500/s", "1k/s", "1.5k/s"]);
        assert_eq!(labels(Scale::from_zero(0.0), Unit::Count), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Scale::from_zero(64.0), Unit::Count), ["0", "20", "40", "60", "80"]);
    }

    #[test]
    fn time_is_counted_as_people_count_it() {
        let of = |max| labels(Scale::Linear { min: 0.0, max }, Unit::Seconds);
        assert_eq!(of(6.0), ["0s", "1s", "2s", "3s", "4s", "5s", "6s"]);
        assert_eq!(of(100.0), ["0s", "30s", "1m", "1m30s"]);
        assert_eq!(of(7_300.0), ["0s", "30m", "1h", "1h30m", "2h"]);
    }

    #[test]
    fn durations_that_differ_widely_are_shown_by_factors() {
        assert_eq!(Scale::of_durations(3_000.0, 5_000.0), Scale::Linear { min: 0.0, max: 5_000.0 });
        let wide = Scale::of_durations(900.0, 1_200_000.0);
        assert_eq!(wide, Scale::Log { min: 500.0, max: 2_000_000.0 });
        assert_eq!(labels(wide, Unit::Micros), ["1ms", "10ms", "100ms", "1s"]);
    }

    #[test]
    fn every_nine_takes_the_same_room() {
        let scale = Scale::nines(10_000);
        assert_eq!(labels(scale, Unit::Percentile), ["50%", "90%", "99%", "99.9%", "99.99%"]);
        let places: Vec<f64> = [0.9, 0.99, 0.999].map(|share| scale.place(share)).to_vec();
        assert!((places[1] - 2.0 * places[0]).abs() < 1e-9 && (places[2] - 3.0 * places[0]).abs() < 1e-9);
    }

    #[test]
    fn no_value_leaves_the_axis() {
        for scale in [Scale::from_zero(10.0), Scale::factors(1.0, 100.0), Scale::nines(100)] {
            for value in [-1.0, 0.0, 1e12, f64::NAN, f64::INFINITY] {
                assert!((0.0..=1.0).contains(&scale.place(value)), "{scale:?} {value}");
            }
        }
    }
}
