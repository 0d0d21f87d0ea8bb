//! What a plan will do, for `validate --explain`: order, cores, load, and for each argument of each step whether it is
//! prepared once or filled per request.
//!
//! Shows names and holes, never values: variables may be secrets.

mod arguments;
mod batches;
mod http;
mod text;

use hyperscale_types::{Priority, Span};
use serde::Serialize;

pub use batches::{BatchExplanation, GroupExplanation, MemberExplanation, WaitingExplanation};

use crate::cores::Claim;
use crate::load::{iterations, open};
use crate::model::step::{Action, Needs};
use crate::model::{Call, Load, Plan, Step, StepGraph, StepKind, Workflow};

/// A plan explained.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The plan's name.
    pub plan: String,
    /// Cores that the numbers are for.
    pub cores_total: u32,
    /// Its workflows, in file order.
    pub workflows: Vec<WorkflowExplanation>,
    /// In which order they get cores, if every batch ends before the next begins.
    pub batches: Vec<BatchExplanation>,
    /// The rules of its thresholds.
    pub thresholds: Vec<String>,
}

/// A workflow explained.
#[derive(Clone, Debug, Serialize)]
pub struct WorkflowExplanation {
    /// Its name.
    pub name: String,
    /// Whether it has a test step.
    pub test: bool,
    /// Its claim on cores.
    pub priority: Priority,
    /// Capabilities that its workers must have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// It waits for these.
    pub depends: Vec<String>,
    /// Below this it waits.
    pub cores_least: u32,
    /// More are of no use to it or not its due.
    pub cores_most: u32,
    /// Whether it has to wait until another workflow has ended, because there are not enough cores for both.
    pub waits_for_cores: bool,
    /// Its load.
    pub load: LoadExplanation,
    /// The data files it takes rows of.
    pub data: Vec<String>,
    /// `workflow.key` of the values it uses.
    pub uses: Vec<String>,
    /// The values it provides.
    pub provides: Vec<String>,
    /// Its graphs that have steps, in the order in which they run.
    pub parts: Vec<PartExplanation>,
}

/// A load model in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct LoadExplanation {
    /// `closed`, `iterations`, `open` or `paced`.
    pub model: &'static str,
    /// VUs at most.
    pub vus_max: u32,
    /// Starts per second at most (open models).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_max: Option<f64>,
    /// How long it lasts, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
    /// How many iterations start, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<u64>,
    /// It begins this long after it could.
    pub start_after: Span,
    /// VUs start spread over this time.
    pub ramp: Span,
    /// Running iterations may take this long to finish.
    pub graceful_stop: Span,
}

/// One graph of a workflow.
#[derive(Clone, Debug, Serialize)]
pub struct PartExplanation {
    /// `setup`, `vu_setup`, `steps`, `vu_teardown` or `teardown`.
    pub part: &'static str,
    /// Whether its steps simply follow each other.
    pub sequence: bool,
    /// Its steps, in the order in which they become ready.
    pub steps: Vec<StepExplanation>,
}

/// A step explained.
#[derive(Clone, Debug, Serialize)]
pub struct StepExplanation {
    /// Its name.
    pub name: String,
    /// What it does: `POST`, `check`, `metric`, `sleep`, `set`.
    pub kind: String,
    /// It waits for these.
    pub after: Vec<String>,
    /// What is kept of its answer: `result`, `headers`, `body`.
    pub keeps: Vec<&'static str>,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// An argument of a step.
#[derive(Clone, Debug, Serialize)]
pub struct Argument {
    /// Where it stands: `url`, `header accept`, `json`.
    pub name: String,
    /// When it gets its value.
    pub made: Made,
    /// What is filled per request; empty if it is prepared.
    pub holes: Vec<String>,
}

/// When an argument gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Made {
    /// Once, before the load.
    Prepared,
    /// For every request; only the holes are written.
    Filled,
}

