//! What a recorder records: the steps, checks and metrics of one workflow, by number.

use hyperscale_types::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Steps, checks and metrics of a workflow. Built once from the plan; windows and totals are indexed by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Steps in the order of the plan.
    pub steps: Vec<StepLayout>,
    /// Checks in the order of the plan.
    pub checks: Vec<CheckLayout>,
    /// Metrics in the order of the plan.
    pub metrics: Vec<MetricLayout>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLayout {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: StepKind,
    /// The client of a test step: `http`, `grpc`, ….
    pub protocol: Option<&'static str>,
    /// Whether it belongs to `setup`, `teardown`, `vu_setup` or `vu_teardown`, and is therefore measured apart.
    pub setup: bool,
}

impl StepLayout {
    /// Whether its calls are part of the workflow's totals.
    pub fn is_load(&self) -> bool {
        self.kind == StepKind::Test && !self.setup
    }
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// One measured client call.
    Test,
    /// Assertions.
    Check,
    /// A value of the user's own.
    Metric,
    /// Anything unmeasured.
    Action,
}

/// One check of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckLayout {
    /// Number of its step.
    pub step: usize,
    /// Its name, unique in the step.
    pub name: Name,
}

/// One metric of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricLayout {
    /// Number of its step.
    pub step: usize,
    /// Its name.
    pub name: Name,
    /// What its values mean.
    pub kind: MetricKind,
}

/// What the values of a metric mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// They are added up.
    Count,
    /// The share of those that are not zero.
    Rate,
    /// The last one stands.
    Sample,
    /// All of them, as a distribution.
    Distribution,
    /// Seconds, as a distribution.
    Timing,
}
