//! What attempts are told while they run. A directive is a function of what was decided; it is sent when it differs from
//! the one that was sent last.

use std::time::Duration;

use crate::LoadClock;
use crate::io::Action;
use crate::machine::JobCore;
use crate::record::WorkflowRecord;
use crate::segment::{AttemptId, Directive, SegmentKind, StopPhase};
use crate::state::WorkflowState;

/// Sends every attempt that runs its newest directive.
pub(crate) fn reconcile(core: &mut JobCore) {
    let is_paused = core.record.is_paused();
    let mut news = Vec::new();
    for (record, live) in core.record.workflows().iter().zip(&mut core.live) {
        for (id, attempt) in &mut live.attempts {
            let directive = directive(record, *id, is_paused);
            let before = attempt.sent.unwrap_or_default();
            if !attempt.state.is_over() && before != directive {
                attempt.sent = Some(directive);
                news.push(Action::Direct { attempt: *id, directive });
            }
        }
    }
    for action in news {
        core.act(action);
    }
}

fn directive(record: &WorkflowRecord, id: AttemptId, is_paused: bool) -> Directive {
    let is_load = id.segment.kind == SegmentKind::Load;
    Directive {
        go: record.load_clock().filter(|_| is_load).map(|clock| begins(record, id, clock)),
        phase: phase(record, id.segment.kind),
        paused: is_paused && is_load && record.load_clock().is_some(),
        vus: record.vus().filter(|_| is_load),
        rate: record.rate().filter(|_| is_load),
    }
}

/// When the load of an attempt begins, on the job clock: with its workflow, or where it joins the curve.
fn begins(record: &WorkflowRecord, id: AttemptId, clock: &LoadClock) -> Duration {
    let joins_at = record.attempt(id).map_or(Duration::ZERO, |known| known.assignment.joins_at);
    if joins_at.is_zero() { clock.began() } else { clock.job_time(joins_at) }
}

fn phase(record: &WorkflowRecord, kind: SegmentKind) -> StopPhase {
    let stopped = record.stop_of().map_or(StopPhase::Running, |(phase, _)| *phase);
    // A workflow that has failed does not finish: the rest of it is cancelled.
    let failed = if record.fatal().is_some() { StopPhase::Cancelling } else { StopPhase::Running };
    match kind {
        SegmentKind::Teardown if stopped == StopPhase::Aborted => stopped,
        SegmentKind::Teardown => StopPhase::Running,
        // Set-up and preparation have nothing to finish.
        SegmentKind::Setup | SegmentKind::Load
            if stopped > StopPhase::Running && record.state() != WorkflowState::Running =>
        {
            stopped.max(StopPhase::Cancelling)
        }
        SegmentKind::Setup | SegmentKind::Load => stopped.max(failed),
    }
}
