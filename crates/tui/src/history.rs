//! The points of a chart, gathered from snapshots that each carry the newest few.

use hyperscale_stats::result::SeriesPoint;

/// Points kept per chart. No terminal is wider; what is older falls out.
const POINTS_MAX: usize = 4_096;

/// A run, or one workflow of it, over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    points: Vec<SeriesPoint>,
}

impl History {
    /// Takes the newest points in. A point that is known already is replaced: the later word counts.
    pub(crate) fn add(&mut self, newest: &[SeriesPoint]) {
        let Some(first) = newest.first() else { return };
        let known = self.points.partition_point(|point| point.t_s < first.t_s);
        self.points.truncate(known);
        self.points.extend_from_slice(newest);
        let old = self.points.len().saturating_sub(POINTS_MAX);
        self.points.drain(..old);
    }

    /// All points, oldest first.
    pub(crate) fn points(&self) -> &[SeriesPoint] {
        &self.points
    }

    /// The newest point.
    pub(crate) fn last(&self) -> Option<&SeriesPoint> {
        self.points.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(t_s: f64, rate: f64) -> SeriesPoint {
        SeriesPoint { t_s, rate, failed: 0, vus: 1, p50_us: 1.0, p95_us: 1.0, p99_us: 1.0 }
    }

    #[test]
    fn later_word_on_a_point_counts() {
        let mut history = History::default();
        history.add(&[point(0.0, 1.0), point(1.0, 2.0)]);
        history.add(&[point(1.0, 5.0), point(2.0, 6.0)]);
        let rates: Vec<u64> = history.points().iter().map(|point| point.rate as u64).collect();
        assert_eq!(rates, [1, 5, 6]);
    }

    #[test]
    fn oldest_points_fall_out() {
        let mut history = History::default();
        (0..POINTS_MAX * 2).for_each(|second| history.add(&[point(second as f64, 1.0)]));
        assert_eq!(history.points().len(), POINTS_MAX);
        assert_eq!(history.points()[0].t_s as usize, POINTS_MAX);
    }
}
