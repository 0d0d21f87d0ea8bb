//! What faces are told before anything runs.

use std::time::Duration;

use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_stats::event::{Started, WorkflowPlan};
use hyperscale_types::Span;

use crate::io::JobFacts;

/// The first event of a run.
pub(crate) fn started(plan: &Plan, facts: &JobFacts) -> Started {
    let workflow = |workflow: &Workflow| WorkflowPlan {
        name: workflow.name.clone(),
        planned_s: workflow.planned().map(Span::as_secs_f64),
        vus: workflow.vus_max(),
    };
    Started {
        job: facts.id.clone(),
        name: plan.name.clone(),
        started_at: facts.started_at.clone(),
        planned_s: planned(plan).as_ref().map(Duration::as_secs_f64),
        workflows: plan.workflows.iter().map(workflow).collect(),
        thresholds: plan.thresholds.iter().map(|threshold| threshold.rule.text.clone()).collect(),
        environment: facts.environment.clone(),
        options: facts.options.clone(),
    }
}

/// How long the plan is meant to last: the longest chain of workflows that wait for each other.
fn planned(plan: &Plan) -> Option<Duration> {
    let length = |workflow: &Workflow| {
        Some(workflow.timing.start_after.saturating_add(workflow.planned()?).to_duration())
    };
    let lengths: Vec<Duration> = plan.workflows.iter().map(length).collect::<Option<_>>()?;
    let mut ends = lengths.clone();
    // Dependencies have no cycles, so no chain is longer than there are workflows.
    for _ in &plan.workflows {
        for (at, workflow) in plan.workflows.iter().enumerate() {
            let begin = workflow.depends.iter().map(|dependency| ends[*dependency]).max().unwrap_or_default();
            ends[at] = begin + lengths[at];
        }
    }
    ends.into_iter().max()
}
