//! Segments whose worker was lost: they get another attempt on another worker, as long as there is load left to run.
//!
//! The workflow's clock does not stop. The next attempt joins the load where the workflow is and ends with the others; where
//! iterations are counted it runs what is known to be left. Workers that lost an attempt of a segment get none of it again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::entry::{Assignment, Batch, Entry, Group, GroupMember, GroupPart};
use crate::io::PoolWorker;
use crate::machine::{JobCore, Pending};
use crate::record::{AttemptRecord, WorkflowRecord};
use crate::segment::{AttemptId, SegmentKind};
use crate::state::WorkflowState;

/// Proposes another attempt of a segment that waits for one, if there are cores for it.
pub(super) fn decide(core: &mut JobCore) {
    if core.proposed.contains(&Pending::Batch) {
        return;
    }
    for at in 0..core.plan.workflows.len() {
        let waiting: Vec<AttemptId> = waiting(core, at).collect();
        if let Some(batch) = waiting.into_iter().find_map(|lost| place(core, at, lost)) {
            return core.propose_once(Pending::Batch, Entry::Assign(batch));
        }
    }
}

/// Whether a segment of the workflow waits for another attempt.
pub(super) fn waits(core: &JobCore, at: usize) -> bool {
    waiting(core, at).next().is_some()
}

/// Whether a segment was lost that may not be tried again.
pub(super) fn gave_up(core: &JobCore, at: usize) -> bool {
    let record = &core.record.workflows()[at];
    record
        .last_attempts(SegmentKind::Load)
        .any(|(id, attempt)| attempt.is_lost() && !may_retry(core, record, *id))
}

/// The last attempts of segments that wait for another one.
fn waiting(core: &JobCore, at: usize) -> impl Iterator<Item = AttemptId> + '_ {
    let record = &core.record.workflows()[at];
    let runs = matches!(record.state(), WorkflowState::Assigned | WorkflowState::Running)
        && record.stop_of().is_none()
        && record.fatal().is_none()
        && !is_over(core, at);
    let lost = record.last_attempts(SegmentKind::Load).filter(|(_, attempt)| attempt.is_lost());
    lost.map(|(id, _)| *id).filter(move |id| runs && may_retry(core, record, *id))
}

fn may_retry(core: &JobCore, record: &WorkflowRecord, last: AttemptId) -> bool {
    let policy = core.facts.losses;
    let lost_of = |record: &WorkflowRecord| {
        record.attempts_of(SegmentKind::Load).filter(|(_, attempt)| attempt.is_lost()).count() as u32
    };
    let of_segment = record.attempts_of(SegmentKind::Load);
    let of_segment =
        of_segment.filter(|(id, attempt)| id.segment == last.segment && attempt.is_lost()).count();
    let of_job: u32 = core.record.workflows().iter().map(lost_of).sum();
    policy.resumes && of_segment as u32 <= policy.max_retries && of_job <= policy.retry_budget
}

/// How far the load of a workflow is; zero before it began.
fn load_time(core: &JobCore, at: usize) -> Duration {
    core.record.workflows()[at].load_clock().map_or(Duration::ZERO, |clock| clock.load_time(core.now))
}

/// Whether there is no load left that another attempt could run.
fn is_over(core: &JobCore, at: usize) -> bool {
    core.workflow(at).planned().is_some_and(|planned| load_time(core, at) >= planned.to_duration())
}

/// Another attempt on a worker that has the cores and has not lost this segment before.
fn place(core: &JobCore, at: usize, lost: AttemptId) -> Option<Batch> {
    let record = &core.record.workflows()[at];
    let known = record.attempt(lost)?;
    let share = known.assignment.share;
    let excluded: BTreeSet<&str> = record
        .attempts()
        .filter(|(id, attempt)| id.segment == lost.segment && attempt.is_lost())
        .map(|(_, attempt)| &*attempt.assignment.worker)
        .collect();
    let fits = |worker: &&PoolWorker| worker.free >= share.cores && !excluded.contains(&*worker.id);
    let worker = core.pool.workers.iter().find(fits)?;
    let group = Group {
        id: core.record.next_group(),
        members: vec![GroupMember { workflow: at, first: 0, cores: share.cores }],
        parts: vec![GroupPart { worker: Arc::clone(&worker.id), first: 0, cores: share.cores }],
        release: core.record.group(known.assignment.group)?.release,
    };
    let assignment = Assignment {
        attempt: AttemptId { number: lost.number + 1, ..lost },
        worker: Arc::clone(&worker.id),
        group: group.id,
        offset: 0,
        share,
        joins_at: load_time(core, at),
        iterations_done: iterations_done(core, at, lost, known),
    };
    Some(Batch { groups: vec![group], assignments: vec![assignment] })
}

/// Iterations that the segment is known to have started.
fn iterations_done(core: &JobCore, at: usize, lost: AttemptId, known: &AttemptRecord) -> u64 {
    let live = core.live[at].attempts.get(&lost);
    let windows = live.and_then(|live| live.windows.as_ref());
    known.assignment.iterations_done + windows.map_or(0, |totals| totals.iterations.started)
}
