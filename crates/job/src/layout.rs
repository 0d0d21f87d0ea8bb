//! From a workflow of the plan to the numbering of its statistics.

use hyperscale_plan::model::{self, Part, StepKind, Workflow};
use hyperscale_stats::{CheckLayout, Layout, MetricKind, MetricLayout, StepLayout};

/// Where the numbers of one part begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Number of its first step.
    pub step: usize,
    /// Number of its first check.
    pub check: usize,
    /// Number of its first metric.
    pub metric: usize,
}

/// The numbering of a workflow, and where each part's numbers begin (indexed like [`Part::ALL`]).
pub fn layout(workflow: &Workflow) -> (Layout, [Base; Part::ALL.len()]) {
    let mut layout = Layout::default();
    let mut bases = [Base::default(); Part::ALL.len()];
    for (part, base) in Part::ALL.into_iter().zip(&mut bases) {
        *base = Base { step: layout.steps.len(), check: layout.checks.len(), metric: layout.metrics.len() };
        for step in &part.graph(workflow).steps {
            add_step(&mut layout, step, part != Part::Steps);
        }
    }
    (layout, bases)
}

fn add_step(layout: &mut Layout, step: &model::Step, setup: bool) {
    let number = layout.steps.len();
    let (kind, protocol) = match &step.kind {
        StepKind::Call(call) => (hyperscale_stats::StepKind::Test, Some(call.protocol())),
        StepKind::Check => (hyperscale_stats::StepKind::Check, None),
        StepKind::Metric(_) => (hyperscale_stats::StepKind::Metric, None),
        StepKind::Action(_) => (hyperscale_stats::StepKind::Action, None),
    };
    layout.steps.push(StepLayout { name: step.name.clone(), kind, protocol, setup });
    layout
        .checks
        .extend(step.checks.iter().map(|check| CheckLayout { step: number, name: check.name.clone() }));
    if let StepKind::Metric(metric) = &step.kind {
        let kind = match metric.kind {
            model::step::MetricKind::Count => MetricKind::Count,
            model::step::MetricKind::Rate => MetricKind::Rate,
            model::step::MetricKind::Sample => MetricKind::Sample,
            model::step::MetricKind::Distribution => MetricKind::Distribution,
            model::step::MetricKind::Timing => MetricKind::Timing,
        };
        layout.metrics.push(MetricLayout { step: number, name: step.name.clone(), kind });
    }
}
