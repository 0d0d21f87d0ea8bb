//! A piecewise-linear curve of virtual users or starts per second over time.

use hyperscale_types::Span;

const SECOND_NS: f64 = 1e9;

/// A curve: its value at t = 0, then stages one after the other. After the last stage it is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The value at t = 0.
    pub start: f64,
    /// What follows, at least one.
    pub stages: Vec<Stage>,
}

/// A straight line from the value before it to `to`, `over` this long. A hold is a stage to the value before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The value at the end of the stage.
    pub to: f64,
    /// How long the stage takes.
    pub over: Span,
}

impl Curve {
    /// The same value for a time.
    pub fn constant(value: f64, over: Span) -> Self {
        Self { start: value, stages: vec![Stage { to: value, over }] }
    }

    /// How long it lasts.
    pub fn length(&self) -> Span {
        self.stages.iter().fold(Span::ZERO, |sum, stage| sum.saturating_add(stage.over))
    }

    /// Its largest value.
    pub fn peak(&self) -> f64 {
        self.stages.iter().fold(self.start, |peak, stage| peak.max(stage.to))
    }

    /// Its largest value as a number of virtual users.
    pub fn peak_vus(&self) -> u32 {
        self.peak().round() as u32
    }

    /// Its value at a time; where it jumps, the value after the jump. 0 when it is over.
    pub fn value_at(&self, at_ns: u64) -> f64 {
        self.pieces().find(|piece| at_ns < piece.end_ns()).map_or(0.0, |piece| piece.value_at(at_ns))
    }

    /// The area under it from 0 to a time, in value × seconds.
    pub fn integral(&self, to_ns: u64) -> f64 {
        self.pieces().take_while(|piece| piece.from_ns < to_ns).map(|piece| piece.area_to(to_ns)).sum()
    }

    /// The area under all of it.
    pub fn area(&self) -> f64 {
        self.pieces().map(|piece| piece.area()).sum()
    }

    /// The straight lines it consists of.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let first = Piece { from_ns: 0, over_ns: 0, from: self.start, to: self.start, before: 0.0 };
        self.stages.iter().scan(first, |last, stage| {
            *last = Piece {
                from_ns: last.end_ns(),
                over_ns: stage.over.as_nanos(),
                from: last.to,
                to: stage.to,
                before: last.before + last.area(),
            };
            Some(*last)
        })
    }
}

/// One straight line of a curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) from_ns: u64,
    pub(super) over_ns: u64,
    /// Value at its begin.
    pub(super) from: f64,
    /// Value at its end.
    pub(super) to: f64,
    /// Area under the curve before it.
    pub(super) before: f64,
}

impl Piece {
    pub(super) fn end_ns(&self) -> u64 {
        self.from_ns.saturating_add(self.over_ns)
    }

    pub(super) fn area(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.over_ns as f64 / SECOND_NS
    }

    /// The earliest time within it at which the area under the whole curve reaches `area`.
    pub(super) fn time_of(&self, area: f64) -> u64 {
        let wanted = (area - self.before).max(0.0);
        // The root of slope/2·x² + from·x = wanted, in the form that is stable for a slope of zero.
        let slope = (self.to - self.from) / (self.over_ns as f64 / SECOND_NS).max(f64::MIN_POSITIVE);
        let root = (self.from * self.from + 2.0 * slope * wanted).max(0.0).sqrt();
        let seconds = if wanted == 0.0 { 0.0 } else { 2.0 * wanted / (self.from + root) };
        self.from_ns + ((seconds * SECOND_NS).round() as u64).min(self.over_ns)
    }

    fn value_at(&self, at_ns: u64) -> f64 {
        let passed = at_ns.saturating_sub(self.from_ns).min(self.over_ns);
        if self.over_ns == 0 {
            return self.to;
        }
        self.from + (self.to - self.from) * (passed as f64 / self.over_ns as f64)
    }

    fn area_to(&self, to_ns: u64) -> f64 {
        let passed = to_ns.saturating_sub(self.from_ns).min(self.over_ns);
        f64::midpoint(self.from, self.value_at(self.from_ns + passed)) * passed as f64 / SECOND_NS
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::curve;
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn checkout() -> Curve {
        let stage = |to, secs| Stage { to, over: Span::from_secs(secs) };
        Curve { start: 0.0, stages: vec![stage(2000.0, 30), stage(2000.0, 180), stage(0.0, 30)] }
    }

    /// The earliest time at which the area reaches `area`, if it ever does.
    fn time_of(curve: &Curve, area: f64) -> Option<u64> {
        curve.pieces().find(|piece| area <= piece.before + piece.area()).map(|piece| piece.time_of(area))
    }

    #[test]
    fn values_and_areas_of_a_ramp_a_hold_and_a_ramp() {
        let curve = checkout();
        for (at_s, value, area) in [
            (0, 0.0, 0.0),
            (15, 1000.0, 7_500.0),
            (30, 2000.0, 30_000.0),
            (210, 2000.0, 390_000.0),
            (225, 1000.0, 412_500.0),
            (240, 0.0, 420_000.0),
            (999, 0.0, 420_000.0),
        ] {
            assert!((curve.value_at(at_s * S) - value).abs() < 1e-6, "value at {at_s} s");
            assert!((curve.integral(at_s * S) - area).abs() < 1e-6, "area to {at_s} s");
        }
        assert_eq!(time_of(&curve, 7_500.0), Some(15 * S));
        assert_eq!(time_of(&curve, 420_001.0), None);
    }

    #[test]
    fn a_stage_of_no_length_is_a_jump() {
        let stage = |to, secs| Stage { to, over: Span::from_secs(secs) };
        let curve = Curve { start: 1.0, stages: vec![stage(1.0, 1), stage(9.0, 0), stage(9.0, 1)] };
        assert!((curve.value_at(S - 1) - 1.0).abs() < 1e-9);
        assert!((curve.value_at(S) - 9.0).abs() < 1e-9);
        assert!((curve.area() - 10.0).abs() < 1e-9);
        assert_eq!(time_of(&curve, 1.0), Some(S));
    }

    #[test]
    fn nothing_is_reached_during_a_pause() {
        let stage = |to, secs| Stage { to, over: Span::from_secs(secs) };
        let curve = Curve {
            start: 2.0,
            stages: vec![stage(2.0, 1), stage(0.0, 0), stage(0.0, 5), stage(2.0, 0), stage(2.0, 1)],
        };
        assert_eq!(time_of(&curve, 2.0), Some(S));
        assert_eq!(time_of(&curve, 3.0), Some(6 * S + S / 2));
    }

    proptest! {
        #[test]
        fn the_inverse_of_the_area_is_its_time(curve in curve(), part in 0.0f64..1.0) {
            let area = curve.area() * part;
            let at_ns = time_of(&curve, area).expect("within the area");
            prop_assert!(at_ns <= curve.length().as_nanos());
            // A nanosecond is worth up to peak × 1e-9.
            let off = (curve.integral(at_ns) - area).abs();
            prop_assert!(off <= curve.peak() * 2e-9 + curve.area() * 1e-12, "{} off", off);
        }

        #[test]
        fn the_area_never_falls(curve in curve(), a in 0.0f64..1.2, b in 0.0f64..1.2) {
            let at = |part: f64| (curve.length().as_nanos() as f64 * part) as u64;
            let (early, late) = (at(a.min(b)), at(a.max(b)));
            prop_assert!(curve.integral(early) <= curve.integral(late) + 1e-9);
        }
    }
}
