//! Threshold rules: `Browse.order.latency.p99 < 300ms`.
//!
//! ```text
//! rule   = [workflow ['.' step] '.'] metric op value
//! metric = ('latency'|'service') ['.' phase] '.' stat | ('latency_failed'|'latency_all') '.' stat | 'rate' | 'completed'
//!        | 'failed.count' | 'failed.rate' | 'check.' name '.rate' | 'metric.' name '.' stat | 'dropped' | 'late' | 'missed'
//! phase  = connect | tls | auth | write | wait | read
//! stat   = p0 … p100 (decimals allowed) | mean | min | max | stdev | count
//! op     = < <= > >= == !=
//! ```
//! Without a workflow a rule is about all workflows together. A duration compares in seconds, a percentage as a fraction, a rate per second.

use std::fmt;
use std::str::FromStr;

use crate::{Name, Rate, Span};

/// Words that begin a metric and are therefore no step names.
pub const RESERVED_STEP_NAMES: [&str; 12] = [
    "latency",
    "latency_failed",
    "latency_all",
    "service",
    "rate",
    "completed",
    "failed",
    "check",
    "metric",
    "dropped",
    "late",
    "missed",
];

/// A parsed rule. Whether the workflow and the step exist is checked by the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The rule as it was written, with white space folded.
    pub text: String,
    /// The workflow it is about, or all workflows merged.
    pub workflow: Option<Name>,
    /// The step, or all test steps merged; only with a workflow.
    pub step: Option<Name>,
    /// What is compared.
    pub metric: Metric,
    /// The comparison of the metric with the bound.
    pub op: Op,
    /// With what: seconds, a fraction, a rate per second or a plain number, by the metric's unit.
    pub value: f64,
}

/// What a rule compares.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// A statistic of latency (from the intended start) of calls that were ok, or of one of its phases.
    Latency(Option<Phase>, Stat),
    /// A statistic of the latency of calls that failed.
    LatencyFailed(Stat),
    /// A statistic of the latency of all calls.
    LatencyAll(Stat),
    /// A statistic of service time (from the actual start), or of one of its phases.
    Service(Option<Phase>, Stat),
    /// Calls per second.
    Rate,
    /// Calls that were ok.
    Completed,
    /// Calls that failed.
    FailedCount,
    /// Failed calls / calls.
    FailedRate,
    /// Passed / evaluated of the named check.
    CheckRate(Name),
    /// A statistic of a metric step.
    Custom(Name, Stat),
    /// Starts that were dropped (open models).
    Dropped,
    /// Starts that were late (open models).
    Late,
    /// Starts that were missed while an iteration took too long (paced models).
    Missed,
}

/// A part of a call's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Opening the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Authentication before the first operation.
    Auth,
    /// Handing the request to the kernel.
    Write,
    /// From the last byte written to the first byte read.
    Wait,
    /// From the first to the last byte read.
    Read,
}

impl Phase {
    /// All phases, in order of time.
    pub const ALL: [Phase; 6] =
        [Phase::Connect, Phase::Tls, Phase::Auth, Phase::Write, Phase::Wait, Phase::Read];

