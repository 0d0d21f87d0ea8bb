//! What a job does next. Everything here is a function of what was decided, what was reported and the time; the answer
//! is always an entry, never an effect.
//!
//! ```text
//! pending  ─ dependencies completed, settled, start_after over ─► Ready
//! ready    ─ cores free ─────────────────────────────────────────► Assign (set-up, or load)
//! setup    ─ ended ─► Context(Setup) ─► Assign (load)        failed or stopped ─► after the load
//! assigned ─ every segment prepared ─► Start                 failed or stopped ─► after the load
//! running  ─ a segment that runs again is prepared ─► Restart; every attempt ended ─► after the load
//! after the load ─► Assign (tear-down) if there is one ─► Context(Provided) ─► WorkflowEnd
//! all workflows ended ─► JobEnd
//! ```

mod batch;
mod overdue;
mod retry;

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_stats::event::WorkflowState as ShownState;

use crate::context;
use crate::entry::{ContextValues, Entry, Stop, StopCause, StopScope};
use crate::machine::{JobCore, Pending};
use crate::reason::{Failure, FailureKind, Reason};
use crate::record::AttemptRecord;
use crate::result;
use crate::segment::{AttemptId, SegmentKind, SegmentResult, StopPhase, VuCounts};
use crate::state::{AttemptEnd, WorkflowEnd, WorkflowState};
use retry::GaveUp;

/// Workflows that become ready within this time after each other are planned together, so that their cores do not
/// depend on a race.
pub const SETTLE: Duration = Duration::from_millis(250);

/// Between "all segments are prepared" and the first start, so that every core begins at the same moment.
const GO_AFTER: Duration = Duration::from_millis(5);

/// Proposes everything that can be decided now.
pub(crate) fn decide(core: &mut JobCore) {
    if core.record.end().is_some() {
        return;
    }
    overdue::decide(core);
    for at in 0..core.plan.workflows.len() {
        decide_attempts(core, at);
        if !core.live[at].proposed {
            decide_workflow(core, at);
        }
    }
    decide_ready(core);
    retry::decide(core);
    batch::decide(core);
    decide_end(core);
}

/// When the next decision is due that nothing but time brings about.
pub(crate) fn next_timer(core: &JobCore) -> Option<Duration> {
    if core.record.end().is_some() {
        return None;
    }
    let ready = (0..core.plan.workflows.len()).filter_map(|at| ready_at(core, at));
    let others = overdue::next(core).chain(retry::next(core)).chain([core.held_until]);
    ready.chain(others).filter(|due| *due > core.decided).min()
}

/// Whether other cores could change what is decided.
pub(crate) fn waits_for_cores(core: &JobCore) -> bool {
    let is_ready = |at: usize| {
        let state = core.record.workflows()[at].state();
        matches!(state, WorkflowState::Ready | WorkflowState::Setup) || retry::has_waiting(core, at)
    };
    (0..core.plan.workflows.len()).any(is_ready)
}

/// A check with `stop: test` ends the whole job.
pub(crate) fn stop_test(core: &mut JobCore, workflow: usize, failure: Failure) {
    let cause = StopCause::Check { workflow, failure };
    stop_job(core, StopPhase::Cancelling, Reason::Check, Some(cause));
}

/// Proposes to stop everything, unless that is decided or under way.
pub(crate) fn stop_job(core: &mut JobCore, phase: StopPhase, reason: Reason, cause: Option<StopCause>) {
    if core.record.stop().is_none() && !core.proposed.contains(&Pending::Stop) {
        let (scope, at) = (StopScope::Job, core.now);
        core.propose_once(
            Pending::Stop,
            Entry::Stop(Stop { request: None, scope, phase, reason, cause, at }),
        );
    }
}

/// The log will never take a decision: the workflows that it is about fail, whatever runs of them is stopped.
pub(crate) fn too_large(core: &mut JobCore, entry: &Entry, what: &'static str) {
    for at in workflows_of(entry) {
        let Some(record) = core.record.workflows().get(at) else { continue };
        if record.fatal().is_some() || record.ended().is_some() {
            continue;
        }
        let failure = Failure::new(FailureKind::Limit, what);
        if matches!(record.state(), WorkflowState::Pending | WorkflowState::Ready) {
            fail(core, at, failure);
        } else {
            stop_failed(core, at, failure);
        }
    }
}

