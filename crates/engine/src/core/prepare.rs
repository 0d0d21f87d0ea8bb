//! Preparing the graphs of a workflow for one core, before measuring starts.

use std::ops::Range;

use hyperscale_clients::{Clients, Known, PrepareError, Prepared, Terms};
use hyperscale_job::{Failure, FailureKind};
use hyperscale_plan::model::Part;
use hyperscale_plan::model::{Step, StepKind};
use hyperscale_plan::template::Root;

use super::Slice;
use super::scope::SliceScope;

/// A graph ready to run on one core; vectors are indexed by the step's position, except `calls`.
#[derive(Default)]
pub(crate) struct PreparedPart {
    pub(crate) is_sequence: bool,
    /// Whether any step waits for it.
    pub(crate) followed: Vec<bool>,
    /// All prepared calls of the graph.
    pub(crate) calls: Vec<Prepared>,
    /// Which of the prepared calls belong to a step: one for a declared call, none for a step without.
    pub(crate) calls_of: Vec<Range<usize>>,
    /// Number of each step's first check in the statistics.
    pub(crate) checks: Vec<usize>,
    /// Number of each metric step's metric in the statistics.
    pub(crate) metrics: Vec<Option<usize>>,
}

/// Prepares one part. Fails with the step whose arguments cannot be prepared.
pub(crate) async fn prepare(clients: &Clients, slice: &Slice, part: Part) -> Result<PreparedPart, Failure> {
    let graph = part.graph(slice.workflow());
    let base = slice.bases[part as usize];
    let (mut check, mut metric) = (base.check, base.metric);
    let mut prepared = PreparedPart { is_sequence: graph.is_sequence(), ..PreparedPart::default() };
    prepared.followed =
        (0..graph.steps.len()).map(|at| graph.after.iter().any(|after| after.contains(&at))).collect();
    for step in &graph.steps {
        prepared.checks.push(check);
        check += step.checks.len();
        prepared.metrics.push(matches!(step.kind, StepKind::Metric(_)).then_some(metric));
        metric += usize::from(matches!(step.kind, StepKind::Metric(_)));
        let first = prepared.calls.len();
        prepare_calls(clients, slice, step, &mut prepared.calls).await?;
        prepared.calls_of.push(first..prepared.calls.len());
    }
    Ok(prepared)
}

/// Appends the calls of a step.
async fn prepare_calls(
    clients: &Clients,
    slice: &Slice,
    step: &Step,
    calls: &mut Vec<Prepared>,
) -> Result<(), Failure> {
    let StepKind::Call(call) = &step.kind else { return Ok(()) };
    let scope = SliceScope(slice);
    let known = Known::new(&scope, &Root::is_known_before_load);
    let terms = Terms { needs: step.needs, timeout: step.timeout };
    calls.push(clients.prepare(call, terms, &known).await.map_err(|error| failure(step, &error))?);
    Ok(())
}

fn failure(step: &Step, error: &PrepareError) -> Failure {
    let kind = if error.is_unreachable { FailureKind::Unreachable } else { FailureKind::Prepare };
    Failure { kind, message: error.to_string(), step: Some(step.name.clone()) }
}
