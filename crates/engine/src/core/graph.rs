//! HOT: running a step graph. A plain sequence is a loop; only real forks pay for a join.

use hyperscale_job::StopPhase;
use hyperscale_plan::model::Part;
use hyperscale_plan::model::step::Stop;
use hyperscale_types::Now;

use super::step::{self, Place, StepEnd};
use super::vu::Vu;
use super::{Core, forks};

/// How one pass through a graph ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphEnd {
    /// No step failed.
    Completed,
    /// A step failed; its dependents were skipped.
    Failed,
    /// A check with `stop` failed.
    Stop(Stop),
    /// The run was cancelled before the last step.
    Cut,
}

/// One pass of a virtual user through a graph. Its first calls count their latency from `intended`, whatever steps
/// without a call stand before them: a start that had to wait must not look fast.
pub(crate) async fn run(core: &Core, vu: &Vu, part: Part, intended: Option<Now>) -> GraphEnd {
    vu.results.borrow_mut().clear();
    if core.parts[part as usize].is_sequence {
        run_sequence(core, vu, part, intended).await
    } else {
        Box::pin(forks::run(core, vu, part, intended)).await
    }
}

async fn run_sequence(core: &Core, vu: &Vu, part: Part, mut intended: Option<Now>) -> GraphEnd {
    let graph = part.graph(core.workflow());
    for (position, &at) in graph.order.iter().enumerate() {
        let place = Place::new(core, part, at);
        let end = if !place.is_one_call() {
            step::run(core, vu, place, &mut intended).await
        } else if core.phase.get() < StopPhase::Cancelling {
            step::call(core, vu, place, intended.take()).await
        } else {
            StepEnd::Cut
        };
        let end = match end {
            StepEnd::Ok | StepEnd::Skipped => continue,
            StepEnd::Failed => GraphEnd::Failed,
            StepEnd::Stop(stop) => GraphEnd::Stop(stop),
            StepEnd::Cut => return GraphEnd::Cut,
        };
        skip(core, part, &graph.order[position + 1..]);
        return end;
    }
    GraphEnd::Completed
}

#[cold]
pub(super) fn skip(core: &Core, part: Part, steps: &[usize]) {
    let base = core.slice.bases[part as usize].step;
    let mut window = core.window.borrow_mut();
    for at in steps {
        window.skipped(base + at, 1);
    }
}
