//! Bytes of statistics: what is written is read back and merges as before, and what is broken is refused.

use hyperscale_stats::wire::{Codec, DecodeError};
use hyperscale_stats::{Histogram, Totals};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::books::{digest, event, layout, total, windows};

fn of(samples: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for ns in samples {
        histogram.record(*ns);
    }
    histogram
}

fn bytes_of(histogram: &Histogram) -> Vec<u8> {
    let mut bytes = Vec::new();
    histogram.encode(&mut bytes);
    bytes
}

fn decode(mut bytes: &[u8]) -> Result<Histogram, DecodeError> {
    Histogram::decode(&mut bytes)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(samples in vec(prop_oneof![1u64..5_000, any::<u64>()], 0..300)) {
        let histogram = of(&samples);
        let mut bytes = bytes_of(&histogram);
        bytes.extend([1, 2, 3]);
        let mut rest = bytes.as_slice();
        prop_assert!(Histogram::<u64>::decode(&mut rest).unwrap() == histogram);
        prop_assert_eq!(rest, &[1, 2, 3], "what follows is left alone");
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn a_changed_byte_is_refused_or_gives_another_valid_histogram(
        samples in vec(1u64..100_000, 1..100), at in any::<prop::sample::Index>(), xor in 1u8..,
    ) {
        let mut bytes = bytes_of(&of(&samples));
        let at = at.index(bytes.len());
        bytes[at] ^= xor;
        if let Ok(histogram) = decode(&bytes) {
            prop_assert_eq!(histogram.buckets().map(|(_, n)| n).sum::<u64>(), histogram.count());
            let (min, p50, max) = (histogram.min_ns(), histogram.percentile_ns(50.0), histogram.max_ns());
            prop_assert!(min <= p50 && p50 <= max);
        }
    }

    #[test]
    fn a_cut_is_noticed(samples in vec(1u64..100_000, 1..100), cut in any::<prop::sample::Index>()) {
        let bytes = bytes_of(&of(&samples));
        prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err());
    }
}

fn codec() -> Codec {
    Codec::new(b"plan", &"Browse".parse().unwrap(), &layout())
}

fn travelled(totals: &Totals) -> Totals {
    codec().decode_totals(&codec().encode_totals(totals)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn windows_that_travelled_merge_in_any_order(parts in vec(vec(event(), 0..30), 1..6)) {
        let here = total(&windows(&parts));
        let sent = windows(&parts).into_iter().map(|window| codec().encode_window(&window));
        let mut received: Vec<_> = sent.map(|bytes| codec().decode_window(&bytes).unwrap()).collect();
        prop_assert_eq!(digest(&total(&received)), digest(&here));
        received.reverse();
        prop_assert_eq!(digest(&total(&received)), digest(&here));
    }

    #[test]
    fn totals_that_travelled_merge_in_any_shape(parts in vec(vec(event(), 0..30), 3..6)) {
        let here = total(&windows(&parts));
        let each: Vec<Totals> = windows(&parts).iter().map(|window| travelled(&total([window]))).collect();
        let (left, right) = each.split_at(each.len() / 2);
        let merged = |parts: &[Totals]| {
            let mut all = Totals::new(&layout());
            parts.iter().rev().for_each(|part| all.merge(part));
            travelled(&all)
        };
        let all = merged(&[merged(right), merged(left)]);
        prop_assert_eq!(digest(&all), digest(&here));
        for (a, b) in all.steps().iter().zip(here.steps()) {
            for percent in [0.0, 50.0, 99.0, 99.9, 100.0] {
                prop_assert_eq!(a.latency.percentile_ns(percent), b.latency.percentile_ns(percent));
            }
        }
    }

    #[test]
    fn a_changed_byte_never_panics(parts in vec(vec(event(), 1..20), 1..3), at in any::<prop::sample::Index>(), xor in 1u8..) {
        let mut bytes = codec().encode_totals(&total(&windows(&parts)));
        let at = at.index(bytes.len());
        bytes[at] ^= xor;
        if let Ok(totals) = codec().decode_totals(&bytes) {
            let _ = totals.balance();
        }
    }
}

#[test]
fn an_empty_histogram_is_two_bytes() {
    assert_eq!(bytes_of(&Histogram::new()), [0, 0]);
}

#[test]
fn many_equal_samples_are_a_few_bytes() {
    assert!(bytes_of(&of(&vec![1_000_000; 100_000])).len() < 40);
}

#[test]
fn contradictions_are_refused() {
    // clamped, count, min, max, sum, runs: gap, length, count (zig-zag)
    assert_eq!(decode(&[0, 1, 5, 5, 5, 1, 5, 1, 2]).unwrap().max_ns(), Some(5));
    for (what, bytes) in [
        ("count", &[0, 2, 5, 5, 5, 1, 5, 1, 2]),
        ("clamped", &[2, 1, 5, 5, 5, 1, 5, 1, 2]),
        ("smallest", &[0, 1, 4, 5, 5, 1, 5, 1, 2]),
        ("largest", &[0, 1, 5, 6, 5, 1, 5, 1, 2]),
        ("sum", &[0, 1, 5, 5, 6, 1, 5, 1, 2]),
        ("bucket", &[0, 1, 5, 5, 5, 1, 6, 1, 2]),
        ("negative", &[0, 1, 5, 5, 5, 1, 5, 1, 1]),
    ] {
        assert_eq!(decode(bytes).err(), Some(DecodeError::Contradiction), "{what}");
    }
    assert_eq!(decode(&[0, 1, 5, 5, 5, 1, 0xff, 0xff, 0x7f]).err(), Some(DecodeError::BucketOutOfRange));
    assert_eq!(decode(&[0xff; 30]).err(), Some(DecodeError::NumberTooLarge));
}
