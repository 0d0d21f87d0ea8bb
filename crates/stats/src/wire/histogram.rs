//! Histograms of durations and distributions of numbers: sparse buckets and the exact numbers beside them.

use super::number::{Reader, put, put_f64, put_len, un_zig_zag, zig_zag};
use super::{DecodeError, MEMORY_MAX, SAMPLES_MAX};
use crate::buckets::{Count, SUB};
use crate::distribution::{self, Distribution};
use crate::histogram::{self, BUCKETS, Histogram, MAX_NS, bucket_range_ns};

impl<C: Count> Histogram<C> {
    /// Appends the bytes of the histogram.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let m = self.moments();
        put(out, m.clamped);
        put(out, m.count);
        if m.count == 0 {
            return;
        }
        put(out, m.min);
        put(out, m.max);
        put(out, m.sum);
        put_runs(out, self.buckets());
    }

    /// Takes a histogram from the front of `bytes`.
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes, MEMORY_MAX);
        let histogram = take_histogram(&mut reader)?;
        *bytes = reader.rest();
        Ok(histogram)
    }
}

/// The same, but nothing at all for an empty histogram.
pub(super) fn put_unless_empty<C: Count>(out: &mut Vec<u8>, histogram: &Histogram<C>) {
    if !histogram.is_empty() {
        histogram.encode(out);
    }
}

pub(super) fn take_histogram<C: Count>(reader: &mut Reader<'_>) -> Result<Histogram<C>, DecodeError> {
    let (clamped, count): (u64, u64) = (reader.number()?, reader.number()?);
    if count == 0 {
        return if clamped == 0 { Ok(Histogram::new()) } else { Err(DecodeError::Contradiction) };
    }
    let (min, max, sum) = (reader.number()?, reader.number()?, reader.u128()?);
    let moments = histogram::Moments { count, clamped, min, max, sum };
    let buckets = take_runs::<C>(reader, BUCKETS)?;
    check(&moments, &buckets)?;
    Ok(Histogram::from_parts(moments, buckets))
}

/// Whether the exact numbers can belong to these buckets.
fn check(m: &histogram::Moments, buckets: &[(usize, u64)]) -> Result<(), DecodeError> {
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

pub(super) fn put_distribution<C: Count>(out: &mut Vec<u8>, distribution: &Distribution<C>) {
    let m = &distribution.moments;
    put(out, m.count);
    if m.count == 0 {
        return;
    }
    put(out, m.clamped);
    put(out, distribution.zeros);
    for number in [m.min, m.max, m.mean, m.m2] {
        put_f64(out, number);
    }
    put_runs(out, distribution.buckets.iter());
}

pub(super) fn take_distribution<C: Count>(reader: &mut Reader<'_>) -> Result<Distribution<C>, DecodeError> {
    let count: u64 = reader.number()?;
    if count == 0 {
        return Ok(Distribution::new());
    }
    let (clamped, zeros) = (reader.number()?, reader.number()?);
    // Mean and squares of huge numbers may have overflown to infinity where they were recorded: any float is accepted.
    let (min, max, mean, m2) = (reader.f64()?, reader.f64()?, reader.f64()?, reader.f64()?);
    let moments = distribution::Moments { count, clamped, min, max, mean, m2 };
    let buckets = take_runs::<C>(reader, distribution::BUCKETS)?;
    let all = buckets.iter().try_fold(zeros, |sum: u64, (_, n)| sum.checked_add(*n));
    let fits = count <= SAMPLES_MAX
        && all == Some(count)
        && clamped <= count
        && min.is_finite()
        && max.is_finite()
        && min <= max
        && distribution::ends_fit(min, max, zeros > 0, &buckets);
    if !fits {
        return Err(DecodeError::Contradiction);
    }
    let mut distribution = Distribution { zeros, moments, ..Distribution::default() };
    for (bucket, count) in buckets {
        distribution.buckets.add(bucket, count);
    }
    Ok(distribution)
}

/// Numbers and counts of the buckets that are not empty, in order.
pub(super) fn put_runs(out: &mut Vec<u8>, buckets: impl Iterator<Item = (usize, u64)>) {
    let mut runs: Vec<(usize, Vec<u64>)> = Vec::new();
    for (bucket, count) in buckets {
        match runs.last_mut() {
            Some((start, counts)) if *start + counts.len() == bucket => counts.push(count),
            _ => runs.push((bucket, vec![count])),
        }
    }
    put_len(out, runs.len());
    let mut end = 0;
    for (start, counts) in runs {
        put_len(out, start - end);
        put_len(out, counts.len());
        end = start + counts.len();
        let mut before = 0u64;
        for count in counts {
            put(out, zig_zag(i128::from(count) - i128::from(before)));
            before = count;
        }
    }
}

/// The buckets of a histogram with `len` buckets, whose counts fit `C`. Their memory is charged.
pub(super) fn take_runs<C: Count>(
    reader: &mut Reader<'_>,
    len: usize,
) -> Result<Vec<(usize, u64)>, DecodeError> {
    let mut buckets: Vec<(usize, u64)> = Vec::new();
    let mut next = 0usize;
    for run in 0..take_index(reader, len)? {
        let (gap, length) = (take_index(reader, len)?, take_index(reader, len)?);
        // Runs that touch are one run: every histogram has exactly one form.
        if length == 0 || next + gap + length > len || (run > 0 && gap == 0) {
            return Err(DecodeError::BucketOutOfRange);
        }
        next += gap;
        let mut count = 0i128;
        for _ in 0..length {
            count = count.checked_add(un_zig_zag(reader.u128()?)).ok_or(DecodeError::NumberTooLarge)?;
            let positive = u64::try_from(count).ok().filter(|count| *count > 0);
            let positive = positive.ok_or(DecodeError::Contradiction)?;
            if positive > C::MAX {
                return Err(DecodeError::NumberTooLarge);
            }
            if buckets.last().is_none_or(|(last, _)| last / SUB != next / SUB) {
                reader.charge(SUB * size_of::<C>())?;
            }
            buckets.push((next, positive));
            next += 1;
        }
    }
    Ok(buckets)
}

/// A number of buckets.
fn take_index(reader: &mut Reader<'_>, len: usize) -> Result<usize, DecodeError> {
    usize::try_from(reader.u128()?).ok().filter(|n| *n <= len).ok_or(DecodeError::BucketOutOfRange)
}
