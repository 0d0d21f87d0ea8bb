//! What attempts are told while they run. A directive is a function of what was decided; it is sent when it differs from
//! the one that was sent last.

use std::time::Duration;

use hyperscale_plan::model::Load;

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
    for (at, live) in core.live.iter().enumerate() {
        for (id, attempt) in live.attempts.iter().filter(|(_, attempt)| !attempt.state.is_over()) {
            let directive = directive(core, at, *id, is_paused);
            if attempt.sent.unwrap_or_default() != directive {
                news.push((*id, directive));
            }
        }
    }
    for (attempt, directive) in news {
        if let Some(live) = core.attempt_mut(attempt) {
            live.sent = Some(directive);
        }
        core.act(Action::Direct { attempt, directive });
    }
}

fn directive(core: &JobCore, at: usize, id: AttemptId, is_paused: bool) -> Directive {
    let record = &core.record.workflows()[at];
    if id.segment.kind != SegmentKind::Load {
        return Directive { phase: phase(record, id.segment.kind, false), ..Directive::default() };
    }
    let known = record.attempt(id);
    let restarts = known.is_some_and(|known| core.restarts(known));
    let own = known.and_then(|known| known.own_load).filter(|_| restarts);
    let clock = record.load_clock().filter(|_| !restarts);
    let go = clock.map(|clock| begins(record, id, clock)).or_else(|| own.map(|own| own.clock.began()));
    Directive {
        go,
        phase: phase(record, id.segment.kind, restarts && own.is_none()),
        paused: is_paused && go.is_some(),
        vus: record.vus(),
        rate: if restarts { own.and_then(|own| own.rate(|to| planned(core, at, to))) } else { record.rate() },
    }
}

/// Starts that are due by the plan until a moment of the load clock.
pub(crate) fn planned(core: &JobCore, at: usize, to: Duration) -> f64 {
    match &core.workflow(at).load {
        Load::Open { rate, .. } => rate.integral(u64::try_from(to.as_nanos()).unwrap_or(u64::MAX)),
        Load::Closed { .. } | Load::Iterations { .. } | Load::Paced { .. } => 0.0,
    }
}

/// When the load of an attempt begins, on the job clock: with its workflow, or where it joins the curve.
fn begins(record: &WorkflowRecord, id: AttemptId, clock: &LoadClock) -> Duration {
    let joins_at = record.attempt(id).map_or(Duration::ZERO, |known| known.assignment.joins_at);
    if joins_at.is_zero() { clock.began() } else { clock.job_time(joins_at) }
}

/// `waits`: its load has not begun though that of its workflow has.
fn phase(record: &WorkflowRecord, kind: SegmentKind, waits: bool) -> StopPhase {
    let stopped = record.stop_of().map_or(StopPhase::Running, |(phase, _)| *phase);
    // A workflow that has failed does not finish: the rest of it is cancelled.
    let failed = if record.fatal().is_some() { StopPhase::Cancelling } else { StopPhase::Running };
    match kind {
        SegmentKind::Teardown if stopped == StopPhase::Aborted => stopped,
        SegmentKind::Teardown => StopPhase::Running,
        // Set-up and preparation have nothing to finish.
        SegmentKind::Setup | SegmentKind::Load
            if stopped > StopPhase::Running && (waits || record.state() != WorkflowState::Running) =>
        {
            stopped.max(StopPhase::Cancelling)
        }
        SegmentKind::Setup | SegmentKind::Load => stopped.max(failed),
    }
}
