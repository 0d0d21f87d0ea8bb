//! What attempts measured, and which of it counts: exactly one source of each attempt.
//!
//! | attempt                              | counts                                                              |
//! | ------------------------------------ | -------------------------------------------------------------------- |
//! | runs                                 | its windows so far                                                    |
//! | has said its end                     | what it left, once all attempts of the workflow are over              |
//! | lost, and its segment runs again     | nothing: what its windows say is discarded                            |
//! | lost otherwise, or silent at its end | its windows that came before that was known                           |
//!
//! Windows that come after an attempt is known to be lost are late and count nowhere.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_stats::{Series, Totals, Window};

use crate::io::{LostWindows, OnLoss};
use crate::live::Received;
use crate::machine::JobCore;
use crate::record::AttemptRecord;
use crate::segment::{AttemptId, SegmentKind};
use crate::state::IllegalTransition;

impl JobCore {
    /// Takes all statistics of an attempt whose end the record has. To be called after [`JobCore::rebuild`] and before anything
    /// else, for every such attempt: nothing is decided before all of them are known.
    pub fn recall(&mut self, attempt: AttemptId, totals: &Totals) {
        self.left(attempt, totals);
    }

    /// What the windows of an attempt say that is lost and has not ended yet: no later window changes it.
    pub fn windows_of(&self, attempt: AttemptId) -> Option<LostWindows<'_>> {
        let live = self.live.get(attempt.segment.workflow)?.attempts.get(&attempt)?;
        let received = live.windows.as_ref().filter(|_| live.is_gone())?;
        Some(LostWindows { totals: &received.totals, to: received.to, missing: received.missing() })
    }

    /// Takes what the windows of an attempt said that the record knows as lost. To be called like [`JobCore::recall`].
    pub fn recall_windows(&mut self, attempt: AttemptId, windows: LostWindows<'_>) {
        let LostWindows { totals, to, missing } = windows;
        let Some(live) = self.attempt_mut(attempt) else {
            return self.count_illegal(IllegalTransition::Unknown("such attempt"));
        };
        live.windows = Some(Box::new(Received::new(totals.clone(), to, missing)));
        if !self.is_discarded(attempt) {
            self.live[attempt.segment.workflow].totals.merge(totals);
        }
        self.count_left(attempt.segment.workflow);
    }

    /// Gives up what the windows of an attempt say, as nobody after this leader could know it: they are lost.
    pub fn forget_windows(&mut self, attempt: AttemptId) {
        let Some(live) = self.attempt_mut(attempt) else { return };
        let Some(received) = live.windows.take() else { return };
        let missing = received.missing() + received.totals.windows;
        let layout = self.live[attempt.segment.workflow].totals.layout().clone();
        let nothing = Received::new(Totals::new(&layout), Duration::ZERO, missing);
        if let Some(live) = self.attempt_mut(attempt) {
            live.windows = Some(Box::new(nothing));
        }
        let discarded = self.discarded_of(attempt.segment.workflow);
        self.live[attempt.segment.workflow].discard(|id| discarded.contains(id));
    }

    /// Whether what an attempt measured does not count, as its segment runs again from the beginning.
    pub(crate) fn is_discarded(&self, id: AttemptId) -> bool {
        let record = self.record.workflows().get(id.segment.workflow);
        let is_lost = || record.and_then(|record| record.attempt(id)).is_some_and(AttemptRecord::is_lost);
        self.facts.losses.on_loss == OnLoss::Restart && id.segment.kind == SegmentKind::Load && is_lost()
    }

    /// Whether an attempt runs the load of its segment apart from the others, from the beginning.
    pub(crate) fn restarts(&self, attempt: &AttemptRecord) -> bool {
        self.facts.losses.on_loss == OnLoss::Restart && attempt.has_joined
    }

    /// What an attempt measured that was lost does not count any more if its segment runs again.
    pub(crate) fn discard(&mut self, id: AttemptId) {
        if !self.is_discarded(id) || self.facts.keeps_discarded() {
            return;
        }
        let discarded = self.discarded_of(id.segment.workflow);
        self.live[id.segment.workflow].discard(|id| discarded.contains(id));
        let all = self.live.iter().flat_map(|live| &live.attempts);
        let kept = all.filter(|(id, _)| !self.is_discarded(**id));
        let mut series = Series::new();
        let parts = kept.filter_map(|(_, live)| live.windows.as_ref()?.series.as_ref());
        parts.for_each(|part| series.merge(part));
        self.series = series;
    }

    pub(crate) fn count_left(&mut self, workflow: usize) {
        let discarded = self.discarded_of(workflow);
        self.live[workflow].count_left(|id| discarded.contains(id));
    }

    fn discarded_of(&self, workflow: usize) -> BTreeSet<AttemptId> {
        if self.facts.losses.on_loss != OnLoss::Restart || self.facts.keeps_discarded() {
            return BTreeSet::new();
        }
        self.live[workflow].attempts.keys().copied().filter(|id| self.is_discarded(*id)).collect()
    }

    pub(crate) fn left(&mut self, id: AttemptId, totals: &Totals) {
        if self.attempt_mut(id).is_none() {
            return self.count_illegal(IllegalTransition::Unknown("such attempt"));
        }
        let live = &mut self.live[id.segment.workflow];
        let (sum, counted) =
            live.left.get_or_insert_with(|| (Totals::new(live.totals.layout()), BTreeSet::new()));
        // Told again: it counts once.
        if counted.insert(id) {
            sum.merge(totals);
        }
        self.count_left(id.segment.workflow);
    }

    pub(crate) fn window(&mut self, id: AttemptId, window: &Window) {
        let Some(live) = self.attempt_mut(id) else {
            return self.count_illegal(IllegalTransition::Unknown("such attempt"));
        };
        live.silent_s = 0;
        if live.is_gone() {
            live.windows_late += 1;
            return;
        }
        if live.state.is_over() {
            return;
        }
        self.series.add(window);
        let live = &mut self.live[id.segment.workflow];
        live.totals.add(window);
        live.pulse.add(window);
        if self.facts.is_distributed {
            let layout = live.totals.layout().clone();
            let keeps_series = self.facts.losses.on_loss == OnLoss::Restart;
            if let Some(attempt) = live.attempts.get_mut(&id) {
                attempt.receive(window, &layout, keeps_series);
            }
        }
    }
}
