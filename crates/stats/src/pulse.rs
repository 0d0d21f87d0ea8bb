//! What changes from second to second in one workflow: its newest points, the lag of its dispatch, how busy its cores
//! are. Only live views need it; the result never comes from here.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::event::NEWEST_POINTS_MAX;
use crate::histogram::Histogram;
use crate::result::SeriesPoint;
use crate::series::{Point, SECOND_NS};
use crate::totals::{CoreLoad, Totals};
use crate::window::Window;

/// Seconds that are kept: the newest full ones and the one under way.
const KEPT: usize = NEWEST_POINTS_MAX + 1;

/// The newest seconds of one workflow.
#[derive(Clone, Debug, Default)]
pub struct Pulse {
    /// One per second, without gaps; the number of the first.
    points: VecDeque<Point>,
    first: u64,
    lag: Histogram,
    cores: BTreeMap<u32, CoreLoad>,
}

impl Pulse {
    /// Adds a window. What is older than all that is kept is left out.
    pub fn add(&mut self, window: &Window) {
        self.lag.merge(&window.lag);
        let second = window.from_ns / SECOND_NS;
        if self.points.is_empty() {
            self.first = second;
        }
        let Some(at) = second.checked_sub(self.first) else { return };
        // After a long gap everything that was kept is too old.
        let gone = (at as usize + 1).saturating_sub(KEPT);
        self.points.drain(..gone.min(self.points.len()));
        self.first += gone as u64;
        let at = at as usize - gone;
        while self.points.len() <= at {
            self.points.push_back(Point::default());
        }
        self.points[at].add(window);
    }

    /// The newest seconds that are over.
    pub fn newest(&self, elapsed: Duration) -> Vec<SeriesPoint> {
        let mut newest: Vec<SeriesPoint> =
            self.over(elapsed).map(|(second, point)| point.numbers(second as f64, 1.0)).collect();
        newest.drain(..newest.len().saturating_sub(NEWEST_POINTS_MAX));
        newest
    }

    /// Iterations that began in the newest second that is over.
    pub fn starts_per_s(&self, elapsed: Duration) -> Option<f64> {
        self.over(elapsed).last().map(|(_, point)| point.started() as f64)
    }

    fn over(&self, elapsed: Duration) -> impl Iterator<Item = (u64, &Point)> {
        let numbered = (self.first..).zip(&self.points);
        numbered.take_while(move |(second, _)| *second < elapsed.as_secs())
    }

    /// The 99th percentile of the lag since this was asked last.
    pub fn take_lag_p99_us(&mut self) -> Option<f64> {
        let p99 = self.lag.percentile_ns(99.0).map(|ns| (ns as f64 / 100.0).round() / 10.0);
        self.lag.clear();
        p99
    }

    /// How busy the busiest core was since this was asked last, and how long the one that waited most had no CPU; both
    /// as shares of the time, 0 … 1.
    pub fn take_core_shares(&mut self, totals: &Totals) -> Option<(f64, f64)> {
        let mut most: Option<(f64, f64)> = None;
        for (core, now) in totals.cores() {
            let before = self.cores.insert(core, *now).unwrap_or_default();
            let observed = now.observed_ns.saturating_sub(before.observed_ns);
            if observed > 0 {
                let share =
                    |now: u64, before: u64| (now.saturating_sub(before) as f64 / observed as f64).min(1.0);
                let (busy, waited) =
                    (share(now.busy_ns, before.busy_ns), share(now.waited_ns, before.waited_ns));
                most = Some(most.map_or((busy, waited), |most| (most.0.max(busy), most.1.max(waited))));
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::layout::Layout;

    fn window(second: u64, vus: u32, busy_ns: u64) -> Window {
        let mut window = Window::new(&Arc::new(Layout::default()));
        (window.from_ns, window.to_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
        (window.vus, window.busy_ns) = (vus, busy_ns);
        window
    }

    #[test]
    fn only_the_newest_full_seconds_are_kept() {
        let mut pulse = Pulse::default();
        (0..100).for_each(|second| pulse.add(&window(second, second as u32, 0)));
        pulse.add(&window(3, 1_000, 0));
        let newest = pulse.newest(Duration::from_millis(99_500));
        assert_eq!(newest.len(), NEWEST_POINTS_MAX);
        assert_eq!(newest.iter().map(|point| point.vus).collect::<Vec<_>>(), (89..99).collect::<Vec<_>>());
    }

    #[test]
    fn a_gap_is_points_without_anything() {
        let mut pulse = Pulse::default();
        pulse.add(&window(2, 5, 0));
        pulse.add(&window(4, 5, 0));
        pulse.add(&window(500, 7, 0));
        let newest = pulse.newest(Duration::from_secs(501));
        assert_eq!((newest[0].t_s, newest[0].vus), (491.0, 0));
        assert_eq!((newest[9].t_s, newest[9].vus), (500.0, 7));
    }

    #[test]
    fn starts_are_those_of_the_last_full_second() {
        let mut pulse = Pulse::default();
        for (second, starts) in [(0, 3), (1, 5), (2, 7)] {
            let mut window = window(second, 1, 0);
            (0..starts).for_each(|_| window.started());
            pulse.add(&window);
        }
        assert_eq!(pulse.starts_per_s(Duration::from_millis(900)), None);
        assert_eq!(pulse.starts_per_s(Duration::from_millis(2_500)), Some(5.0));
    }

    #[test]
    fn busy_and_lag_are_of_the_time_since_the_last_question() {
        let mut pulse = Pulse::default();
        let mut totals = Totals::new(&Arc::new(Layout::default()));
        let mut first = window(0, 1, SECOND_NS / 2);
        first.lag(5_000);
        totals.add(&first);
        pulse.add(&first);
        assert_eq!(pulse.take_core_shares(&totals), Some((0.5, 0.0)));
        assert_eq!(pulse.take_lag_p99_us(), Some(5.0));
        totals.add(&window(1, 1, SECOND_NS / 4));
        assert_eq!(pulse.take_core_shares(&totals), Some((0.25, 0.0)));
        assert_eq!(pulse.take_lag_p99_us(), None);
        assert_eq!(pulse.take_core_shares(&totals), None, "nothing new");
    }
}