/// A workflow that has begun cannot go on: what runs of it is stopped, its tear-down runs, and it has failed.
fn stop_failed(core: &mut JobCore, at: usize, failure: Failure) {
    let (scope, phase, now) = (StopScope::Workflows(vec![at]), StopPhase::Cancelling, core.now);
    let reason = Reason::Failed(failure.kind);
    let cause = Some(StopCause::Check { workflow: at, failure });
    let stop = Stop { request: None, scope, phase, reason, cause, at: now };
    if !core.proposed.contains(&Pending::StopOf(at)) {
        core.propose_once(Pending::StopOf(at), Entry::Stop(stop));
    }
}

/// Workflows that cannot go on without a decision. One that ends something, or that somebody asked for, is not needed for that.
fn workflows_of(entry: &Entry) -> BTreeSet<usize> {
    match entry {
        Entry::Ready { workflows, .. } => workflows.iter().copied().collect(),
        Entry::Assign(batch) => batch.assignments.iter().map(|it| it.attempt.segment.workflow).collect(),
        Entry::Context { workflow, .. } | Entry::Start { workflow, .. } => BTreeSet::from([*workflow]),
        Entry::Restart { attempt, .. } => BTreeSet::from([attempt.segment.workflow]),
        Entry::AttemptEnd { .. }
        | Entry::WorkflowEnd { .. }
        | Entry::Stop(_)
        | Entry::Control { .. }
        | Entry::JobEnd { .. } => BTreeSet::new(),
    }
}

/// Attempts whose results have arrived.
fn decide_attempts(core: &mut JobCore, at: usize) {
    let now = core.now;
    let record = &core.record.workflows()[at];
    let mut entries = Vec::new();
    for (id, live) in &mut core.live[at].attempts {
        if live.proposed || live.state.is_over() {
            continue;
        }
        if live.is_lost {
            live.proposed = true;
            let result = Box::<SegmentResult>::default();
            entries.push(Entry::AttemptEnd { attempt: *id, end: AttemptEnd::Lost, result, at: now });
        } else if let Some(why) = &live.refused {
            live.proposed = true;
            let is_stopped = record.stop_of().is_some() || record.fatal().is_some();
            let end = if is_stopped { AttemptEnd::Cancelled } else { AttemptEnd::Refused };
            let failure = (!is_stopped).then(|| Failure::new(FailureKind::Refused, why.clone()));
            let result = Box::new(SegmentResult { failure, ..SegmentResult::default() });
            entries.push(Entry::AttemptEnd { attempt: *id, end, result, at: now });
        } else if let Some(result) = &live.result {
            live.proposed = true;
            let end = match (&result.failure, live.overdue) {
                (_, Some(_)) => AttemptEnd::TimedOut,
                (Some(_), None) => AttemptEnd::Failed,
                (None, None) if record.stop_of().is_some() => AttemptEnd::Cancelled,
                (None, None) => AttemptEnd::Completed,
            };
            entries.push(Entry::AttemptEnd { attempt: *id, end, result: result.clone(), at: now });
        }
    }
    for entry in entries {
        core.propose(entry);
    }
    let stops = core.live[at].attempts.values().find_map(|live| live.result.as_ref()?.stopped.clone());
    if let Some(failure) = stops {
        stop_test(core, at, failure);
    }
}

fn decide_workflow(core: &mut JobCore, at: usize) {
    let record = &core.record.workflows()[at];
    match record.state() {
        WorkflowState::Pending => decide_pending(core, at),
        WorkflowState::Ready => {
            if let Some((_, reason)) = record.stop_of() {
                let reason = reason.clone();
                end(core, at, cancelled_as(&reason), Some(reason), None);
            }
        }
        WorkflowState::Setup | WorkflowState::Assigned if retry::waits(core, at) => {}
        WorkflowState::Running if retry::waits(core, at) => restart_when_prepared(core, at),
        WorkflowState::Setup => after_setup(core, at),
        WorkflowState::Assigned if record.load_is_over() => after_load(core, at),
        WorkflowState::Assigned => begin_when_prepared(core, at),
        WorkflowState::Running if record.load_is_over() => after_load(core, at),
        WorkflowState::Running => restart_when_prepared(core, at),
        WorkflowState::Teardown => {
            if record.attempts_of(SegmentKind::Teardown).all(|(_, attempt)| attempt.end.is_some())
                && !retry::teardown(core, at)
            {
                conclude(core, at);
            }
        }
        WorkflowState::Ended(_) => {}
    }
}

