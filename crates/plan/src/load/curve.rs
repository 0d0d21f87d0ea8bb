//! A piecewise-linear curve of virtual users or starts per second over time.

use hyperscale_types::Span;

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
}
