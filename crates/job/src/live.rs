//! What was reported about workflows and their attempts: nothing here decides but what a worker can report again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::model::Workflow;
use hyperscale_stats::{Pulse, Totals};

use crate::layout::layout;
use crate::segment::{AttemptId, Directive, SegmentResult};
use crate::state::{AttemptEnd, AttemptState};

/// What was reported about a workflow.
#[derive(Debug)]
pub(crate) struct WorkflowLive {
    pub(crate) totals: Totals,
    /// What attempts that are over left, and which: where windows may be lost, the result is made of these.
    pub(crate) left: Option<(Totals, BTreeSet<AttemptId>)>,
    /// What only live views need.
    pub(crate) pulse: Pulse,
    pub(crate) attempts: BTreeMap<AttemptId, AttemptLive>,
    /// An entry about it is under way.
    pub(crate) proposed: bool,
    /// People were told that it waits for cores.
    pub(crate) told_waiting: bool,
    /// No iteration of it starts any more.
    pub(crate) finishing: bool,
}

/// What was reported about an attempt.
#[derive(Debug, Default)]
pub(crate) struct AttemptLive {
    pub(crate) state: AttemptState,
    pub(crate) prepared: bool,
    /// Cores that have nothing more to do.
    pub(crate) cores_completed: u32,
    /// What its windows say, in case it is lost. Only while nothing says that windows cannot be lost.
    pub(crate) windows: Option<Box<Totals>>,
    /// Up to when its windows reach, on the job clock.
    pub(crate) reported_to: Duration,
    /// Its result, until the log has it.
    pub(crate) result: Option<Box<SegmentResult>>,
    /// Why its worker did not take it.
    pub(crate) refused: Option<String>,
    /// Its worker is gone.
    pub(crate) is_lost: bool,
    /// The entry that ends it is under way.
    pub(crate) proposed: bool,
    pub(crate) sent: Option<Directive>,
    /// Seconds without a sign of life.
    pub(crate) silent_s: u32,
    /// Since when it was told to stop because its time is over.
    pub(crate) overdue: Option<Duration>,
}

impl AttemptLive {
    /// Whether it ended in a way that may leave no statistics.
    fn left_nothing(&self) -> bool {
        let (lost, refused, silent) = (AttemptEnd::Lost, AttemptEnd::Refused, AttemptEnd::TimedOut);
        matches!(self.state, AttemptState::Ended(end) if end == lost || end == refused || end == silent)
    }
}

impl WorkflowLive {
    /// Whether nothing but the windows of an attempt is known.
    pub(crate) fn is_unreported(&self, id: &AttemptId) -> bool {
        let is_counted = self.left.as_ref().is_some_and(|(_, counted)| counted.contains(id));
        !is_counted && self.attempts.get(id).is_none_or(AttemptLive::left_nothing)
    }

    /// Once all attempts are over, what they left takes the place of their windows.
    pub(crate) fn count_left(&mut self) {
        let Some((sum, counted)) = &self.left else { return };
        let is_known = |(id, live): (&AttemptId, &AttemptLive)| counted.contains(id) || live.left_nothing();
        if !self.attempts.iter().all(is_known) {
            return;
        }
        let mut totals = sum.clone();
        // Of an attempt that was lost, or never said its end, nothing is known but what it reported before.
        let others = self.attempts.iter().filter(|(id, live)| !counted.contains(id) && live.left_nothing());
        for windows in others.filter_map(|(_, live)| live.windows.as_ref()) {
            let mut windows = (**windows).clone();
            windows.close();
            totals.merge(&windows);
        }
        self.totals = totals;
    }

    pub(crate) fn new(workflow: &Workflow) -> Self {
        let (layout, _) = layout(workflow);
        WorkflowLive {
            totals: Totals::new(&Arc::new(layout)),
            left: None,
            pulse: Pulse::default(),
            attempts: BTreeMap::new(),
            proposed: false,
            told_waiting: false,
            finishing: false,
        }
    }
}