/// A pending workflow: cancelled, skipped, failed, or it waits.
fn decide_pending(core: &mut JobCore, at: usize) {
    let record = &core.record.workflows()[at];
    if let Some((_, reason)) = record.stop_of() {
        let reason = reason.clone();
        return end(core, at, cancelled_as(&reason), Some(reason), None);
    }
    for &dependency in &core.workflow(at).depends {
        match core.record.workflows()[dependency].ended() {
            Some(WorkflowEnd::Completed) => {}
            Some(other) => {
                let name = core.workflow(dependency).name.clone();
                let reason = Reason::Dependency { name, end: other };
                return end(core, at, WorkflowEnd::Skipped, Some(reason), None);
            }
            None => return,
        }
    }
    let failure = match context::gather(core, at) {
        Ok(used) => context::too_large(core, &used, &[]),
        Err(failure) => Some(failure),
    };
    if let Some(failure) = failure {
        fail(core, at, failure);
    }
}

/// When a pending workflow whose dependencies have completed becomes ready.
fn ready_at(core: &JobCore, at: usize) -> Option<Duration> {
    let records = core.record.workflows();
    if records[at].state() != WorkflowState::Pending || records[at].stop_of().is_some() {
        return None;
    }
    let workflow = core.workflow(at);
    let mut settled = Duration::ZERO;
    for &dependency in &workflow.depends {
        if records[dependency].ended() != Some(WorkflowEnd::Completed) {
            return None;
        }
        settled = settled.max(records[dependency].since() + SETTLE);
    }
    Some(settled + workflow.timing.start_after.to_duration())
}

/// All workflows that are due become ready in one entry, so that they are planned together.
fn decide_ready(core: &mut JobCore) {
    if core.proposed.contains(&Pending::Ready) {
        return;
    }
    let is_due =
        |at: &usize| !core.live[*at].proposed && ready_at(core, *at).is_some_and(|due| due <= core.now);
    let workflows: Vec<usize> = (0..core.plan.workflows.len()).filter(is_due).collect();
    if !workflows.is_empty() {
        let at = core.now;
        core.propose_once(Pending::Ready, Entry::Ready { workflows, at });
    }
}

/// The set-up is over: its values are fixed, then the load is assigned.
fn after_setup(core: &mut JobCore, at: usize) {
    let record = &core.record.workflows()[at];
    let Some((_, last)) = record.attempts_of(SegmentKind::Setup).last() else { return };
    let Some((_, result)) = &last.end else { return };
    if record.fatal().is_some() || record.stop_of().is_some() || last.is_missed() {
        return after_load(core, at);
    }
    if record.setup().is_some() {
        return batch::assign_load(core, at);
    }
    let used = context::gathered(core, at);
    if let Some(failure) = context::too_large(core, &used, &result.values) {
        return stop_failed(core, at, failure);
    }
    let values = ContextValues::Setup(result.values.clone().into());
    core.propose_for(at, Entry::Context { workflow: at, values });
}

/// The load begins when every segment is prepared.
fn begin_when_prepared(core: &mut JobCore, at: usize) {
    let record = &core.record.workflows()[at];
    if record.stop_of().is_some() || record.fatal().is_some() || !is_prepared(core, at) {
        return;
    }
    let together = members_of_mix(core, at);
    if together.iter().any(|other| may_still_prepare(core, *other)) {
        return;
    }
    let begins = core.now + GO_AFTER;
    for workflow in together {
        if core.record.workflows()[workflow].state() == WorkflowState::Assigned {
            core.propose_for(workflow, Entry::Start { workflow, at: begins });
        }
    }
}

/// A segment that runs again begins when it is prepared, whatever the others do.
fn restart_when_prepared(core: &mut JobCore, at: usize) {
    let record = &core.record.workflows()[at];
    if record.stop_of().is_some() || record.fatal().is_some() {
        return;
    }
    let is_prepared = |id: &AttemptId| core.live[at].attempts.get(id).is_some_and(|live| live.prepared);
    let waits = |(id, attempt): &(&AttemptId, &AttemptRecord)| {
        core.restarts(attempt) && attempt.end.is_none() && attempt.own_load.is_none() && is_prepared(id)
    };
    let next = record.attempts_of(SegmentKind::Load).find(waits).map(|(id, _)| *id);
    if let Some(attempt) = next {
        let begins = core.now + GO_AFTER;
        core.propose_for(at, Entry::Restart { attempt, at: begins });
    }
}

/// Whether every attempt of a workflow's load is prepared.
fn is_prepared(core: &JobCore, at: usize) -> bool {
    let is_prepared = |(id, attempt): (&AttemptId, &AttemptRecord)| {
        attempt.end.is_some() || core.live[at].attempts.get(id).is_some_and(|live| live.prepared)
    };
    core.record.workflows()[at].attempts_of(SegmentKind::Load).all(is_prepared)
}

