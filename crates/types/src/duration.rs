//! Durations as people write them: `500ms`, `90s`, `1h30m`. A bare number has no meaning and is refused.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A length of time in whole nanoseconds, read and written with units.
///
/// It is called `Span` and not `Duration` so that a reader always knows whether a value came from a person
/// (with units, at most [`Span::MAX`]) or from a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(u64);

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// Nothing was written.
    #[error("a duration is empty; write a number with a unit, for example 500ms, 90s or 1h30m")]
    Empty,
    /// A number without a unit: seconds and milliseconds are too easily confused to guess.
    #[error("`{0}` has no unit; write {0}ms, {0}s, {0}m or {0}h")]
    NoUnit(String),
    /// A unit nobody knows.
    #[error("`{unit}` is not a unit of time; use ns, us, ms, s, m, h or d")]
    UnknownUnit {
        /// What stood where a unit was expected.
        unit: String,
    },
    /// Something that is not a number stood where a number was expected.
    #[error("`{0}` is not a duration; write a number with a unit, for example 500ms, 90s or 1h30m")]
    NotANumber(String),
    /// Longer than a year.
    #[error("`{0}` is longer than 366 days")]
    TooLong(String),
}

const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The longest span a person may write.
    pub const MAX: Span = Span(366 * 86_400 * 1_000_000_000);

    /// A span of whole nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Span(nanos)
    }

    /// A span of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Span(millis * 1_000_000)
    }

    /// A span of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Span(secs * 1_000_000_000)
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds with a fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As the standard library's type.
    pub const fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// Whether it is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, never beyond [`Span::MAX`].
    #[must_use]
    pub fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0)).min(Span::MAX)
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let whole = text.trim();
        if whole.is_empty() {
            return Err(SpanError::Empty);
        }
        let mut rest = whole;
        let mut total: f64 = 0.0;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let number: f64 = rest[..digits].parse().map_err(|_| SpanError::NotANumber(whole.to_owned()))?;
            rest = &rest[digits..];
            let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let unit = rest[..end].trim();
            rest = &rest[end..];
            if unit.is_empty() {
                return Err(SpanError::NoUnit(whole.to_owned()));
            }
            let (_, nanos) = UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .ok_or_else(|| SpanError::UnknownUnit { unit: unit.to_owned() })?;
            total += number * *nanos as f64;
        }
        if total > Span::MAX.0 as f64 {
            return Err(SpanError::TooLong(whole.to_owned()));
        }
        Ok(Span(total.round() as u64))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, nanos) in UNITS.iter().rev().filter(|(unit, _)| *unit != "µs") {
            let n = rest / nanos;
            if n > 0 {
                write!(f, "{n}{unit}")?;
                rest %= nanos;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Span {
    type Error = SpanError;
    fn try_from(text: String) -> Result<Self, SpanError> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_every_unit_and_sums() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("90s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("250us", 250_000),
            ("3µs", 3_000),
            ("7ns", 7),
            ("2d", 172_800_000_000_000),
            ("0s", 0),
        ] {
            assert_eq!(text.parse::<Span>().map(Span::as_nanos), Ok(nanos), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_ambiguous() {
        assert_eq!("10".parse::<Span>(), Err(SpanError::NoUnit("10".into())));
        assert_eq!("0".parse::<Span>(), Err(SpanError::NoUnit("0".into())));
        assert_eq!("".parse::<Span>(), Err(SpanError::Empty));
        assert_eq!("5 parsecs".parse::<Span>(), Err(SpanError::UnknownUnit { unit: "parsecs".into() }));
        assert_eq!("fast".parse::<Span>(), Err(SpanError::NotANumber("fast".into())));
        assert_eq!("-1s".parse::<Span>(), Err(SpanError::NotANumber("-1s".into())));
        assert_eq!("9999d".parse::<Span>(), Err(SpanError::TooLong("9999d".into())));
        assert_eq!("1.2.3s".parse::<Span>(), Err(SpanError::NotANumber("1.2.3s".into())));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(nanos in 0u64..4_000_000_000_000_000) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        }
    }
}
