//! Running a step graph with real forks: steps whose predecessors are done run side by side within the virtual user.
//!
//! ```text
//! waiting ─all predecessors done─► started ─ok, skipped─► done
//!    └────── a predecessor lost ──────┴──── failed ─────► lost
//! ```

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use hyperscale_plan::model::Part;
use hyperscale_plan::model::StepGraph;
use hyperscale_types::Now;

use super::Core;
use super::graph::{GraphEnd, skip};
use super::step::{self, Place, StepEnd};
use super::vu::Vu;

/// Where each step of a forked graph stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Started,
    Done,
    /// Failed, or skipped because an ancestor failed.
    Lost,
}

/// How the step ended, and what is left of the intended start for those that wait for it.
type Ended = (StepEnd, Option<Now>);
type StepFuture<'a> = Pin<Box<dyn Future<Output = Ended> + 'a>>;

/// One pass of a virtual user through a graph with forks: whatever is ready runs, side by side.
pub(super) async fn run(core: &Core, vu: &Vu, part: Part, intended: Option<Now>) -> GraphEnd {
    let graph = part.graph(core.workflow());
    let mut states = vec![State::Waiting; graph.steps.len()];
    let mut left = vec![None; graph.steps.len()];
    let mut running: Vec<(usize, StepFuture<'_>)> = Vec::new();
    let mut result = GraphEnd::Completed;
    loop {
        if matches!(result, GraphEnd::Completed | GraphEnd::Failed) {
            for at in start_ready(graph, &mut states, |lost| skip(core, part, &[lost])) {
                let mut begins = begins(graph, at, &left, intended);
                let place = Place::new(core, part, at);
                running.push((
                    at,
                    Box::pin(async move { (step::run(core, vu, place, &mut begins).await, begins) }),
                ));
            }
        }
        if running.is_empty() {
            if let GraphEnd::Stop(_) = result {
                let waiting = |at: &usize| states[*at] == State::Waiting;
                let never: Vec<usize> = (0..states.len()).filter(waiting).collect();
                skip(core, part, &never);
            }
            return result;
        }
        let (at, (end, begins)) = next_end(&mut running).await;
        left[at] = begins;
        states[at] = if matches!(end, StepEnd::Ok | StepEnd::Skipped) { State::Done } else { State::Lost };
        result = worse(result, end);
    }
}

/// From where the first call of a step counts its latency: from the intended start of the iteration, unless one of its
/// ancestors called or slept. `left` says what each step before it left of the intended start.
fn begins(graph: &StepGraph, at: usize, left: &[Option<Now>], intended: Option<Now>) -> Option<Now> {
    if graph.after[at].iter().all(|&before| left[before].is_some()) { intended } else { None }
}

/// Marks and returns the steps that can start now, in order; those that never can are handed to `lost`.
fn start_ready(graph: &StepGraph, states: &mut [State], mut lost: impl FnMut(usize)) -> Vec<usize> {
    let mut ready = Vec::new();
    for &at in &graph.order {
        if states[at] != State::Waiting {
            continue;
        }
        let after = &graph.after[at];
        if after.iter().any(|&before| states[before] == State::Lost) {
            states[at] = State::Lost;
            lost(at);
        } else if after.iter().all(|&before| states[before] == State::Done) {
            states[at] = State::Started;
            ready.push(at);
        }
    }
    ready
}

/// Waits for whichever running step ends first.
async fn next_end(running: &mut Vec<(usize, StepFuture<'_>)>) -> (usize, Ended) {
    poll_fn(|context| {
        for position in 0..running.len() {
            if let Poll::Ready(end) = running[position].1.as_mut().poll(context) {
                let (at, _) = running.swap_remove(position);
                return Poll::Ready((at, end));
            }
        }
        Poll::Pending
    })
    .await
}

fn worse(so_far: GraphEnd, end: StepEnd) -> GraphEnd {
    match (so_far, end) {
        (GraphEnd::Cut, _) | (_, StepEnd::Cut) => GraphEnd::Cut,
        (GraphEnd::Stop(a), StepEnd::Stop(b)) => GraphEnd::Stop(a.max(b)),
        (stop @ GraphEnd::Stop(_), _) => stop,
        (_, StepEnd::Stop(stop)) => GraphEnd::Stop(stop),
        (_, StepEnd::Failed) => GraphEnd::Failed,
        (so_far, StepEnd::Ok | StepEnd::Skipped) => so_far,
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_plan::model::step::Stop;

    use super::*;

    fn graph(after: &[&[usize]]) -> StepGraph {
        StepGraph {
            steps: Vec::new(),
            after: after.iter().map(|a| a.to_vec()).collect(),
            order: (0..after.len()).collect(),
        }
    }

    #[test]
    fn steps_start_as_soon_as_their_predecessors_are_done() {
        // 0 and 1 are roots, 2 waits for both, 3 only for 1: it must not wait for a "layer".
        let graph = graph(&[&[], &[], &[0, 1], &[1]]);
        let mut states = [State::Waiting; 4];
        assert_eq!(start_ready(&graph, &mut states, |_| panic!("nothing is lost")), [0, 1]);
        states[1] = State::Done;
        assert_eq!(start_ready(&graph, &mut states, |_| panic!("nothing is lost")), [3]);
        states[0] = State::Done;
        assert_eq!(start_ready(&graph, &mut states, |_| panic!("nothing is lost")), [2]);
    }

    #[test]
    fn all_descendants_of_a_failed_step_are_lost_and_others_run() {
        let graph = graph(&[&[], &[], &[0], &[2], &[1]]);
        let mut states = [State::Lost, State::Done, State::Waiting, State::Waiting, State::Waiting];
        let mut lost = Vec::new();
        assert_eq!(start_ready(&graph, &mut states, |at| lost.push(at)), [4]);
        assert_eq!(lost, [2, 3]);
    }

    #[test]
    fn the_intended_start_reaches_calls_behind_steps_that_neither_called_nor_slept() {
        let graph = graph(&[&[], &[], &[0], &[0, 1]]);
        let intended = Some(Now(7));
        let left = [intended, None, None, None];
        assert_eq!(
            [0, 1, 2, 3].map(|at| begins(&graph, at, &left, intended)),
            [intended, intended, intended, None]
        );
        assert_eq!(begins(&graph, 0, &left, None), None);
    }

    #[test]
    fn the_worst_end_wins() {
        assert_eq!(worse(GraphEnd::Completed, StepEnd::Failed), GraphEnd::Failed);
        assert_eq!(worse(GraphEnd::Failed, StepEnd::Ok), GraphEnd::Failed);
        assert_eq!(worse(GraphEnd::Failed, StepEnd::Stop(Stop::Vu)), GraphEnd::Stop(Stop::Vu));
        assert_eq!(worse(GraphEnd::Stop(Stop::Test), StepEnd::Stop(Stop::Vu)), GraphEnd::Stop(Stop::Test));
        assert_eq!(worse(GraphEnd::Stop(Stop::Test), StepEnd::Cut), GraphEnd::Cut);
    }
}
