//! When the generator counts as the bottleneck.

use hyperscale_stats::saturation::{Judge, Measure, Saturated};
use hyperscale_stats::{Totals, Window};
use hyperscale_types::ErrorKind;

use crate::books::{failed, layout};

const TENTH_NS: u64 = 100_000_000;

/// What a core's thread did in a tenth of a second.
#[derive(Clone, Copy, Default)]
struct Tenth {
    busy: u64,
    waited: u64,
    lag_ms: Option<u64>,
    queued: u64,
    local_limit: bool,
}

/// Totals of one core with these windows, and its windows.
fn run(core: u32, tenths: &[Tenth]) -> (Totals, Vec<Window>) {
    let (mut judge, mut totals, mut windows) = (Judge::default(), Totals::new(&layout()), Vec::new());
    for (at, tenth) in tenths.iter().enumerate() {
        let mut window = Window::new(&layout());
        (window.core, window.seq) = (core, at as u64);
        // Windows never end exactly where a second does.
        (window.from_ns, window.to_ns) = (at as u64 * TENTH_NS + 7_000, (at as u64 + 1) * TENTH_NS + 7_000);
        window.busy_ns = tenth.busy * TENTH_NS / 100;
        window.waited_ns = tenth.waited * TENTH_NS / 100;
        if let Some(ms) = tenth.lag_ms {
            window.started();
            window.lag(ms * 1_000_000);
        }
        if tenth.local_limit {
            window.call(1, &failed(1_000, ErrorKind::LocalLimit));
        }
        judge.window(&mut window, tenth.queued, at + 1 == tenths.len());
        totals.add(&window);
        windows.push(window);
    }
    (totals, windows)
}

fn seconds(count: usize, tenth: Tenth) -> Vec<Tenth> {
    vec![tenth; count * 10]
}

fn at(from_s: u64, to_s: u64, core: u32, measure: Measure) -> Saturated {
    Saturated { from_s, to_s, core, measure }
}

#[test]
fn every_measure_has_its_limit() {
    let calm = Tenth { busy: 95, waited: 5, lag_ms: Some(9), ..Tenth::default() };
    assert_eq!(run(0, &seconds(3, calm)).0.saturation.intervals(), []);
    for (tenth, measure) in [
        (Tenth { busy: 96, ..calm }, Measure::Cpu),
        (Tenth { waited: 6, ..calm }, Measure::RunQueue),
        (Tenth { lag_ms: Some(11), ..calm }, Measure::Lag),
        (Tenth { lag_ms: Some(11), queued: 1, ..calm }, Measure::Vus),
        (Tenth { local_limit: true, ..calm }, Measure::LocalLimit),
    ] {
        let totals = run(0, &seconds(3, tenth)).0;
        assert_eq!(totals.saturation.intervals(), [at(0, 3, 0, measure)]);
        assert!(totals.generator_saturated());
    }
}

#[test]
fn one_bad_second_is_seen_in_a_long_run() {
    let mut tenths = seconds(60, Tenth { busy: 10, ..Tenth::default() });
    tenths[300..310].fill(Tenth { busy: 40, waited: 60, ..Tenth::default() });
    tenths[450..470].fill(Tenth { busy: 100, ..Tenth::default() });
    let totals = run(3, &tenths).0;
    assert!(totals.busiest_core().unwrap() < 0.15 && totals.run_queue().unwrap() < 0.02, "small on average");
    let wanted = [at(45, 47, 3, Measure::Cpu), at(30, 31, 3, Measure::RunQueue)];
    assert_eq!(totals.saturation.intervals(), wanted);
}

#[test]
fn shares_of_a_moment_mean_nothing_and_its_late_starts_do() {
    let moment = vec![Tenth { busy: 100, waited: 50, lag_ms: Some(50), ..Tenth::default() }; 4];
    assert_eq!(run(0, &moment).0.saturation.intervals(), [at(0, 1, 0, Measure::Lag)]);
}

#[test]
fn merged_in_any_order_it_is_the_same_however_long_the_run() {
    let bad = Tenth { busy: 100, ..Tenth::default() };
    let mut long = seconds(4_000, Tenth::default());
    long[39_000..39_050].fill(bad);
    long[20..40].fill(bad);
    let (one, windows) = run(0, &long);
    let (other, _) = run(1, &seconds(2, bad));
    let (mut forth, mut back) = (one.clone(), other.clone());
    forth.merge(&other);
    back.merge(&one);
    assert_eq!(forth.saturation, back.saturation);
    let mut reversed = Totals::new(&layout());
    windows.iter().rev().for_each(|window| reversed.add(window));
    assert_eq!(reversed.saturation, one.saturation);
    // More points than a series may have: seconds go together in pairs.
    let wanted = [at(2, 4, 0, Measure::Cpu), at(3_900, 3_906, 0, Measure::Cpu), at(0, 2, 1, Measure::Cpu)];
    assert_eq!(forth.saturation.intervals(), wanted);
}
