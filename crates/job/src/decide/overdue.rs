//! Time-outs: of the job, of a workflow, of an attempt that gives no sign of life.
//!
//! Deadlines count on the job clock, which survives a change of the leader; paused time extends them. Silence is counted
//! in seconds that this leader has lived through, so that a leader which was itself stopped accuses nobody.

use std::time::Duration;

use hyperscale_types::Span;

use crate::clock::LoadClock;
use crate::entry::{Entry, Stop, StopScope};
use crate::io::OnLoss;
use crate::machine::{JobCore, Pending};
use crate::reason::Reason;
use crate::segment::{SegmentKind, SegmentResult, StopPhase};
use crate::state::{AttemptEnd, WorkflowEnd, WorkflowState};

/// A workflow may last this much longer than its planned time and `graceful_stop`.
const WORKFLOW_SLACK: Duration = Duration::from_mins(1);
/// Seconds without a sign of life after which an attempt counts as stuck.
pub(crate) const SILENT_S_MAX: u32 = 120;
/// An attempt that was told to stop because its time is over must say its end within this time.
const LAST_WORD: Duration = Duration::from_secs(10);

/// Proposes to stop what is overdue, and ends what does not obey.
pub(super) fn decide(core: &mut JobCore) {
    if core.facts.timeout.is_some_and(|timeout| core.now >= timeout.to_duration()) {
        super::stop_job(core, StopPhase::Cancelling, Reason::Timeout, None);
    }
    for at in 0..core.plan.workflows.len() {
        let record = &core.record.workflows()[at];
        if record.stop_of().is_none()
            && !core.live[at].proposed
            && !core.proposed.contains(&Pending::StopOf(at))
        {
            let is_late = deadline(core, at).is_some_and(|deadline| core.now >= deadline);
            let reason =
                if is_late { Some(Reason::Timeout) } else { is_stuck(core, at).then_some(Reason::Stuck) };
            if let Some(reason) = reason.filter(|_| record.state() != WorkflowState::Teardown) {
                let (scope, phase, now) = (StopScope::Workflows(vec![at]), StopPhase::Cancelling, core.now);
                let stop = Stop { request: None, scope, phase, reason, cause: None, at: now };
                core.propose_once(Pending::StopOf(at), Entry::Stop(stop));
            }
        }
        abandon(core, at);
        let is_ready = core.record.workflows()[at].state() == WorkflowState::Ready;
        if is_ready
            && !core.live[at].proposed
            && given_up_at(core, at).is_some_and(|due| core.pool.workers.is_empty() && core.now >= due)
        {
            super::end(core, at, WorkflowEnd::Failed, Some(Reason::NoWorker), None);
        }
    }
}

/// When a workflow that waits for cores is given up if there is no worker at all until then. It is counted from when it became
/// ready, which survives a change of the leader, or from when this leader last saw a worker.
fn given_up_at(core: &JobCore, at: usize) -> Option<Duration> {
    let record = &core.record.workflows()[at];
    let timeout = core.facts.queue_timeout.filter(|_| record.state() == WorkflowState::Ready)?;
    Some(record.since().max(core.workers_seen) + timeout.to_duration())
}

/// The next deadline of anything.
pub(super) fn next(core: &JobCore) -> impl Iterator<Item = Duration> {
    let job = core.facts.timeout.map(Span::to_duration).filter(|_| core.record.stop().is_none());
    let workflows = (0..core.plan.workflows.len()).filter_map(|at| deadline(core, at));
    let last_words = core.live.iter().flat_map(|live| live.attempts.values());
    let last_words = last_words.filter(|live| !live.state.is_over()).filter_map(|live| live.overdue);
    let waiting = (0..core.plan.workflows.len()).filter_map(|at| given_up_at(core, at));
    let waiting = waiting.filter(|_| core.pool.workers.is_empty());
    job.into_iter().chain(workflows).chain(last_words.map(|since| since + LAST_WORD)).chain(waiting)
}

/// When the load of a workflow must have ended.
fn deadline(core: &JobCore, at: usize) -> Option<Duration> {
    let record = &core.record.workflows()[at];
    let workflow = core.workflow(at);
    if record.state() != WorkflowState::Running || record.stop_of().is_some() {
        return None;
    }
    let clock = last_clock(core, at).filter(|clock| !clock.is_paused())?;
    let planned = clock.job_time(workflow.planned()?.to_duration());
    Some(planned + workflow.timing.graceful_stop.to_duration() + WORKFLOW_SLACK)
}

/// The load clock that ends last: that of the workflow, or of a segment that runs again. None while such a segment has not begun.
fn last_clock(core: &JobCore, at: usize) -> Option<LoadClock> {
    let record = &core.record.workflows()[at];
    if core.facts.losses.on_loss == OnLoss::Restart && super::retry::has_waiting(core, at) {
        return None;
    }
    let open = record.attempts_of(SegmentKind::Load).filter(|(_, attempt)| attempt.end.is_none());
    let again = open.filter(|(_, attempt)| core.restarts(attempt));
    let own = again.map(|(_, attempt)| attempt.own_load.map(|own| own.clock)).collect::<Option<Vec<_>>>()?;
    record.load_clock().copied().into_iter().chain(own).max_by_key(LoadClock::began)
}

fn is_stuck(core: &JobCore, at: usize) -> bool {
    let mut running = core.live[at].attempts.values().filter(|live| !live.state.is_over());
    running.any(|live| live.silent_s >= SILENT_S_MAX)
}

/// Attempts of a workflow whose time is over and that do not say their end.
fn abandon(core: &mut JobCore, at: usize) {
    let now = core.now;
    let is_overdue =
        matches!(core.record.workflows()[at].stop_of(), Some((_, Reason::Timeout | Reason::Stuck)));
    let mut entries = Vec::new();
    for (id, live) in &mut core.live[at].attempts {
        // The end of one that was lost or refused is known.
        let is_known = live.result.is_some() || live.is_lost || live.refused.is_some();
        if live.state.is_over() || live.proposed || is_known {
            continue;
        }
        // A tear-down runs after the stop: it is given up when nothing is heard of it.
        if id.segment.kind == SegmentKind::Teardown {
            if live.silent_s >= SILENT_S_MAX {
                live.proposed = true;
                let result = Box::<SegmentResult>::default();
                entries.push(Entry::AttemptEnd { attempt: *id, end: AttemptEnd::TimedOut, result, at: now });
            }
            continue;
        }
        if !is_overdue {
            continue;
        }
        let since = *live.overdue.get_or_insert(now);
        if now >= since + LAST_WORD {
            live.proposed = true;
            let result = Box::<SegmentResult>::default();
            entries.push(Entry::AttemptEnd { attempt: *id, end: AttemptEnd::TimedOut, result, at: now });
        }
    }
    for entry in entries {
        core.propose(entry);
    }
}
