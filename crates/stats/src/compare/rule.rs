//! Rules that fail a comparison: `p95>5%`, `Browse.order.p99>10%`, `rate<-5%`, `failed>0.5%`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{ALL, Comparison, Quantity};

/// A change that must not be: `[workflow.step.]quantity (>|<) percent%`.
///
/// The percentage is the change from the first run to the second; for `failed` it is percentage points.
#[derive(Clone, Debug, PartialEq)]
pub struct FailRule {
    place: String,
    quantity: Quantity,
    more: bool,
    limit: f64,
    text: String,
}

/// Why a text is no rule, or a rule cannot be held against a comparison.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailRuleError {
    /// No `>` or `<`.
    #[error("`{0}` compares nothing; write for example p95>5%")]
    Operator(String),
    /// Not a percentage.
    #[error("`{0}` is not a percentage; write for example 5% or -2.5%")]
    Percent(String),
    /// Not a quantity.
    #[error("`{0}` is not compared; choose one of rate, failed, mean, p50, p90, p95, p99, p99.9")]
    Quantity(String),
    /// Nothing of that name is in both runs.
    #[error("`{rule}`: no {quantity} of `{place}` is in both runs")]
    Missing {
        /// The rule as it was written.
        rule: String,
        /// `all`, or `workflow.step`.
        place: String,
        /// What was to be compared.
        quantity: &'static str,
    },
}

/// What came out of a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleOutcome {
    /// The rule as it was written.
    pub rule: String,
    /// What was compared.
    pub quantity: Quantity,
    /// The change it was held against.
    pub change: Option<f64>,
    /// Whether the change is beyond the limit, and shown to be a change.
    pub broken: bool,
    /// Why it is not broken although the change is beyond the limit, why it was judged without an interval, or why it was
    /// not judged at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl FromStr for FailRule {
    type Err = FailRuleError;

    fn from_str(text: &str) -> Result<Self, FailRuleError> {
        let text = text.trim();
        let at = text.find(['>', '<']).ok_or_else(|| FailRuleError::Operator(text.to_owned()))?;
        let (left, right) = (text[..at].trim(), text[at + 1..].trim());
        let limit = right.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let limit = limit.filter(|limit| limit.is_finite());
        let (place, quantity) = place_and_quantity(left)?;
        Ok(Self {
            place,
            quantity,
            more: text.as_bytes()[at] == b'>',
            limit: limit.ok_or_else(|| FailRuleError::Percent(right.to_owned()))? / 100.0,
            text: text.to_owned(),
        })
    }
}

fn place_and_quantity(text: &str) -> Result<(String, Quantity), FailRuleError> {
    let named = |word: &str| Quantity::EVERY.into_iter().find(|quantity| quantity.as_str() == word);
    if let Some(quantity) = named(text) {
        return Ok((ALL.to_owned(), quantity));
    }
    // `p99.9` has a dot of its own: the longest quantity at the end wins.
    let split = |quantity: Quantity| {
        let place = text.strip_suffix(quantity.as_str())?.strip_suffix('.')?;
        (!place.is_empty()).then(|| (place.to_owned(), quantity))
    };
    let found = Quantity::EVERY.into_iter().rev().find_map(split);
    found.ok_or_else(|| FailRuleError::Quantity(text.to_owned()))
}

impl fmt::Display for FailRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FailRule {
    /// Holds the rule against the differences.
    pub(super) fn judge(&self, comparison: &Comparison) -> Result<RuleOutcome, FailRuleError> {
        let is_only = comparison.only_step.as_ref() == Some(&self.place);
        let place = if is_only { ALL } else { &self.place };
        let mut differences = comparison.differences.iter();
        let found = differences.find(|one| one.place == place && one.quantity == self.quantity);
        let difference = found.ok_or_else(|| FailRuleError::Missing {
            rule: self.text.clone(),
            place: self.place.clone(),
            quantity: self.quantity.as_str(),
        })?;
        let beyond = difference
            .change
            .is_some_and(|change| if self.more { change > self.limit } else { change < self.limit });
        let (broken, note) = match (beyond, difference.interval) {
            (false, _) => (false, None),
            (true, None) => (true, Some("judged without an interval")),
            (true, Some(_)) if difference.is_shown() => (true, None),
            (true, Some(_)) => (false, Some("beyond the limit, but the numbers do not show a difference")),
        };
        let (broken, note) = match &comparison.not_comparable {
            Some(why) => (false, Some(why.clone())),
            None => (broken, note.map(str::to_owned)),
        };
        let (rule, quantity) = (self.text.clone(), self.quantity);
        Ok(RuleOutcome { rule, quantity, change: difference.change, broken, note })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CONFIDENCE_PERCENT, Difference, Side, VERSION, Verdict};
    use super::*;
    use crate::result::Status;

