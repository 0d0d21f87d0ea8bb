//! Steps and their graph.

use hyperscale_types::{Name, Span, rule::Op};
use minijinja::Value;
use minijinja::value::ValueKind;

use super::HttpRequest;
use crate::lookup::JsonQuery;
use crate::template::{Expr, JsonTemplate, Template};

/// Steps with their order. Edges point from a step to the ones it waits for.
#[derive(Clone, Debug, Default)]
pub struct StepGraph {
    /// In file order.
    pub steps: Vec<Step>,
    /// For each step the steps it waits for, sorted, each once.
    pub after: Vec<Vec<usize>>,
    /// A topological order of all steps (file order among those that are ready together).
    pub order: Vec<usize>,
}

impl StepGraph {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether each step waits for exactly the one before it in `order`: then it runs as a plain loop.
    pub fn is_sequence(&self) -> bool {
        self.order.iter().enumerate().all(|(at, step)| match at.checked_sub(1) {
            None => self.after[*step].is_empty(),
            Some(before) => self.after[*step] == [self.order[before]],
        })
    }
}

/// One node of a step graph.
#[derive(Clone, Debug)]
pub struct Step {
    /// Unique in the workflow, and never the name of a variable, data file or used context.
    pub name: Name,
    /// What it does.
    pub kind: StepKind,
    /// Runs only if this is true; otherwise it is skipped and its dependents run without it.
    pub when: Option<Expr>,
    /// How often it runs per iteration.
    pub repeat: u32,
    /// Wait after it.
    pub think: Option<Think>,
    /// Dimensions of its statistics.
    pub tags: Vec<(Name, Template)>,
    /// Bounds the whole step.
    pub timeout: Option<Span>,
    /// Values read from the answer, visible as `step.<name>`.
    pub extract: Vec<Extraction>,
    /// Assertions, counted.
    pub checks: Vec<Check>,
    /// What any later step, check, extraction or provide needs of the answer.
    pub needs: Needs,
}

impl Step {
    /// Whether it is a measured client call.
    pub fn is_test(&self) -> bool {
        match self.kind {
            StepKind::Call(_) => true,
            StepKind::Check | StepKind::Metric(_) | StepKind::Action(_) => false,
        }
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// A measured client call.
    Call(Call),
    /// Only the step's `checks`.
    Check,
    /// Records a value of the user's own.
    Metric(MetricStep),
    /// Something unmeasured.
    Action(Action),
}

/// A client call. Further protocols are further variants.
#[derive(Clone, Debug)]
pub enum Call {
    /// HTTP/1.1 or HTTP/2.
    Http(Box<HttpRequest>),
    /// For tests.
    #[cfg(feature = "test-protocol")]
    Echo(super::Echo),
}

impl Call {
    /// The protocol, as its key in a plan.
    pub fn protocol(&self) -> &'static str {
        match self {
            Call::Http(_) => "http",
            #[cfg(feature = "test-protocol")]
            Call::Echo(_) => "echo",
        }
    }
}

/// An unmeasured step.
#[derive(Clone, Debug)]
pub enum Action {
    /// Waits.
    Sleep(Think),
    /// Makes a JSON value, visible under the step's name.
    Set(JsonTemplate),
}

/// A pause: fixed when `min == max`, otherwise drawn evenly between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// At least.
    pub min: Span,
    /// At most.
    pub max: Span,
}

/// A metric of the user's own, named like its step.
#[derive(Clone, Debug)]
pub struct MetricStep {
    /// How values are summed up.
    pub kind: MetricKind,
    /// The value; must be a finite number (`true` is 1). For `timing` a number of seconds or a duration text.
    pub value: Template,
}

/// How the values of a metric are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// The sum of all values.
    Count,
    /// The share of values that are not zero.
    Rate,
    /// The latest value, with minimum and maximum.
    Sample,
    /// A distribution with percentiles.
    Distribution,
    /// A distribution of durations.
    Timing,
}

