//! Bytes of a histogram: sparse, as clusters send it.
//!
//! ```text
//! histogram = clamped count [min max sum runs]             the rest only if count > 0
//! runs      = n { gap length { count }* }*n               gap: empty buckets since the run before
//! ```
//! Every number is a LEB128 varint; counts within a run are zig-zag differences from the count before. Decoding checks
//! everything that can be checked, so that bytes from outside never make numbers that contradict each other, and it
//! allocates no more than a histogram can have.

use crate::buckets::Count;
use crate::histogram::{BUCKETS, Histogram, MAX_NS, Moments, bucket_range_ns};

/// Samples of one histogram that is accepted from outside: far beyond any run, and far below an overflow of sums.
pub const SAMPLES_MAX: u64 = 1 << 48;

/// Why bytes are not a histogram. Nothing was decoded; the sender is broken or hostile, so there is no point in trying
/// the same bytes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end in the middle.
    #[error("the histogram ends in the middle")]
    Truncated,
    /// A number has more bits than its place allows.
    #[error("a number of the histogram is too large")]
    NumberTooLarge,
    /// A bucket beyond the last one, or an empty run.
    #[error("a bucket of the histogram is out of range")]
    BucketOutOfRange,
    /// Count, smallest, largest or sums do not fit the buckets.
    #[error("the numbers of the histogram contradict each other")]
    Contradiction,
}

impl<C: Count> Histogram<C> {
    /// Appends the bytes of the histogram.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let m = self.moments();
        put(out, u128::from(m.clamped));
        put(out, u128::from(m.count));
        if m.count == 0 {
            return;
        }
        for number in [u128::from(m.min), u128::from(m.max), m.sum] {
            put(out, number);
        }
        let runs = self.runs();
        put(out, runs.len() as u128);
        let mut end = 0;
        for (start, counts) in runs {
            put(out, (start - end) as u128);
            put(out, counts.len() as u128);
            end = start + counts.len();
            let mut before = 0u64;
            for count in counts {
                put(out, zig_zag(i128::from(count) - i128::from(before)));
                before = count;
            }
        }
    }

    /// Neighbouring buckets that are not empty, by their first number.
    fn runs(&self) -> Vec<(usize, Vec<u64>)> {
        let mut runs: Vec<(usize, Vec<u64>)> = Vec::new();
        for (bucket, count) in self.buckets() {
            match runs.last_mut() {
                Some((start, counts)) if *start + counts.len() == bucket => counts.push(count),
                _ => runs.push((bucket, vec![count])),
            }
        }
        runs
    }
}

impl Histogram {
    /// Takes a histogram from the front of `bytes`.
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let clamped = take_u64(bytes)?;
        let count = take_u64(bytes)?;
        if count == 0 {
            return if clamped == 0 { Ok(Self::new()) } else { Err(DecodeError::Contradiction) };
        }
        let (min, max) = (take_u64(bytes)?, take_u64(bytes)?);
        let moments = Moments { count, clamped, min, max, sum: take(bytes)? };
        let buckets = take_runs(bytes)?;
        check(&moments, &buckets)?;
        Ok(Self::from_parts(moments, buckets))
    }
}

fn take_runs(bytes: &mut &[u8]) -> Result<Vec<(usize, u64)>, DecodeError> {
    let mut buckets = Vec::new();
    let mut next = 0usize;
    for run in 0..take_index(bytes)? {
        let (gap, length) = (take_index(bytes)?, take_index(bytes)?);
        // Runs that touch are one run: every histogram has exactly one form.
        if length == 0 || next + gap + length > BUCKETS || (run > 0 && gap == 0) {
            return Err(DecodeError::BucketOutOfRange);
        }
        next += gap;
        let mut count = 0i128;
        for _ in 0..length {
            count = count.checked_add(un_zig_zag(take(bytes)?)).ok_or(DecodeError::NumberTooLarge)?;
            let positive = u64::try_from(count).ok().filter(|count| *count > 0);
            buckets.push((next, positive.ok_or(DecodeError::Contradiction)?));
            next += 1;
        }
    }
    Ok(buckets)
}

/// Whether the exact numbers can belong to these buckets.
fn check(m: &Moments, buckets: &[(usize, u64)]) -> Result<(), DecodeError> {
    let within = |value: u64, bucket: Option<&(usize, u64)>| {
        bucket
            .map(|(bucket, _)| bucket_range_ns(*bucket))
            .is_some_and(|(low, high)| low <= value && value <= high)
    };
    let count = buckets.iter().try_fold(0u64, |sum, (_, n)| sum.checked_add(*n));
    let n = u128::from(m.count);
    let (min, max) = (u128::from(m.min), u128::from(m.max));
    let fits = m.count <= SAMPLES_MAX
        && count == Some(m.count)
        && m.clamped <= m.count
        && m.max <= MAX_NS
        && m.min <= m.max
        && within(m.min, buckets.first())
        && within(m.max, buckets.last())
        && (n * min..=n * max).contains(&m.sum);
    if fits { Ok(()) } else { Err(DecodeError::Contradiction) }
}

fn put(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u128, DecodeError> {
    let mut number = 0u128;
    for shift in (0..u128::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(DecodeError::Truncated)?;
        *bytes = rest;
        let bits = u128::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(DecodeError::NumberTooLarge);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(DecodeError::NumberTooLarge)
}

fn take_u64(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    u64::try_from(take(bytes)?).map_err(|_| DecodeError::NumberTooLarge)
}

/// A number of buckets.
fn take_index(bytes: &mut &[u8]) -> Result<usize, DecodeError> {
    usize::try_from(take(bytes)?).ok().filter(|n| *n <= BUCKETS).ok_or(DecodeError::BucketOutOfRange)
}

fn zig_zag(number: i128) -> u128 {
    ((number << 1) ^ (number >> (i128::BITS - 1))).cast_unsigned()
}

fn un_zig_zag(number: u128) -> i128 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}