    /// The word used in rules and results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Phase::Connect => "connect",
            Phase::Tls => "tls",
            Phase::Auth => "auth",
            Phase::Write => "write",
            Phase::Wait => "wait",
            Phase::Read => "read",
        }
    }

    /// The number it travels by. It never changes and is never given to another phase.
    pub const fn number(self) -> u8 {
        match self {
            Phase::Connect => 1,
            Phase::Tls => 2,
            Phase::Auth => 3,
            Phase::Write => 4,
            Phase::Wait => 5,
            Phase::Read => 6,
        }
    }

    /// The phase of a number, unless this version does not know it.
    pub fn of_number(number: u8) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.number() == number)
    }
}

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat {
    /// The value below which this percentage of samples lies, 0 … 100.
    Percentile(f64),
    /// Arithmetic mean.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Standard deviation.
    Stdev,
    /// Number of samples.
    Count,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Op {
    const WORDS: [(&'static str, Op); 6] = [
        ("<=", Op::LessOrEqual),
        (">=", Op::GreaterOrEqual),
        ("==", Op::Equal),
        ("!=", Op::NotEqual),
        ("<", Op::Less),
        (">", Op::Greater),
    ];

    /// Splits `left op right` at the first operator.
    pub fn split(text: &str) -> Option<(&str, Op, &str)> {
        let at = text.find(['<', '>', '=', '!'])?;
        let (word, op) = Self::WORDS.iter().find(|(word, _)| text[at..].starts_with(word))?;
        Some((text[..at].trim(), *op, text[at + word.len()..].trim()))
    }

    /// Whether `left op right` holds.
    #[expect(clippy::float_cmp, reason = "`==` and `!=` mean exactly that; they are used on counts")]
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Op::Less => left < right,
            Op::LessOrEqual => left <= right,
            Op::Greater => left > right,
            Op::GreaterOrEqual => left >= right,
            Op::Equal => left == right,
            Op::NotEqual => left != right,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, _) = Self::WORDS.iter().find(|(_, op)| op == self).expect("every operator has a word");
        f.write_str(word)
    }
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// No comparison in it.
    #[error("`{0}` compares nothing; write for example `Browse.latency.p99 < 300ms`")]
    NoOperator(String),
    /// The left side is not `[workflow[.step].]metric`.
    #[error("`{0}` is not a metric, `workflow.metric` or `workflow.step.metric`")]
    NoMetric(String),
    /// A name is not a name.
    #[error("{0}")]
    BadName(String),
    /// The metric is not known.
    #[error(
        "`{0}` is not a metric; use latency.p99, latency_failed.p99, latency_all.p99, service.p99, rate, completed, \
         failed.count, failed.rate, check.NAME.rate, metric.NAME.p99, dropped, late or missed"
    )]
    UnknownMetric(String),
    /// The statistic is not known.
    #[error("`{0}` is not a statistic; use p0 … p100, mean, min, max, stdev or count")]
    UnknownStat(String),
    /// Phases are recorded of calls that were ok.
    #[error("there are no phases of failed calls; use latency.{}.p99, or a statistic without `{}`", .0.as_str(), .0.as_str())]
    PhaseOfFailed(Phase),
    /// The right side does not fit the metric.
    #[error("`{value}` is not {wanted}")]
    BadValue {
        /// What was written.
        value: String,
        /// What the metric compares with.
        wanted: &'static str,
    },
    /// A share that may be a percentage or a fraction.
    #[error("`{value}` has no unit: write `{value}%`, or `{percent}%` if a fraction was meant")]
    NoUnit {
        /// What was written.
        value: String,
        /// The same as a percentage, if it is a fraction.
        percent: String,
    },
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (left, op, right) = Op::split(&text).ok_or_else(|| RuleError::NoOperator(text.clone()))?;
        let (workflow, step, metric) = parse_left(left)?;
        let value = parse_value(&metric, right)?;
        Ok(Rule { text, workflow, step, metric, op, value })
    }
}

fn name(word: &str) -> Result<Name, RuleError> {
    word.parse().map_err(|e: crate::name::NameError| RuleError::BadName(e.to_string()))
}

/// `[workflow[.step].]metric`. What begins with a word of a metric is about all workflows, unless that makes no metric: a
/// workflow may have such a name.
fn parse_left(left: &str) -> Result<(Option<Name>, Option<Name>, Metric), RuleError> {
    let words: Vec<&str> = left.split('.').collect();
    let no_metric = || RuleError::NoMetric(left.to_owned());
    let (workflow, rest) = words.split_first().ok_or_else(no_metric)?;
    let of_all = RESERVED_STEP_NAMES.contains(workflow).then(|| parse_metric(&words, left));
    match (of_all, rest) {
        (Some(Ok(metric)), _) => Ok((None, None, metric)),
        (Some(Err(error)), [] | [_]) => Err(error),
        (_, []) => Err(no_metric()),
        (_, [metric, ..]) if RESERVED_STEP_NAMES.contains(metric) => {
            Ok((Some(name(workflow)?), None, parse_metric(rest, left)?))
        }
        (_, [word]) => Err(RuleError::UnknownMetric((*word).to_owned())),
        (of_all, [step, metric @ ..]) => {
            let metric =
                parse_metric(metric, left).map_err(|error| of_all.and_then(Result::err).unwrap_or(error))?;
            Ok((Some(name(workflow)?), Some(name(step)?), metric))
        }
    }
}

