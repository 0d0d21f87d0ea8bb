//! Preparing the graphs of a workflow for one core, before measuring starts.

use std::rc::Rc;

use hyperscale_clients::http::{HttpCore, PrepareError, Prepared};
use hyperscale_job::layout::Part;
use hyperscale_job::{Failure, FailureKind};
use hyperscale_plan::model::{HttpRequest, Step, StepKind};
use hyperscale_plan::template::Root;

use super::Slice;
use super::scope::SegmentScope;

/// A graph ready to run on one core; vectors are indexed by the step's position.
#[derive(Default)]
pub(crate) struct PreparedPart {
    pub(crate) is_sequence: bool,
    /// Whether any step waits for it.
    pub(crate) followed: Vec<bool>,
    /// Prepared calls of HTTP steps.
    pub(crate) http: Vec<Option<Prepared>>,
    /// Number of each step's first check in the statistics.
    pub(crate) checks: Vec<usize>,
    /// Number of each metric step's metric in the statistics.
    pub(crate) metrics: Vec<Option<usize>>,
}

/// Prepares one part. Fails with the step whose arguments cannot be prepared.
pub(crate) async fn prepare(
    http: &Rc<HttpCore>,
    segment: &Slice,
    part: Part,
) -> Result<PreparedPart, Failure> {
    let graph = part.graph(segment.workflow());
    let base = segment.bases[part as usize];
    let (mut check, mut metric) = (base.check, base.metric);
    let mut prepared = PreparedPart { is_sequence: graph.is_sequence(), ..PreparedPart::default() };
    prepared.followed =
        (0..graph.steps.len()).map(|at| graph.after.iter().any(|after| after.contains(&at))).collect();
    for step in &graph.steps {
        prepared.checks.push(check);
        check += step.checks.len();
        prepared.metrics.push(matches!(step.kind, StepKind::Metric(_)).then_some(metric));
        metric += usize::from(matches!(step.kind, StepKind::Metric(_)));
        prepared.http.push(match &step.kind {
            StepKind::Http(request) => Some(prepare_http(http, segment, step, request).await?),
            StepKind::Check | StepKind::Metric(_) | StepKind::Action(_) => None,
        });
    }
    Ok(prepared)
}

async fn prepare_http(
    http: &Rc<HttpCore>,
    segment: &Slice,
    step: &Step,
    request: &HttpRequest,
) -> Result<Prepared, Failure> {
    let mut request = request.clone();
    if let Some(timeout) = step.timeout {
        request.timeout = request.timeout.min(timeout);
    }
    Prepared::new(http, &request, step.needs, &SegmentScope(segment), Root::is_known_before_load)
        .await
        .map_err(|error| failure(step, &error))
}

fn failure(step: &Step, error: &PrepareError) -> Failure {
    let kind = if error.is_unreachable() { FailureKind::Unreachable } else { FailureKind::Prepare };
    Failure { kind, message: error.to_string(), step: Some(step.name.clone()) }
}
