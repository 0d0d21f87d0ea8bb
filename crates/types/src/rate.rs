//! Rates as people write them: `2000/s`, `90/m`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Starts per second. Finite and never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate(f64);

/// Why a text is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// A number without `/s` or `/m`.
    #[error("`{0}` has no unit; write {0}/s or {0}/m")]
    NoUnit(String),
    /// Not of the form number, slash, unit.
    #[error("`{0}` is not a rate; write a number per second or minute, for example 2000/s or 90/m")]
    NotARate(String),
    /// Beyond what one run can start.
    #[error("`{0}` is more than 100 million starts per second")]
    TooHigh(String),
}

impl Rate {
    /// Nothing starts.
    pub const ZERO: Rate = Rate(0.0);
    const MAX_PER_SECOND: f64 = 1e8;

    /// A rate of `starts` per second; negative and not-a-number become zero.
    pub fn per_second(starts: f64) -> Self {
        if starts.is_finite() && starts > 0.0 { Rate(starts.min(Self::MAX_PER_SECOND)) } else { Rate(0.0) }
    }

    /// Starts per second.
    pub const fn as_per_second(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let whole = text.trim();
        let not_a_rate = || RateError::NotARate(whole.to_owned());
        let Some((number, unit)) = whole.split_once('/') else {
            return Err(match whole.parse::<f64>() {
                Ok(_) => RateError::NoUnit(whole.to_owned()),
                Err(_) => not_a_rate(),
            });
        };
        let number = number.trim();
        // `1e3/s` and `inf/s` are numbers to a machine and typing mistakes to a person.
        if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(not_a_rate());
        }
        let number: f64 = number.parse().map_err(|_| not_a_rate())?;
        let seconds = match unit.trim() {
            "s" | "sec" | "second" => 1.0,
            "m" | "min" | "minute" => 60.0,
            "h" | "hour" => 3600.0,
            _ => return Err(not_a_rate()),
        };
        if !number.is_finite() || number < 0.0 {
            return Err(not_a_rate());
        }
        let per_second = number / seconds;
        if per_second > Self::MAX_PER_SECOND {
            return Err(RateError::TooHigh(whole.to_owned()));
        }
        Ok(Rate(per_second))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl TryFrom<String> for Rate {
    type Error = RateError;
    fn try_from(text: String) -> Result<Self, RateError> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_per_second_and_per_minute() {
        assert_eq!("2000/s".parse(), Ok(Rate(2000.0)));
        assert_eq!("90/m".parse(), Ok(Rate(1.5)));
        assert_eq!("0/s".parse(), Ok(Rate::ZERO));
        assert_eq!("2.5/s".parse(), Ok(Rate(2.5)));
    }

    #[test]
    fn refuses_what_is_ambiguous() {
        assert_eq!("2000".parse::<Rate>(), Err(RateError::NoUnit("2000".into())));
        assert_eq!("-1/s".parse::<Rate>(), Err(RateError::NotARate("-1/s".into())));
        assert_eq!("1e3/s".parse::<Rate>(), Err(RateError::NotARate("1e3/s".into())));
        assert_eq!("inf/s".parse::<Rate>(), Err(RateError::NotARate("inf/s".into())));
        assert_eq!("fast".parse::<Rate>(), Err(RateError::NotARate("fast".into())));
        assert_eq!("1/fortnight".parse::<Rate>(), Err(RateError::NotARate("1/fortnight".into())));
        assert_eq!("1000000000000/s".parse::<Rate>(), Err(RateError::TooHigh("1000000000000/s".into())));
    }
}
