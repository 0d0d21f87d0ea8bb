//! A workflow: a step graph, the load that is put on it, and what it shares with others.

use std::collections::BTreeSet;

use hyperscale_types::{Name, Priority, Rate, Span};
use minijinja::Value;

use super::{StepGraph, WorkflowIndex};
use crate::load::Curve;
use crate::load::mix::Turns;
use crate::template::Template;

/// A named set of steps run by virtual users.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// Unique in the plan.
    pub name: Name,
    /// Workflows that must have ended successfully before this one starts.
    pub depends: Vec<WorkflowIndex>,
    /// Context it takes from others. Visible under the key's name.
    pub uses: Vec<Use>,
    /// Context it gives to others.
    pub provides: Vec<Provide>,
    /// Its claim on cores.
    pub priority: Priority,
    /// Capabilities that its workers must have. A local run has none to choose from and does not look.
    pub requires: BTreeSet<String>,
    /// How much load, for how long.
    pub load: Load,
    /// Times around the load.
    pub timing: Timing,
    /// State kept between iterations, visible as `vu.<name>`.
    pub keep: Vec<Keep>,
    /// Data files (positions in [`super::Plan::data`]) of which an iteration takes a row.
    pub data: Vec<usize>,
    /// Runs once before the load.
    pub setup: StepGraph,
    /// Runs once per VU before its first iteration.
    pub vu_setup: StepGraph,
    /// The measured steps.
    pub steps: StepGraph,
    /// Runs once per VU after its last iteration.
    pub vu_teardown: StepGraph,
    /// Runs once after the load.
    pub teardown: StepGraph,
}

impl Workflow {
    /// Whether it has at least one test step.
    pub fn is_test(&self) -> bool {
        self.steps.steps.iter().any(super::Step::is_test)
    }

    /// The most VUs that can be active at once; caps the cores.
    pub fn vus_max(&self) -> u32 {
        match &self.load {
            Load::Closed { vus, .. } => vus.peak_vus(),
            Load::Iterations { vus, .. } | Load::Paced { vus, .. } => *vus,
            Load::Open { max_vus, .. } => *max_vus,
        }
    }

    /// How long the load is planned to last, if that is known beforehand.
    pub fn planned(&self) -> Option<Span> {
        match &self.load {
            Load::Closed { vus: curve, .. } | Load::Open { rate: curve, .. } => Some(curve.length()),
            Load::Iterations { max_duration, .. } => *max_duration,
            Load::Paced { duration, .. } => Some(*duration),
        }
    }
}

/// Times around a workflow's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// It waits this long after it could start.
    pub start_after: Span,
    /// VUs start spread over this time.
    pub ramp: Span,
    /// Time in which running iterations may finish at the end.
    pub graceful_stop: Span,
}

/// A load model with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// So many VUs loop without a pause; the curve says how many at which time.
    Closed {
        /// VUs over time.
        vus: Curve,
    },
    /// VUs loop until a number of iterations is reached.
    Iterations {
        /// How many VUs.
        vus: u32,
        /// How many iterations.
        count: IterationCount,
        /// Ends here even if the count is not reached.
        max_duration: Option<Span>,
    },
    /// Iterations start at times given by a rate curve, whether or not earlier ones have finished.
    Open {
        /// Starts per second over time.
        rate: Curve,
        /// How starts are placed in time.
        arrivals: ArrivalKind,
        /// At most so many iterations at once.
        max_vus: u32,
        /// What happens to a start that finds no free VU.
        late: Late,
    },
    /// Each VU starts an iteration every `interval`.
    Paced {
        /// How many VUs.
        vus: u32,
        /// Between the starts of one VU's iterations.
        interval: Span,
        /// For how long.
        duration: Span,
    },
}

/// A number of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationCount {
    /// Shared by all VUs.
    Shared(u64),
    /// For each VU.
    PerVu(u64),
}

/// How open-model starts are placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ArrivalKind {
    /// Evenly, following the curve.
    #[default]
    Uniform,
    /// Like independent users: a Poisson process with the curve as its intensity.
    Poisson,
    /// Evenly over all workflows of a mix, of whose starts these are its own.
    Dealt(Turns),
}

/// What happens to an open-model start that finds no free VU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It waits; its latency counts from the intended start.
    #[default]
    Queue,
    /// It is dropped and counted.
    Drop,
}

/// A value taken from another workflow.
#[derive(Clone, Debug)]
pub struct Use {
    /// Who provides it; also in `depends`.
    pub from: WorkflowIndex,
    /// Its name, there and here.
    pub key: Name,
    /// Taken when it was never produced; without one the workflow fails with `context_missing`.
    pub default: Option<Value>,
}

/// A value given to other workflows.
#[derive(Clone, Debug)]
pub struct Provide {
    /// Its name.
    pub key: Name,
    /// Who gets it.
    pub to: Vec<WorkflowIndex>,
    /// What it is. Sees the step results of a VU's last iteration and, after the load, `stats`.
    pub value: Template,
    /// Whether the value refers to `stats` and is therefore made once, after the load.
    pub from_stats: bool,
    /// Which VU's value counts.
    pub pick: Pick,
}

/// Which VU's value counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The value produced last.
    #[default]
    Last,
    /// The value produced first.
    First,
    /// All values, at most [`hyperscale_types::limits::PICK_ALL_MAX`].
    All,
}

/// VU state kept between iterations.
#[derive(Clone, Debug)]
pub struct Keep {
    /// Visible as `vu.<name>`.
    pub name: Name,
    /// Before the first iteration.
    pub initial: Value,
    /// Evaluated after each completed iteration.
    pub value: Template,
}

/// Default of `max_vus`: min(10 000, max(64, 2 × peak rate per second)).
pub fn default_max_vus(peak: Rate) -> u32 {
    (2.0 * peak.as_per_second()).ceil().clamp(64.0, 10_000.0) as u32
}
