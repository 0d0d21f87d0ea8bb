//! Two results side by side: what differs, and how sure that is.
//!
//! # Method
//!
//! Every quantity of a run gets a confidence interval from its own samples, and two of them give the interval of their
//! difference by the method of variance estimates recovery (Zou and Donner 2008). Many intervals of 95 % each would show
//! differences between equal runs again and again; so each is as much wider as makes all of a comparison hold together in
//! 95 of 100 comparisons (Bonferroni).
//!
//! | quantity | interval of one run |
//! | --- | --- |
//! | percentiles | order statistics: the samples whose ranks chance could put there, at the outer edges of their buckets |
//! | mean | normal, from standard deviation and count |
//! | failed | Wilson's interval of a share |
//! | rate | batch means over time, Student's t |
//!
//! Samples of a load test are not independent: a slow second is slow for all its calls. So the run is also cut into at most
//! 20 batches over time, and where the batches say that a difference is less certain than independent samples would, the
//! interval is widened by that factor. Batches are made of the points of the series without the first (start-up) and the
//! last (incomplete); where both runs have the same plan and length, points of the same moment are paired, so that a ramp
//! does not count as noise. The mean of a batch of percentiles is only used for how much it varies, never as a value.
//!
//! A difference is *better* or *worse* when its whole interval lies on that side of zero and it is at least
//! [`RELEVANT`]; otherwise no difference is shown, which is not the same as no difference. One run against one other says
//! nothing about how much runs differ from day to day: for that, compare several.

mod interval;
mod level;
mod notes;
mod quantities;
mod rule;

use serde::{Deserialize, Serialize};

pub use rule::{FailRule, FailRuleError, RuleOutcome};

use crate::result::{RunResult, Status};
use interval::Interval;

/// The version of what is written.
pub const VERSION: u32 = 1;
/// In so many of 100 comparisons all intervals hold the true value.
pub const CONFIDENCE_PERCENT: f64 = 95.0;
/// Relative changes below this are nobody's business: buckets are nearly as wide.
pub const RELEVANT: f64 = 0.01;

/// What stands for all steps together.
pub const ALL: &str = "all";

/// Two results side by side; `a` is what was before, `b` what is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`VERSION`].
    pub version: u32,
    /// The first run.
    pub a: Side,
    /// The second run.
    pub b: Side,
    /// Whether both ran the same plan with the same load.
    pub same_plan: bool,
    /// What makes the comparison doubtful.
    pub warnings: Vec<String>,
    /// How sure the intervals are, all of them together.
    pub confidence_percent: f64,
    /// All quantities of all steps together, then of each step that both have, if there are several.
    pub differences: Vec<Difference>,
    /// The only step of both runs, `workflow.step`: what is said of all steps is said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_step: Option<String>,
    /// Why no rule can be held against the differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_comparable: Option<String>,
    /// Rules that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
}

/// What a run is recognised by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The plan's name.
    pub name: String,
    /// The job's id.
    pub job: String,
    /// When it began.
    pub started_at: String,
    /// How it ended.
    pub status: Status,
    /// How long it took.
    pub elapsed_s: f64,
}

/// One quantity in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// [`ALL`], or `workflow.step`.
    pub place: String,
    /// Which quantity.
    pub quantity: Quantity,
    /// In the first run: per second, a share, or microseconds.
    pub a: f64,
    /// In the second run.
    pub b: f64,
    /// `(b − a) / a`; for [`Quantity::Failed`] `b − a`. `None` if there is nothing to divide by.
    pub change: Option<f64>,
    /// The interval of `change`, if one can be given.
    pub interval: Option<(f64, f64)>,
    /// What follows.
    pub verdict: Verdict,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the statistics of the result")]
pub enum Quantity {
    Rate,
    Failed,
    Mean,
    P50,
    P90,
    P95,
    P99,
    #[serde(rename = "p99_9")]
    P999,
}

impl Quantity {
    /// Every quantity, in the order they are shown.
    pub const EVERY: [Quantity; 8] = [
        Quantity::Rate,
        Quantity::Failed,
        Quantity::Mean,
        Quantity::P50,
        Quantity::P90,
        Quantity::P95,
        Quantity::P99,
        Quantity::P999,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Quantity::Rate => "rate",
            Quantity::Failed => "failed",
            Quantity::Mean => "mean",
            Quantity::P50 => "p50",
            Quantity::P90 => "p90",
            Quantity::P95 => "p95",
            Quantity::P99 => "p99",
            Quantity::P999 => "p99.9",
        }
    }

    /// Whether more of it is better.
    const fn more_is_better(self) -> bool {
        matches!(self, Quantity::Rate)
    }
}

/// What a difference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The second run is better.
    Better,
    /// The second run is worse.
    Worse,
    /// The numbers do not show a difference.
    NoDifferenceShown,
    /// There are too few samples to say anything.
    Unknown,
}

/// Compares two results.
pub fn compare(a: &RunResult, b: &RunResult) -> Comparison {
    let same_plan = notes::same_plan(a, b);
    let (differences, only_step) = quantities::differences(a, b, same_plan);
    Comparison {
        version: VERSION,
        a: side(a),
        b: side(b),
        same_plan,
        warnings: notes::warnings(a, b, same_plan),
        confidence_percent: CONFIDENCE_PERCENT,
        differences,
        only_step,
        not_comparable: notes::incomparable(a, b),
        rules: Vec::new(),
    }
}

impl Comparison {
    /// Holds the differences against rules and keeps what came out.
    pub fn judge(&mut self, rules: &[FailRule]) -> Result<(), FailRuleError> {
        self.rules = rules.iter().map(|rule| rule.judge(self)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Whether every rule could be held against the differences.
    pub fn is_judged(&self) -> bool {
        self.rules.is_empty() || self.not_comparable.is_none()
    }

    /// Whether a rule is broken.
    pub fn is_broken(&self) -> bool {
        self.rules.iter().any(|rule| rule.broken)
    }
}

fn side(result: &RunResult) -> Side {
    Side {
        name: result.identity.name.clone(),
        job: result.identity.job.clone(),
        started_at: result.started_at.clone(),
        status: result.status,
        elapsed_s: result.elapsed_s,
    }
}

impl Difference {
    fn new(place: &str, quantity: Quantity, a: f64, b: f64, difference: Option<Interval>) -> Self {
        // Shares are compared as they are: twice as many of hardly any is no news.
        let unit = if quantity == Quantity::Failed { 1.0 } else { a };
        let relative = |value: f64| (unit > 0.0).then(|| value / unit);
        let change = relative(b - a);
        // Nothing can fall by more than all of it.
        let interval = difference.and_then(|of| Some((relative(of.low)?.max(-1.0), relative(of.high)?)));
        let verdict = verdict(quantity, change, interval);
        Self { place: place.to_owned(), quantity, a, b, change, interval, verdict }
    }

    /// Whether the interval lies on one side of zero.
    pub fn is_shown(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

fn verdict(quantity: Quantity, change: Option<f64>, interval: Option<(f64, f64)>) -> Verdict {
    let (Some(change), Some((low, high))) = (change, interval) else { return Verdict::Unknown };
    let relevant = quantity == Quantity::Failed || change.abs() >= RELEVANT;
    match (low > 0.0, high < 0.0) {
        (true, _) if relevant && quantity.more_is_better() => Verdict::Better,
        (true, _) if relevant => Verdict::Worse,
        (_, true) if relevant && quantity.more_is_better() => Verdict::Worse,
        (_, true) if relevant => Verdict::Better,
        _ => Verdict::NoDifferenceShown,
    }
}