fn parse_metric(words: &[&str], left: &str) -> Result<Metric, RuleError> {
    match words {
        ["latency", rest @ ..] => parse_timing(rest).map(|(phase, stat)| Metric::Latency(phase, stat)),
        ["latency_failed", stat @ ..] => parse_undivided(stat).map(Metric::LatencyFailed),
        ["latency_all", stat @ ..] => parse_undivided(stat).map(Metric::LatencyAll),
        ["service", rest @ ..] => parse_timing(rest).map(|(phase, stat)| Metric::Service(phase, stat)),
        ["rate"] => Ok(Metric::Rate),
        ["completed"] => Ok(Metric::Completed),
        ["failed", "count"] => Ok(Metric::FailedCount),
        ["failed", "rate"] => Ok(Metric::FailedRate),
        ["check", check, "rate"] => Ok(Metric::CheckRate(name(check)?)),
        ["metric", metric, stat @ ..] if !stat.is_empty() => {
            Ok(Metric::Custom(name(metric)?, parse_stat(&stat.join("."))?))
        }
        ["dropped"] => Ok(Metric::Dropped),
        ["late"] => Ok(Metric::Late),
        ["missed"] => Ok(Metric::Missed),
        [] => Err(RuleError::NoMetric(left.to_owned())),
        _ => Err(RuleError::UnknownMetric(words.join("."))),
    }
}

fn parse_timing(words: &[&str]) -> Result<(Option<Phase>, Stat), RuleError> {
    let phase = words.first().and_then(|word| Phase::ALL.into_iter().find(|p| p.as_str() == *word));
    let stat = if phase.is_some() { &words[1..] } else { words };
    Ok((phase, parse_stat(&stat.join("."))?))
}

fn parse_undivided(words: &[&str]) -> Result<Stat, RuleError> {
    match parse_timing(words)? {
        (None, stat) => Ok(stat),
        (Some(phase), _) => Err(RuleError::PhaseOfFailed(phase)),
    }
}

fn parse_stat(word: &str) -> Result<Stat, RuleError> {
    let unknown = || RuleError::UnknownStat(word.to_owned());
    Ok(match word {
        "mean" => Stat::Mean,
        "min" => Stat::Min,
        "max" => Stat::Max,
        "stdev" => Stat::Stdev,
        "count" => Stat::Count,
        _ => {
            let percent = word.strip_prefix('p').and_then(decimal).ok_or_else(unknown)?;
            if !(0.0..=100.0).contains(&percent) {
                return Err(unknown());
            }
            Stat::Percentile(percent)
        }
    })
}

/// A number in digits, with or without decimals: no sign, no exponent, no words like `inf`.
fn decimal(text: &str) -> Option<f64> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if digits(whole) && digits(fraction) { text.parse().ok().filter(|n: &f64| n.is_finite()) } else { None }
}

/// A fraction as a percentage, without the noise of binary fractions.
fn in_percent(fraction: f64) -> f64 {
    (fraction * 100.0 * 1e9).round() / 1e9
}

