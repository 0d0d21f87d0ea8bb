//! What has to be reached, what was measured, and whether that is enough. Pure.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::numbers::number;

/// A limit on a measured value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {}", with_unit(limit, unit)),
            Self::AtLeast(limit) => format!("≥ {}", with_unit(limit, unit)),
        }
    }
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// A value, and what helps to read it.
    Measured { value: f64, note: String },
    /// Why there is none.
    NotMeasured(String),
}

/// How an outcome stands to its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Stretch,
    Met,
    Missed,
    NotMeasured,
}

impl Verdict {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Stretch => "stretch reached",
            Self::Met => "met",
            Self::Missed => "**missed**",
            Self::NotMeasured => "not measured",
        }
    }
}

/// One row of the table of goals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Goal {
    pub(crate) name: String,
    /// Follows every number of the row, for example "× wrk".
    pub(crate) unit: Cow<'static, str>,
    pub(crate) must: Bound,
    pub(crate) stretch: Option<Bound>,
    pub(crate) outcome: Outcome,
}

impl Goal {
    /// A row with a value; `bounds` are what must be and what would be better.
    pub(super) fn measured(
        name: &str,
        unit: &'static str,
        bounds: (Bound, Option<Bound>),
        value: f64,
        note: String,
    ) -> Self {
        let (must, stretch) = bounds;
        let outcome = Outcome::Measured { value, note };
        Self { name: name.to_owned(), unit: unit.into(), must, stretch, outcome }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        match &self.outcome {
            Outcome::NotMeasured(_) => Verdict::NotMeasured,
            Outcome::Measured { value, .. } if !self.must.holds(*value) => Verdict::Missed,
            Outcome::Measured { value, .. } if self.stretch.is_some_and(|bound| bound.holds(*value)) => {
                Verdict::Stretch
            }
            Outcome::Measured { .. } => Verdict::Met,
        }
    }

    /// The cells of its row: goal, must, stretch, measured, verdict.
    pub(crate) fn cells(&self) -> [String; 5] {
        let measured = match &self.outcome {
            Outcome::Measured { value, note } if note.is_empty() => with_unit(*value, &self.unit),
            Outcome::Measured { value, note } => format!("{} ({note})", with_unit(*value, &self.unit)),
            Outcome::NotMeasured(why) => why.clone(),
        };
        let stretch = self.stretch.map(|bound| bound.text(&self.unit)).unwrap_or_default();
        let verdict = self.verdict().text().to_owned();
        [self.name.clone(), self.must.text(&self.unit), stretch, measured, verdict]
    }

    pub(crate) fn to_json(&self) -> Value {
        let [name, must, stretch, measured, _] = self.cells();
        let value = match self.outcome {
            Outcome::Measured { value, .. } => Some(value),
            Outcome::NotMeasured(_) => None,
        };
        let verdict = self.verdict().text().trim_matches('*');
        json!({ "goal": name, "must": must, "stretch": stretch, "value": value, "measured": measured, "verdict": verdict })
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", number(value)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(must: Bound, stretch: Option<Bound>, value: f64) -> Goal {
        let outcome = Outcome::Measured { value, note: String::new() };
        Goal { name: "CPU".into(), unit: "× wrk".into(), must, stretch, outcome }
    }

    #[test]
    fn verdict_follows_the_bounds() {
        let cpu = |value| goal(Bound::AtMost(0.88), Some(Bound::AtMost(0.7)), value).verdict();
        assert_eq!(
            [cpu(0.9), cpu(0.88), cpu(0.71), cpu(0.7)],
            [Verdict::Missed, Verdict::Met, Verdict::Met, Verdict::Stretch]
        );
        let rate = |value| goal(Bound::AtLeast(1.12), Some(Bound::AtLeast(1.35)), value).verdict();
        assert_eq!([rate(1.1), rate(1.12), rate(1.4)], [Verdict::Missed, Verdict::Met, Verdict::Stretch]);
        assert_eq!(goal(Bound::AtMost(10.0), None, 1.0).verdict(), Verdict::Met);
    }

    #[test]
    fn cells_show_bounds_and_value_with_their_unit() {
        let cells = goal(Bound::AtMost(0.88), Some(Bound::AtMost(0.7)), 0.8).cells();
        assert_eq!(cells, ["CPU", "≤ 0.88 × wrk", "≤ 0.70 × wrk", "0.80 × wrk", "met"]);
    }

    #[test]
    fn what_was_not_measured_says_why_and_never_passes() {
        let mut goal = goal(Bound::AtMost(1.0), None, 0.0);
        goal.outcome = Outcome::NotMeasured("k6 is not installed".into());
        assert_eq!(goal.cells()[3..], ["k6 is not installed", "not measured"]);
        assert_eq!(goal.to_json()["value"], Value::Null);
    }
}
