//! Segments whose worker was lost or did not take them: they get another attempt on another worker, as long as there is something
//! left to run.
//!
//! The workflow's clock does not stop. The next attempt of a load joins it where the workflow is and ends with the others; where
//! iterations are counted it runs what is known to be left. If the job wants a restart it runs all of its segment's load instead, by a
//! clock of its own that begins when it is prepared, and the workflow ends with it. A worker that lost an attempt of a segment gets none
//! of it again, and one that refused it not for [`REFUSED_FOR`]: its lease may only have been late. A load that has not begun waits for
//! a segment without a worker for [`JOIN_GRACE`] and then begins without it: it joins when there are cores.
//!
//! | an attempt is | counts against `max_retries` | counts against the retry budget | not with `fail` |
//! | ------------- | ---------------------------- | ------------------------------- | -------------- |
//! | lost          | yes                          | yes                             | yes            |
//! | refused       | no                           | yes                             | no             |

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_types::Span;

use super::batch;
use crate::entry::{Assignment, Batch, Entry, Group, GroupMember, GroupPart};
use crate::io::{OnLoss, PoolWorker};
use crate::machine::{JobCore, Pending};
use crate::reason::{Failure, FailureKind};
use crate::record::{AttemptRecord, WorkflowRecord};
use crate::segment::{AttemptId, SegmentKind};
use crate::state::WorkflowState;

/// How long the prepared segments of a workflow wait for one that lost its worker before the load began.
const JOIN_GRACE: Duration = Duration::from_secs(30);

/// How long a segment is not given again to a worker that refused it.
const REFUSED_FOR: Duration = Duration::from_secs(5);

/// Why a segment gets no further attempt.
pub(super) enum GaveUp {
    /// Its workers were lost too often, or there is no other.
    Lost,
    /// Too many workers did not take it, or there is no other.
    Refused(Failure),
}

/// Proposes another attempt of a segment that waits for one, if there are cores for it.
pub(super) fn decide(core: &mut JobCore) {
    if core.proposed.contains(&Pending::Batch) {
        return;
    }
    for at in 0..core.plan.workflows.len() {
        let waiting: Vec<AttemptId> = waiting(core, at).collect();
        if let Some(batch) = waiting.into_iter().find_map(|last| place(core, at, last)) {
            return core.propose_once(Pending::Batch, Entry::Assign(batch));
        }
    }
}

/// When something is decided because of the time that a segment has waited.
pub(super) fn next(core: &JobCore) -> impl Iterator<Item = Duration> {
    let all = (0..core.plan.workflows.len()).flat_map(|at| waiting(core, at).map(move |id| (at, id)));
    all.flat_map(|(at, id)| {
        let since = missed_at(&core.record.workflows()[at], id);
        let given_up = core.facts.queue_timeout.map(|timeout| since + timeout.to_duration());
        [Some(since + REFUSED_FOR), Some(since + JOIN_GRACE), given_up]
    })
    .flatten()
}

/// Whether the workflow waits for another attempt of one of its segments.
pub(super) fn waits(core: &JobCore, at: usize) -> bool {
    let record = &core.record.workflows()[at];
    let may_begin = record.state() == WorkflowState::Assigned && has_others(record);
    let holds_up = |id: AttemptId| !may_begin || core.now < missed_at(record, id) + JOIN_GRACE;
    waiting(core, at).any(holds_up)
}

/// Whether a segment of the workflow waits for another attempt, whether or not the workflow waits for it.
pub(super) fn has_waiting(core: &JobCore, at: usize) -> bool {
    waiting(core, at).next().is_some()
}

/// Whether and why a segment of the set-up or the load will not be tried again.
pub(super) fn gave_up(core: &JobCore, at: usize) -> Option<GaveUp> {
    let record = &core.record.workflows()[at];
    let last = record.last_attempts(SegmentKind::Setup).chain(record.last_attempts(SegmentKind::Load));
    let mut missed = last.filter(|(_, attempt)| attempt.is_missed());
    let (_, attempt) = missed.find(|(id, attempt)| !may_try(core, record, **id, attempt))?;
    if attempt.is_lost() {
        return Some(GaveUp::Lost);
    }
    let said = attempt.end.as_ref().and_then(|(_, result)| result.failure.as_ref());
    let why = said.map_or("its workers refused it", |failure| &failure.message);
    let message = format!("no worker took a segment of it: {why}");
    Some(GaveUp::Refused(Failure::new(FailureKind::Refused, message)))
}

/// Tries a tear-down again whose worker was lost or did not take it. False: it is not.
pub(super) fn teardown(core: &mut JobCore, at: usize) -> bool {
    let record = &core.record.workflows()[at];
    let may = |(id, it): (&AttemptId, &AttemptRecord)| it.is_missed() && may_try(core, record, *id, it);
    let tries_again = record.last_attempts(SegmentKind::Teardown).any(may);
    tries_again && batch::assign_teardown(core, at)
}

/// Workers that get no further attempt of a segment now.
pub(super) fn excluded(core: &JobCore, at: usize, id: AttemptId) -> BTreeSet<&str> {
    let is_late = |attempt: &AttemptRecord| {
        attempt.is_refused() && attempt.ended_at.is_none_or(|ended| core.now < ended + REFUSED_FOR)
    };
    let is_lost = |attempt: &AttemptRecord| attempt.is_lost() && !core.facts.forgets_exclusion();
    let of_segment = core.record.workflows()[at].attempts().filter(|(other, _)| other.segment == id.segment);
    let excluded = of_segment.filter(|(_, attempt)| is_lost(attempt) || is_late(attempt));
    excluded.map(|(_, attempt)| &*attempt.assignment.worker).collect()
}