fn parse_value(metric: &Metric, text: &str) -> Result<f64, RuleError> {
    let bad = |wanted| RuleError::BadValue { value: text.to_owned(), wanted };
    // What is counted is never below zero; a rule that says so would hold always or never.
    let number = |wanted| decimal(text).ok_or_else(|| bad(wanted));
    match metric {
        Metric::Latency(_, Stat::Count)
        | Metric::LatencyFailed(Stat::Count)
        | Metric::LatencyAll(Stat::Count)
        | Metric::Service(_, Stat::Count) => number("a number"),
        Metric::Latency(..) | Metric::LatencyFailed(_) | Metric::LatencyAll(_) | Metric::Service(..) => text
            .parse::<Span>()
            .map(Span::as_secs_f64)
            .map_err(|_| bad("a duration with a unit, for example 300ms")),
        Metric::Rate => {
            text.parse::<Rate>().map(Rate::as_per_second).map_err(|_| bad("a rate, for example 500/s"))
        }
        Metric::FailedRate | Metric::CheckRate(_) => match text.strip_suffix('%') {
            Some(percent) => decimal(percent.trim()).map(|p| p / 100.0).ok_or_else(|| bad("a percentage")),
            None => match number("a percentage, for example 1%")? {
                0.0 => Ok(0.0),
                fraction => {
                    let percent = in_percent(fraction).to_string();
                    Err(RuleError::NoUnit { value: text.to_owned(), percent })
                }
            },
        },
        Metric::Completed | Metric::FailedCount | Metric::Dropped | Metric::Late | Metric::Missed => {
            number("a number")
        }
        Metric::Custom(..) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => text.parse::<Span>().map(Span::as_secs_f64).map_err(|_| bad("a number or a duration")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn every_metric_of_the_grammar_is_read() {
        let p99 = Stat::Percentile(99.0);
        for (text, metric, value) in [
            ("W.latency.p99 < 300ms", Metric::Latency(None, p99), 0.3),
            ("W.s.latency.p99.9 < 1s", Metric::Latency(None, Stat::Percentile(99.9)), 1.0),
            ("W.s.service.wait.max<=2s", Metric::Service(Some(Phase::Wait), Stat::Max), 2.0),
            ("W.latency.count > 10", Metric::Latency(None, Stat::Count), 10.0),
            ("W.latency_failed.p99 < 2s", Metric::LatencyFailed(p99), 2.0),
            ("W.s.latency_all.max < 2s", Metric::LatencyAll(Stat::Max), 2.0),
            ("W.rate >= 500/s", Metric::Rate, 500.0),
            ("W.completed != 0", Metric::Completed, 0.0),
            ("W.failed.count == 0", Metric::FailedCount, 0.0),
            ("W.failed.rate < 1%", Metric::FailedRate, 0.01),
            ("W.s.check.status.rate > 99%", Metric::CheckRate("status".parse().unwrap()), 0.99),
            ("W.metric.basket.p99 < 10", Metric::Custom("basket".parse().unwrap(), p99), 10.0),
            ("W.dropped == 0", Metric::Dropped, 0.0),
            ("W.late < 5", Metric::Late, 5.0),
            ("W.missed == 0", Metric::Missed, 0.0),
        ] {
            let rule = rule(text);
            assert_eq!(rule.metric, metric, "{text}");
            assert!((rule.value - value).abs() < 1e-12, "{text}: {}", rule.value);
        }
    }

    #[test]
    fn share_without_a_unit_is_refused_with_what_may_be_meant() {
        for (text, meant) in [
            ("failed.rate < 1", "`1%`, or `100%`"),
            ("W.s.check.status.rate > 0.99", "`0.99%`, or `99%`"),
            ("failed.rate < 0.007", "`0.007%`, or `0.7%`"),
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(meant), "{error}");
        }
        assert!(rule("failed.rate > 0").value.abs() < f64::EPSILON, "nothing is nothing in any unit");
    }

    #[test]
    fn a_step_is_told_from_a_metric_by_the_reserved_words() {
        assert_eq!(rule("W.latency.p50 < 1s").step, None);
        assert_eq!(rule("W.order.latency.p50 < 1s").step, Some("order".parse().unwrap()));
    }

    #[test]
    fn a_rule_without_a_workflow_is_about_all_of_them() {
        for (text, metric) in [
            ("latency.p95 < 1s", Metric::Latency(None, Stat::Percentile(95.0))),
            ("service.wait.max < 1s", Metric::Service(Some(Phase::Wait), Stat::Max)),
            ("failed.rate < 1%", Metric::FailedRate),
            ("rate > 10/s", Metric::Rate),
            ("dropped == 0", Metric::Dropped),
            ("check.status.rate > 99%", Metric::CheckRate("status".parse().unwrap())),
        ] {
            let rule = rule(text);
            assert_eq!((rule.workflow, rule.step, rule.metric), (None, None, metric), "{text}");
        }
        let named = rule("latency.latency.p95 < 1s");
        assert_eq!(named.workflow, Some("latency".parse().unwrap()), "a workflow may have such a name");
        assert_eq!(rule("rate.order.latency.p95 < 1s").step, Some("order".parse().unwrap()));
    }

    #[test]
    fn wrong_rules_say_what_is_wrong() {
        for (text, word) in [
            ("W.latency.p99", "compares nothing"),
            ("W < 3", "workflow.metric"),
            (
                "W.latency_failed.connect.p99 < 1s",
                "use latency.connect.p99, or a statistic without `connect`",
            ),
            ("latency_all.wait.p99 < 1s", "there are no phases of failed calls"),
            ("latency.p101 < 1s", "not a statistic"),
            ("failed < 3", "not a metric"),
            ("rate > 5", "a rate"),
            ("W.latency.p101 < 1s", "not a statistic"),
            ("W.latency.p99 < 300", "a duration"),
            ("W.rate > 5", "a rate"),
            ("W.speed > 5", "not a metric"),
            ("W.s.speed > 5", "not a metric"),
            ("9.latency.p99 < 1s", "not a name"),
            ("W.failed.rate < many", "a percentage"),
            ("W.failed.rate < NaN%", "a percentage"),
            ("W.failed.rate < inf%", "a percentage"),
            ("W.failed.rate < -5%", "a percentage"),
            ("W.failed.rate < -0.1", "a percentage"),
            ("W.failed.count < 1e3", "a number"),
            ("W.dropped < +5", "a number"),
            ("W.latency.p1e1 < 1s", "not a statistic"),
            ("W.latency.p+5 < 1s", "not a statistic"),
            ("W.latency.p.5 < 1s", "not a statistic"),
            ("W.latency.pNaN < 1s", "not a statistic"),
            ("W.rate > 1e3/s", "a rate"),
        ] {
            let error = text.parse::<Rule>().expect_err(text).to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