    fn rule(text: &str) -> FailRule {
        text.parse().unwrap()
    }

    fn difference(place: &str, quantity: Quantity, change: f64, interval: Option<(f64, f64)>) -> Difference {
        let (place, change) = (place.to_owned(), Some(change));
        Difference {
            place,
            quantity,
            a: 1.0,
            b: 1.0 + change.unwrap(),
            change,
            interval,
            verdict: Verdict::Worse,
        }
    }

    fn comparison(differences: Vec<Difference>) -> Comparison {
        let side = || Side {
            name: String::new(),
            job: String::new(),
            started_at: String::new(),
            status: Status::Completed,
            elapsed_s: 1.0,
        };
        Comparison {
            version: VERSION,
            a: side(),
            b: side(),
            same_plan: true,
            warnings: Vec::new(),
            confidence_percent: CONFIDENCE_PERCENT,
            differences,
            only_step: None,
            not_comparable: None,
            rules: Vec::new(),
        }
    }

    #[test]
    fn rules_name_a_quantity_and_where() {
        let of = |text: &str| {
            let rule = rule(text);
            (rule.place, rule.quantity, rule.more, rule.limit)
        };
        assert_eq!(of("p95>5%"), ("all".into(), Quantity::P95, true, 0.05));
        assert_eq!(of(" rate < -2.5 % "), ("all".into(), Quantity::Rate, false, -0.025));
        assert_eq!(of("Browse.order.p99.9 > 10%"), ("Browse.order".into(), Quantity::P999, true, 0.1));
        assert_eq!(of("Browse.p99>1%"), ("Browse".into(), Quantity::P99, true, 0.01));
    }

    #[test]
    fn wrong_rules_say_what_is_wrong() {
        let error = |text: &str| text.parse::<FailRule>().unwrap_err();
        assert!(matches!(error("p95"), FailRuleError::Operator(_)));
        assert!(matches!(error("p95>5"), FailRuleError::Percent(_)));
        assert!(matches!(error("p95>five%"), FailRuleError::Percent(_)));
        assert!(matches!(error("p95>nan%"), FailRuleError::Percent(_)));
        assert!(matches!(error("p42>5%"), FailRuleError::Quantity(_)));
        assert!(matches!(error(".p95>5%"), FailRuleError::Quantity(_)));
    }

    #[test]
    fn a_rule_is_broken_by_a_change_that_is_shown() {
        let differences = comparison(vec![
            difference(ALL, Quantity::P95, 0.08, Some((0.02, 0.14))),
            difference(ALL, Quantity::P99, 0.30, Some((-0.1, 0.7))),
            difference(ALL, Quantity::Rate, -0.2, None),
        ]);
        let broken = |text: &str| rule(text).judge(&differences).unwrap();
        assert!(broken("p95>5%").broken);
        assert!(!broken("p95>10%").broken);
        let noisy = broken("p99>5%");
        assert!(!noisy.broken && noisy.note.is_some());
        let short = broken("rate<-5%");
        assert!(short.broken && short.note.is_some());
        assert!(matches!(rule("X.p95>1%").judge(&differences), Err(FailRuleError::Missing { .. })));
    }
    #[test]
    fn the_only_step_is_all_steps() {
        let mut comparison = comparison(vec![difference(ALL, Quantity::P95, 0.08, Some((0.02, 0.14)))]);
        assert!(rule("Main.page.p95>5%").judge(&comparison).is_err());
        comparison.only_step = Some("Main.page".to_owned());
        assert!(rule("Main.page.p95>5%").judge(&comparison).unwrap().broken);
    }

    #[test]
    fn no_rule_is_held_against_a_saturated_run() {
        let mut comparison = comparison(vec![difference(ALL, Quantity::P95, 0.08, Some((0.02, 0.14)))]);
        comparison.not_comparable = Some("not comparable: because".to_owned());
        comparison.judge(&[rule("p95>5%")]).unwrap();
        assert!(!comparison.is_broken() && !comparison.is_judged());
        assert_eq!(comparison.rules[0].note.as_deref(), Some("not comparable: because"));
    }
}
