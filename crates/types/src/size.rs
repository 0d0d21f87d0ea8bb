//! Sizes in bytes as people write them: `13`, `64KiB`, `10MiB`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes. A bare number means bytes: unlike with time, nobody expects another unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Not a number with an optional unit.
    #[error("`{0}` is not a size; write a number of bytes, or use B, KB, MB, GB, KiB, MiB or GiB")]
    NotASize(String),
    /// Does not fit 64 bits.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

impl FromStr for ByteSize {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let whole = text.trim();
        let not_a_size = || SizeError::NotASize(whole.to_owned());
        let digits = whole.find(|c: char| !c.is_ascii_digit()).unwrap_or(whole.len());
        let number: u64 = whole[..digits].parse().map_err(|_| not_a_size())?;
        let factor: u64 = match whole[digits..].trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            _ => return Err(not_a_size()),
        };
        number.checked_mul(factor).map(ByteSize).ok_or_else(|| SizeError::TooLarge(whole.to_owned()))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1 << 30 && n % (1 << 30) == 0 => write!(f, "{}GiB", n >> 30),
            n if n >= 1 << 20 && n % (1 << 20) == 0 => write!(f, "{}MiB", n >> 20),
            n if n >= 1 << 10 && n % (1 << 10) == 0 => write!(f, "{}KiB", n >> 10),
            n => write!(f, "{n}B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes_and_units() {
        assert_eq!("13".parse(), Ok(ByteSize(13)));
        assert_eq!("64KiB".parse(), Ok(ByteSize(65_536)));
        assert_eq!("10 MB".parse(), Ok(ByteSize(10_000_000)));
        assert_eq!("ten".parse::<ByteSize>(), Err(SizeError::NotASize("ten".into())));
        assert_eq!("99999999999GiB".parse::<ByteSize>(), Err(SizeError::TooLarge("99999999999GiB".into())));
    }
}
