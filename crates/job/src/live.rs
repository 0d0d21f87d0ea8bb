//! What was reported about workflows and their attempts: nothing here decides but what a worker can report again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::model::Workflow;
use hyperscale_stats::{Layout, Pulse, Series, Totals, Window};

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
    /// Attempts of which no iteration starts any more.
    pub(crate) attempts_finishing: BTreeSet<AttemptId>,
}

/// What was reported about an attempt.
#[derive(Debug, Default)]
pub(crate) struct AttemptLive {
    pub(crate) state: AttemptState,
    pub(crate) prepared: bool,
    /// Cores that have nothing more to do.
    pub(crate) cores_completed: u32,
    /// What its windows say, in case it is lost. Only where windows can be lost.
    pub(crate) windows: Option<Box<Received>>,
    /// Windows that came after it was known to be lost: they count nowhere.
    pub(crate) windows_late: u64,
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

/// What the windows of an attempt say.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) totals: Totals,
    /// Up to when they reach, on the job clock.
    pub(crate) to: Duration,
    /// Windows that are known to have been closed and are not here, of attempts that another leader has followed.
    missing: u64,
    /// The next window of each core, and how many are here.
    cores: BTreeMap<u32, (u64, u64)>,
    /// Over time. Only if windows may be discarded.
    pub(crate) series: Option<Series>,
}

impl Received {
    pub(crate) fn new(totals: Totals, to: Duration, missing: u64) -> Self {
        Received { totals, to, missing, cores: BTreeMap::new(), series: None }
    }

    fn add(&mut self, window: &Window) {
        self.totals.add(window);
        self.to = self.to.max(Duration::from_nanos(window.to_ns));
        let (next, count) = self.cores.entry(window.core).or_default();
        *next = (*next).max(window.seq.saturating_add(1));
        *count += 1;
    }

    /// Windows that were closed before one that is here, and are not.
    pub(crate) fn missing(&self) -> u64 {
        let gaps = self.cores.values().map(|(next, count)| next.saturating_sub(*count));
        self.missing + gaps.sum::<u64>()
    }
}

impl AttemptLive {
    /// Takes a window, and keeps it over time if windows may be discarded.
    pub(crate) fn receive(&mut self, window: &Window, layout: &Arc<Layout>, keeps_series: bool) {
        let new = || Box::new(Received::new(Totals::new(layout), Duration::ZERO, 0));
        let received = self.windows.get_or_insert_with(new);
        received.add(window);
        if keeps_series {
            received.series.get_or_insert_default().add(window);
        }
    }

    /// Whether its worker is known to be gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_lost || self.state == AttemptState::Ended(AttemptEnd::Lost)
    }

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

    /// What was measured by attempts that run again from the beginning does not count: counts everything else again.
    pub(crate) fn discard(&mut self, is_discarded: impl Fn(&AttemptId) -> bool) {
        let mut totals = Totals::new(self.totals.layout());
        let (sum, counted) = self.left.as_ref().map_or((None, None), |(sum, it)| (Some(sum), Some(it)));
        if let Some(sum) = sum {
            totals.merge(sum);
        }
        let is_counted = |id: &AttemptId| counted.is_some_and(|counted| counted.contains(id));
        let others = self.attempts.iter().filter(|(id, _)| !is_counted(id) && !is_discarded(id));
        for received in others.filter_map(|(_, live)| live.windows.as_ref()) {
            totals.merge(&received.totals);
        }
        self.totals = totals;
    }

    /// Once all attempts are over, what they left takes the place of their windows, but for those that are discarded.
    pub(crate) fn count_left(&mut self, is_discarded: impl Fn(&AttemptId) -> bool) {
        let Some((sum, counted)) = &self.left else { return };
        let is_known = |(id, live): (&AttemptId, &AttemptLive)| counted.contains(id) || live.left_nothing();
        if !self.attempts.iter().all(is_known) {
            return;
        }
        let mut totals = sum.clone();
        // Of an attempt that was lost, or never said its end, nothing is known but what it reported before.
        let others = self.attempts.iter().filter(|(id, live)| !counted.contains(id) && live.left_nothing());
        let others = others.filter(|(id, _)| !is_discarded(id));
        for received in others.filter_map(|(_, live)| live.windows.as_ref()) {
            let mut windows = received.totals.clone();
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
            attempts_finishing: BTreeSet::new(),
        }
    }
}
