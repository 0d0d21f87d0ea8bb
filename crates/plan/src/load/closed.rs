//! Closed models: how many VUs are active, and when each of them begins.

use hyperscale_types::Span;

use super::curve::Curve;

/// The longest default time over which VUs are spread at the start.
const RAMP_MAX: Span = Span::from_secs(1);

/// VUs of the whole workflow that should be active at a time; none when the curve is over.
pub fn vus_at(curve: &Curve, at_ns: u64) -> u32 {
    curve.value_at(at_ns).round() as u32
}

/// One core's part of `n` VUs: ⌊n/cores⌋, and the remainder one each to the first cores.
pub fn share(n: u32, core: u32, cores: u32) -> u32 {
    super::Share { core, cores, vus: n }.own_vus()
}

/// How long after the begin of the load VU `index` of `n` begins, so that not all begin in the same millisecond.
pub fn spread(ramp: Span, index: u32, n: u32) -> Span {
    if n == 0 {
        return Span::ZERO;
    }
    Span::from_nanos((u128::from(ramp.as_nanos()) * u128::from(index) / u128::from(n)) as u64)
}

/// The time over which VUs are spread when the plan does not say: a tenth of the duration, at most one second.
pub fn default_ramp(duration: Span) -> Span {
    Span::from_nanos(duration.as_nanos() / 10).min(RAMP_MAX)
}

#[cfg(test)]
mod tests {
    use super::super::curve::Stage;
    use super::super::tests::curve;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_ramp_is_rounded_to_whole_vus() {
        let ramp = Curve { start: 0.0, stages: vec![Stage { to: 10.0, over: Span::from_secs(10) }] };
        for (at_ms, vus) in [(0, 0), (499, 0), (500, 1), (5_000, 5), (9_499, 9), (9_500, 10), (10_000, 0)] {
            assert_eq!(vus_at(&ramp, at_ms * 1_000_000), vus, "at {at_ms} ms");
        }
    }

    #[test]
    fn vus_are_spread_over_the_ramp() {
        let offsets: Vec<_> = (0..4).map(|index| spread(Span::from_secs(1), index, 4).as_nanos()).collect();
        assert_eq!(offsets, [0, 250_000_000, 500_000_000, 750_000_000]);
        assert_eq!(default_ramp(Span::from_secs(3)), Span::from_millis(300));
        assert_eq!(default_ramp(Span::from_secs(60)), Span::from_secs(1));
    }

    proptest! {
        #[test]
        fn shares_add_up_at_every_time(curve in curve(), at_ns in 0u64..60_000_000_000, cores in 1u32..20) {
            let vus = vus_at(&curve, at_ns);
            let shares: Vec<_> = (0..cores).map(|core| share(vus, core, cores)).collect();
            prop_assert_eq!(shares.iter().sum::<u32>(), vus);
            prop_assert!(shares.is_sorted_by(|a, b| a >= b));
            prop_assert!(shares[0] - shares[shares.len() - 1] <= 1);
        }

        #[test]
        fn spread_stays_within_the_ramp(ramp in 0u64..10_000_000_000, n in 1u32..100_000, index in any::<prop::sample::Index>()) {
            let index = index.index(n as usize) as u32;
            let ramp = Span::from_nanos(ramp);
            prop_assert!(spread(ramp, index, n) <= ramp);
            prop_assert!(spread(ramp, index, n) <= spread(ramp, index + 1, n));
        }
    }
}
