//! The series of a run: any length, bounded points, percentiles of samples.

#![expect(clippy::float_cmp, reason = "rounded numbers are compared with what they were rounded to")]

use std::time::Duration;

use hyperscale_stats::{Series, Window};
use hyperscale_types::{ErrorKind, limits};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::books::{failed, layout, ok};

const SECOND_NS: u64 = 1_000_000_000;

fn window(second: u64, core: u32, samples_ns: &[u64]) -> Window {
    let mut window = Window::new(&layout());
    (window.core, window.vus) = (core, 5);
    (window.from_ns, window.to_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
    for ns in samples_ns {
        window.call(1, &ok(*ns));
    }
    window
}

#[test]
fn cores_add_up_within_a_second() {
    let mut series = Series::new();
    series.add(&window(0, 0, &[1_000_000; 10]));
    series.add(&window(0, 1, &[1_000_000; 20]));
    let mut third = window(1, 0, &[]);
    third.call(1, &failed(7, ErrorKind::Reset));
    series.add(&third);
    let points = series.points(Duration::from_secs(2));
    assert_eq!((points[0].rate, points[0].vus, points[0].failed), (30.0, 10, 0));
    assert!((points[0].p50_us - 1_000.0).abs() <= 8.0);
    assert_eq!((points[1].rate, points[1].vus, points[1].failed), (1.0, 5, 1));
    assert_eq!(points[1].p50_us, 0.0, "no call was ok");
}

#[test]
fn set_up_calls_are_not_in_the_series() {
    let mut series = Series::new();
    let mut setup = window(0, 0, &[]);
    setup.call(0, &ok(5));
    series.add(&setup);
    assert_eq!(series.points(Duration::from_secs(1))[0].rate, 0.0);
}

#[test]
fn the_last_point_is_as_wide_as_the_run_came() {
    let mut series = Series::new();
    let mut half = window(0, 0, &[1_000; 10]);
    half.to_ns = SECOND_NS / 2;
    series.add(&half);
    let point = series.points(Duration::from_millis(500))[0];
    assert_eq!((point.rate, point.vus), (20.0, 5));
}

#[test]
fn long_runs_get_coarser_points_and_lose_nothing() {
    let seconds = limits::SERIES_POINTS_MAX as u64 * 3;
    let mut series = Series::new();
    for second in 0..seconds {
        series.add(&window(second, 0, &[1_000_000, 3_000_000]));
    }
    let points = series.points(Duration::from_secs(seconds));
    assert!(points.len() <= limits::SERIES_POINTS_MAX);
    assert_eq!(points[1].t_s, 4.0);
    assert!(points.iter().all(|point| point.rate == 2.0 && point.vus == 5));
    assert!((points[7].p50_us - 1_000.0).abs() <= 8.0);
    assert!((points[7].p99_us - 3_000.0).abs() <= 24.0);
}

#[test]
fn a_window_from_the_far_future_does_not_eat_the_memory() {
    let mut series = Series::new();
    let mut far = window(0, 0, &[5]);
    (far.from_ns, far.to_ns) = (u64::MAX - 1, u64::MAX);
    series.add(&far);
    assert!(series.points(Duration::from_secs(1)).len() <= limits::SERIES_POINTS_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn merging_in_any_order_gives_the_same_series(
        windows in vec((0u64..9_000, 0u32..3, vec(500u64..1_000_000_000, 0..20)), 0..20), cut in any::<prop::sample::Index>(),
    ) {
        let windows: Vec<_> = windows.iter().map(|(at, core, samples)| window(*at, *core, samples)).collect();
        let of = |windows: &[Window]| {
            let mut series = Series::new();
            for window in windows {
                series.add(window);
            }
            series
        };
        let all = of(&windows);
        let (left, right) = windows.split_at(cut.index(windows.len() + 1));
        let (mut ab, mut ba) = (of(left), of(right));
        ab.merge(&of(right));
        ba.merge(&of(left));
        prop_assert_eq!(&ab, &all);
        prop_assert_eq!(&ba, &all);
    }

    #[test]
    fn percentiles_of_a_point_are_within_one_percent(samples in vec(512u64..3_600_000_000_000, 1..200)) {
        let mut series = Series::new();
        series.add(&window(0, 0, &samples));
        let point = series.points(Duration::from_secs(1))[0];
        let mut sorted = samples.clone();
        sorted.sort_unstable();
        let median = sorted[sorted.len().div_ceil(2) - 1] as f64 / 1_000.0;
        prop_assert!((point.p50_us - median).abs() <= median * 0.01 + 0.1, "{} for {}", point.p50_us, median);
    }
}