/// Explains a plan for so many cores.
pub fn explain(plan: &Plan, cores_total: u32) -> Explanation {
    let batches = batches::batches(plan, cores_total);
    let workflow = |workflow: &Workflow| {
        let mut waiting = batches.iter().flat_map(|batch| &batch.waiting);
        let waits_for_cores = waiting.any(|waiting| workflow.name == *waiting.name);
        WorkflowExplanation { waits_for_cores, ..explain_workflow(plan, workflow, cores_total) }
    };
    Explanation {
        plan: plan.name.clone(),
        cores_total,
        workflows: plan.workflows.iter().map(workflow).collect(),
        batches,
        thresholds: plan.thresholds.iter().map(|threshold| threshold.rule.text.clone()).collect(),
    }
}

fn explain_workflow(plan: &Plan, workflow: &Workflow, cores_total: u32) -> WorkflowExplanation {
    let name_of = |at: &usize| plan.workflows[*at].name.to_string();
    let bounds = Claim::of(workflow).bounds(cores_total);
    let parts = [
        ("setup", &workflow.setup),
        ("vu_setup", &workflow.vu_setup),
        ("steps", &workflow.steps),
        ("vu_teardown", &workflow.vu_teardown),
        ("teardown", &workflow.teardown),
    ];
    let provides = workflow.provides.iter().map(|provide| {
        let to: Vec<String> = provide.to.iter().map(name_of).collect();
        format!("{} to {}", provide.key, to.join(", "))
    });
    WorkflowExplanation {
        name: workflow.name.to_string(),
        test: workflow.is_test(),
        priority: workflow.priority,
        requires: workflow.requires.iter().cloned().collect(),
        depends: workflow.depends.iter().map(name_of).collect(),
        cores_least: bounds.least,
        cores_most: bounds.most,
        waits_for_cores: false,
        load: explain_load(workflow),
        data: workflow.data.iter().map(|at| plan.data[*at].name.to_string()).collect(),
        uses: workflow.uses.iter().map(|used| format!("{}.{}", name_of(&used.from), used.key)).collect(),
        provides: provides.collect(),
        parts: parts.into_iter().filter(|(_, graph)| !graph.is_empty()).map(explain_part).collect(),
    }
}

fn explain_load(workflow: &Workflow) -> LoadExplanation {
    let (model, rate_max, starts) = match &workflow.load {
        Load::Closed { .. } => ("closed", None, None),
        Load::Iterations { vus, count, .. } => {
            ("iterations", None, Some(iterations::of_workflow(*count, *vus)))
        }
        Load::Open { rate, arrivals, .. } => ("open", Some(rate.peak()), Some(open::starts(rate, arrivals))),
        Load::Paced { .. } => ("paced", None, None),
    };
    LoadExplanation {
        model,
        vus_max: workflow.vus_max(),
        rate_max,
        length: workflow.planned(),
        starts,
        start_after: workflow.timing.start_after,
        ramp: workflow.timing.ramp,
        graceful_stop: workflow.timing.graceful_stop,
    }
}

fn explain_part((part, graph): (&'static str, &StepGraph)) -> PartExplanation {
    let steps = graph.order.iter().map(|at| {
        let step = &graph.steps[*at];
        StepExplanation {
            name: step.name.to_string(),
            kind: kind(step),
            after: graph.after[*at].iter().map(|before| graph.steps[*before].name.to_string()).collect(),
            keeps: keeps(step.needs),
            arguments: arguments::of_step(step),
        }
    });
    PartExplanation { part, sequence: graph.is_sequence(), steps: steps.collect() }
}

fn kind(step: &Step) -> String {
    match &step.kind {
        StepKind::Call(Call::Http(request)) => request.method.clone(),
        #[cfg(feature = "test-protocol")]
        StepKind::Call(call @ Call::Echo(_)) => call.protocol().to_owned(),
        StepKind::Check => "check".to_owned(),
        StepKind::Metric(_) => "metric".to_owned(),
        StepKind::Action(Action::Sleep(_)) => "sleep".to_owned(),
        StepKind::Action(Action::Set(_)) => "set".to_owned(),
    }
}

fn keeps(needs: Needs) -> Vec<&'static str> {
    let all = [(needs.result, "result"), (needs.headers, "headers"), (needs.body, "body")];
    all.into_iter().filter(|(needed, _)| *needed).map(|(_, word)| word).collect()
}