/// Workflows whose load clocks begin at the same moment: those of a mix, so that the starts dealt to them interleave.
fn members_of_mix(core: &JobCore, at: usize) -> Vec<usize> {
    let members = core.plan.mix.iter().flat_map(|mix| &mix.members).map(|member| member.workflow);
    let members: Vec<usize> = members.collect();
    if members.contains(&at) { members } else { vec![at] }
}

/// Whether a workflow will be prepared later, so that others wait for it.
fn may_still_prepare(core: &JobCore, at: usize) -> bool {
    let record = &core.record.workflows()[at];
    match record.state() {
        WorkflowState::Pending | WorkflowState::Ready | WorkflowState::Setup => record.stop_of().is_none(),
        WorkflowState::Assigned => {
            record.stop_of().is_none() && record.fatal().is_none() && !is_prepared(core, at)
        }
        WorkflowState::Running | WorkflowState::Teardown | WorkflowState::Ended(_) => false,
    }
}

/// Nothing of the load runs any more.
fn after_load(core: &mut JobCore, at: usize) {
    let record = &core.record.workflows()[at];
    let is_aborted = record.stop_of().is_some_and(|(phase, _)| *phase == StopPhase::Aborted);
    if core.workflow(at).teardown.is_empty() || is_aborted || !batch::assign_teardown(core, at) {
        conclude(core, at);
    }
}

/// Everything of a workflow has run: what became of it?
fn conclude(core: &mut JobCore, at: usize) {
    let record = &core.record.workflows()[at];
    let stop = record.stop_of().map(|(_, reason)| reason.clone());
    if let Some(reason @ (Reason::Timeout | Reason::Stuck)) = stop {
        return end(core, at, WorkflowEnd::TimedOut, Some(reason), None);
    }
    if let Some(failure) = record.fatal() {
        let reason = Reason::Failed(failure.kind);
        return end(core, at, WorkflowEnd::Failed, Some(reason), None);
    }
    let attempts = || record.attempts_of(SegmentKind::Load).filter_map(|(_, attempt)| attempt.end.as_ref());
    // A segment that was lost when there was nothing left to run costs what it had not reported, and not the workflow.
    match retry::gave_up(core, at).filter(|_| stop.is_none()) {
        Some(GaveUp::Lost) => return end(core, at, WorkflowEnd::Failed, Some(Reason::WorkerLost), None),
        Some(GaveUp::Refused(failure)) => return fail(core, at, failure),
        None => {}
    }
    let mut vus = VuCounts::default();
    attempts().for_each(|(_, result)| vus.merge(&result.vus));
    if vus.started > 0 && vus.failed == vus.started {
        return fail(core, at, Failure::new(FailureKind::VuSetup, "vu_setup failed for every virtual user"));
    }
    if let Some(reason) = stop {
        return end(core, at, WorkflowEnd::Cancelled, Some(reason), None);
    }
    if record.provided().is_none() && !core.workflow(at).provides.is_empty() {
        return match context::collect(core, at) {
            Ok(values) => {
                let values = ContextValues::Provided(values.into());
                core.propose_for(at, Entry::Context { workflow: at, values });
            }
            Err(failure) => fail(core, at, failure),
        };
    }
    end(core, at, WorkflowEnd::Completed, None, None);
}

/// What a workflow is that never began when its stop came.
fn cancelled_as(reason: &Reason) -> WorkflowEnd {
    if *reason == Reason::Timeout { WorkflowEnd::TimedOut } else { WorkflowEnd::Cancelled }
}

fn fail(core: &mut JobCore, at: usize, failure: Failure) {
    let reason = Some(Reason::Failed(failure.kind));
    end(core, at, WorkflowEnd::Failed, reason, Some(failure));
}

fn end(core: &mut JobCore, at: usize, end: WorkflowEnd, reason: Option<Reason>, failure: Option<Failure>) {
    let now = core.now;
    core.propose_for(at, Entry::WorkflowEnd { workflow: at, end, reason, failure, at: now });
}

fn decide_end(core: &mut JobCore) {
    let all_ended = core.record.workflows().iter().all(|workflow| workflow.ended().is_some());
    if all_ended && !core.proposed.contains(&Pending::End) {
        let (end, reason) = result::verdict(core);
        let at = core.now;
        core.propose_once(Pending::End, Entry::JobEnd { end, reason, at });
    }
}

/// Says once that a workflow which could begin has to wait for cores.
fn tell_waiting(core: &mut JobCore, at: usize, cores: u32) {
    if !std::mem::replace(&mut core.live[at].told_waiting, true) {
        core.emit_state(at, ShownState::Waiting { cores });
    }
}