fn missed_at(record: &WorkflowRecord, id: AttemptId) -> Duration {
    record.attempt(id).and_then(|attempt| attempt.ended_at).unwrap_or_default()
}

/// Whether another segment of the load is being prepared or is prepared.
fn has_others(record: &WorkflowRecord) -> bool {
    record.attempts_of(SegmentKind::Load).any(|(_, attempt)| attempt.end.is_none())
}

/// The last attempts of segments that wait for another one.
fn waiting(core: &JobCore, at: usize) -> impl Iterator<Item = AttemptId> + '_ {
    let record = &core.record.workflows()[at];
    let kind = match record.state() {
        WorkflowState::Setup => Some(SegmentKind::Setup),
        WorkflowState::Assigned | WorkflowState::Running if !is_over(core, at) => Some(SegmentKind::Load),
        _ => None,
    };
    let kind = kind.filter(|_| record.stop_of().is_none() && record.fatal().is_none());
    let last = kind.into_iter().flat_map(|kind| record.last_attempts(kind));
    let missed = last.filter(|(_, attempt)| attempt.is_missed());
    let may = move |(id, attempt): &(&AttemptId, &AttemptRecord)| may_try(core, record, **id, attempt);
    missed.filter(may).map(|(id, _)| *id)
}

/// Whether a segment may be tried again, now or when there are cores.
fn may_try(core: &JobCore, record: &WorkflowRecord, last: AttemptId, attempt: &AttemptRecord) -> bool {
    let policy = core.facts.losses;
    let of_segment = record.attempts().filter(|(id, it)| id.segment == last.segment && it.is_lost()).count();
    let all = core.record.workflows().iter().flat_map(WorkflowRecord::attempts);
    let of_job = all.filter(|(_, attempt)| attempt.is_missed()).count();
    let is_allowed =
        attempt.is_refused() || policy.on_loss != OnLoss::Fail && of_segment as u32 <= policy.max_retries;
    is_allowed && of_job as u32 <= policy.retry_budget && !is_hopeless(core, record, last)
}

/// Whether there has been no worker for a segment for too long, busy or not. A load that has begun and ends by its plan waits until
/// then.
fn is_hopeless(core: &JobCore, record: &WorkflowRecord, last: AttemptId) -> bool {
    let is_planned = core.workflow(last.segment.workflow).planned().is_some();
    let ends = record.load_clock().is_some() && is_planned && !runs_again(core);
    let timeout = core.facts.queue_timeout.map(Span::to_duration);
    let is_late = timeout.is_some_and(|timeout| core.now >= missed_at(record, last) + timeout);
    let excluded = excluded(core, last.segment.workflow, last);
    is_late && !ends && core.pool.workers.iter().all(|worker| excluded.contains(&*worker.id))
}

/// How far the load of a workflow is; zero before it began.
fn load_time(core: &JobCore, at: usize) -> Duration {
    core.record.workflows()[at].load_clock().map_or(Duration::ZERO, |clock| clock.load_time(core.now))
}

/// Whether another attempt runs the whole load of its segment.
fn runs_again(core: &JobCore) -> bool {
    core.facts.losses.on_loss == OnLoss::Restart
}

/// Whether there is no load left that another attempt could run.
fn is_over(core: &JobCore, at: usize) -> bool {
    !runs_again(core)
        && core.workflow(at).planned().is_some_and(|planned| load_time(core, at) >= planned.to_duration())
}

fn place(core: &JobCore, at: usize, last: AttemptId) -> Option<Batch> {
    if last.segment.kind == SegmentKind::Setup {
        let excluded = excluded(core, at, last);
        return batch::place_anew(core, at, &excluded, batch::Begins::WithSetup);
    }
    place_load(core, at, last)
}

/// Another attempt on a worker that has the cores and is not excluded.
fn place_load(core: &JobCore, at: usize, last: AttemptId) -> Option<Batch> {
    let record = &core.record.workflows()[at];
    let known = record.attempt(last)?;
    let share = known.assignment.share;
    let excluded = excluded(core, at, last);
    let workflow = core.workflow(at);
    let fits = |worker: &&PoolWorker| {
        worker.free >= share.cores && worker.can_run(workflow) && !excluded.contains(&*worker.id)
    };
    let worker = core.pool.workers.iter().find(fits)?;
    let begins_again = runs_again(core);
    let group = Group {
        id: core.record.next_group(),
        members: vec![GroupMember { workflow: at, first: 0, cores: share.cores }],
        parts: vec![GroupPart { worker: Arc::clone(&worker.id), first: 0, cores: share.cores }],
        release: core.record.group(known.assignment.group)?.release,
    };
    let assignment = Assignment {
        attempt: AttemptId { number: last.number + 1, ..last },
        worker: Arc::clone(&worker.id),
        group: group.id,
        offset: 0,
        share,
        joins_at: if begins_again { Duration::ZERO } else { load_time(core, at) },
        iterations_done: if begins_again { 0 } else { iterations_done(core, at, last, known) },
    };
    Some(Batch { groups: vec![group], assignments: vec![assignment] })
}

/// Iterations that the segment is known to have started.
fn iterations_done(core: &JobCore, at: usize, lost: AttemptId, known: &AttemptRecord) -> u64 {
    let live = core.live[at].attempts.get(&lost);
    let windows = live.and_then(|live| live.windows.as_ref());
    known.assignment.iterations_done + windows.map_or(0, |received| received.totals.iterations.started)
}