/// Which parts of an answer somebody looks at. What nobody looks at is not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The result is referred to at all (status, latency).
    pub result: bool,
    /// Header fields.
    pub headers: bool,
    /// The body, as text or JSON.
    pub body: bool,
}

impl Needs {
    /// Everything that one of both needs.
    #[must_use]
    pub const fn and(self, other: Needs) -> Needs {
        Needs {
            result: self.result || other.result,
            headers: self.headers || other.headers,
            body: self.body || other.body,
        }
    }
}

/// A named value read from an answer.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// Visible as `step.<name>`.
    pub name: Name,
    /// Where it is.
    pub from: ExtractFrom,
    /// What it is read as; a value that cannot be read so fails the step with kind `extract`.
    pub convert: Option<Conversion>,
    /// Taken when nothing is found; without one the step fails with kind `extract`.
    pub default: Option<Value>,
}

/// What an extracted value is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// `true` or `false`, or these words.
    Bool,
    /// The value that a JSON text stands for.
    Json,
}

impl Conversion {
    /// The words of a plan.
    pub const WORDS: [(&'static str, Conversion); 4] = [
        ("int", Conversion::Int),
        ("float", Conversion::Float),
        ("bool", Conversion::Bool),
        ("json", Conversion::Json),
    ];

    /// The value read so; each value of a list. `None` if it cannot be.
    pub fn convert(self, value: &Value) -> Option<Value> {
        if value.kind() == ValueKind::Seq && self != Conversion::Json {
            return value
                .try_iter()
                .ok()?
                .map(|item| self.convert(&item))
                .collect::<Option<Vec<_>>>()
                .map(Value::from);
        }
        let text = value.as_str().map(str::trim);
        match (self, text) {
            (Conversion::Int, Some(text)) => text.parse::<i64>().ok().map(Value::from),
            (Conversion::Int, None) => value.as_i64().map(Value::from),
            (Conversion::Float, text) => {
                let number = text.map_or_else(|| f64::try_from(value.clone()).ok(), |text| text.parse().ok());
                number.filter(|number| number.is_finite()).map(Value::from)
            }
            (Conversion::Bool, Some(text)) => text.to_ascii_lowercase().parse::<bool>().ok().map(Value::from),
            (Conversion::Bool, None) => (value.kind() == ValueKind::Bool).then(|| value.clone()),
            (Conversion::Json, Some(text)) => serde_json::from_str(text).ok(),
            (Conversion::Json, None) => Some(value.clone()),
        }
    }
}

/// Where an extracted value is.
#[derive(Clone, Debug)]
pub enum ExtractFrom {
    /// JSON path (RFC 9535) into the body. One match gives its value, several a list.
    Json(JsonQuery),
    /// The given capture group of the first match in the body.
    Regex(regex::bytes::Regex, usize),
    /// A header field, by lower-case name.
    Header(String),
    /// A cookie that the answer sets.
    Cookie(String),
    /// The status code.
    Status,
}

/// An assertion on a result.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name among the step's checks.
    pub name: Name,
    /// What must hold.
    pub rule: CheckRule,
    /// What ends when it does not.
    pub stop: Option<Stop>,
}

/// What a check asserts.
#[derive(Clone, Debug)]
pub enum CheckRule {
    /// The status is among these.
    Status(super::http::StatusSet),
    /// The call's latency compares like this with a span.
    Latency(Op, Span),
    /// The expression is true.
    Expr(Expr),
    /// The body contains this text.
    BodyContains(Template),
    /// The body matches.
    BodyMatches(regex::bytes::Regex),
    /// The header field is there and, if given, has this value.
    Header(String, Option<Template>),
}

/// What a failed check ends. Ordered by reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// This iteration.
    Iteration,
    /// This VU.
    Vu,
    /// The whole test; the workflow fails.
    Test,
}
