//! Cores: which ready workflows start now, on which workers, and which wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::cores::{self, Claim, Claimed, Placement, Release, Tiers, segments, split_over_tiers};
use hyperscale_plan::load::SegmentShare;

use super::retry::excluded;
use super::tell_waiting;
use crate::entry::{Assignment, Batch, Entry, Group, GroupMember, GroupPart};
use crate::io::PoolWorker;
use crate::machine::{JobCore, Pending};
use crate::segment::{AttemptId, SegmentId, SegmentKind};
use crate::state::WorkflowState;

/// Proposes the next batch, if its cores are free.
pub(super) fn decide(core: &mut JobCore) {
    let records = core.record.workflows();
    let is_ready = |at: &usize| {
        records[*at].state() == WorkflowState::Ready
            && records[*at].stop_of().is_none()
            && !core.live[*at].proposed
    };
    let ready: Vec<usize> = (0..records.len()).filter(is_ready).collect();
    // A decision about readiness that is under way may bring more workflows into the batch.
    if ready.is_empty() || core.proposed.contains(&Pending::Batch) || core.proposed.contains(&Pending::Ready)
    {
        return;
    }
    for alike in by_requirement(core, &ready) {
        let claims: Vec<Claim> = alike.iter().map(|at| Claim::of(core.workflow(*at))).collect();
        let planned = cores::plan_batch(usable(core, alike[0]), &running(core), &claims);
        let batch = place(core, &planned.groups, &alike);
        for waiting in &planned.waiting {
            tell_waiting(core, alike[waiting.index], waiting.least);
        }
        if let Some(batch) = batch {
            // What requires something else follows when this is decided.
            return core.propose_once(Pending::Batch, Entry::Assign(batch));
        }
    }
}

/// Workflows that require the same of their workers share a pool, and are planned together.
fn by_requirement(core: &JobCore, ready: &[usize]) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for at in ready {
        let requires = |at: usize| &core.workflow(at).requires;
        match sets.iter_mut().find(|set| requires(set[0]) == requires(*at)) {
            Some(set) => set.push(*at),
            None => sets.push(vec![*at]),
        }
    }
    sets
}

/// The cores of workers that can run a workflow.
fn usable(core: &JobCore, at: usize) -> cores::Pool {
    let workers = core.pool.workers.iter().filter(|worker| worker.can_run(core.workflow(at)));
    workers.fold(cores::Pool { total: 0, free: 0 }, |pool, worker| cores::Pool {
        total: pool.total + worker.total,
        free: pool.free + worker.free,
    })
}

/// Groups of this job that hold cores.
fn running(core: &JobCore) -> Vec<Claimed> {
    let mut held: Vec<Claimed> = Vec::new();
    for group in core.record.groups() {
        let records = core.record.workflows();
        if group.members.iter().all(|member| records[member.workflow].ended().is_some()) {
            continue;
        }
        let completed = |member: &GroupMember| {
            let attempts = core.live[member.workflow].attempts.values();
            attempts.map(|live| live.cores_completed).sum::<u32>()
        };
        // One core is kept until the end, for the tear-down.
        let released = match group.release {
            Release::EachCore => {
                group.members.iter().map(completed).sum::<u32>().min(group.cores().saturating_sub(1))
            }
            Release::LastSegment => 0,
        };
        let priority = core.workflow(group.members[0].workflow).priority;
        held.push(Claimed { priority, cores: group.cores() - released });
    }
    held
}

/// Places groups on workers: all of them or none.
fn place(core: &JobCore, groups: &[cores::CoreGroup], ready: &[usize]) -> Option<Batch> {
    let mut free: Vec<u32> = core.pool.workers.iter().map(|worker| worker.free).collect();
    let mut batch = Batch::default();
    for (id, group) in (core.record.next_group()..).zip(groups) {
        let members: Vec<usize> = group.members.iter().map(|member| ready[member.index]).collect();
        let workers = core.pool.workers.iter().zip(&free);
        let parts = split(core, group.cores, &members, workers.map(|(worker, free)| (worker, *free)))?;
        for part in &parts {
            free[part.worker] -= part.cores;
        }
        let worker = |at: usize| Arc::clone(&core.pool.workers[at].id);
        let named = |part: &cores::WorkerCores| GroupPart {
            worker: worker(part.worker),
            first: part.first,
            cores: part.cores,
        };
        let member = |member: &cores::Member| GroupMember {
            workflow: ready[member.index],
            first: member.first,
            cores: member.cores,
        };
        let group = Group {
            id,
            members: group.members.iter().map(member).collect(),
            parts: parts.iter().map(named).collect(),
            release: group.release,
        };
        for member in &group.members {
            batch.assignments.extend(first_assignments(core, &group, member));
        }
        batch.groups.push(group);
    }
    (!batch.groups.is_empty()).then_some(batch)
}

/// Places cores for these workflows on workers that can run all of them. Positions are those among `workers`.
fn split<'a>(
    core: &JobCore,
    cores: u32,
    workflows: &[usize],
    workers: impl Iterator<Item = (&'a PoolWorker, u32)>,
) -> Option<Vec<cores::WorkerCores>> {
    let mut tiers = Tiers::default();
    for (worker, free) in workers {
        let can_run = workflows.iter().all(|at| worker.can_run(core.workflow(*at)));
        tiers.push(if can_run { free } else { 0 }, worker.is_degraded);
    }
    let placement = if core.facts.spreads { Placement::Spread } else { Placement::Fewest };
    split_over_tiers(cores, &tiers, placement)
}

/// What a workflow begins with: its set-up, if it has one, else its load.
fn first_assignments(core: &JobCore, group: &Group, member: &GroupMember) -> Vec<Assignment> {
    if core.workflow(member.workflow).setup.is_empty() {
        load(core, group, member)
    } else {
        vec![once(core, group, member, SegmentKind::Setup)]
    }
}

/// Assigns the load of a workflow that has its cores; on others if a worker of its group is gone.
pub(super) fn assign_load(core: &mut JobCore, at: usize) {
    let group = core.record.workflows()[at].group().and_then(|group| core.record.group(group));
    let is_gone = |part: &GroupPart| !core.pool.workers.iter().any(|worker| worker.id == part.worker);
    if !group.is_some_and(|group| group.parts.iter().any(is_gone)) {
        return assign_in_group(core, at, load);
    }
    if core.proposed.contains(&Pending::Batch) {
        return;
    }
    if let Some(batch) = place_anew(core, at, &BTreeSet::new(), Begins::WithLoad) {
        core.propose_once(Pending::Batch, Entry::Assign(batch));
    }
}

/// What the first segments of a core group are for.
#[derive(Clone, Copy)]
pub(super) enum Begins {
    WithSetup,
    WithLoad,
}

/// Other cores for a workflow that has run nothing but its set-up; on fewer if there are not as many any more.
pub(super) fn place_anew(
    core: &JobCore,
    at: usize,
    excluded: &BTreeSet<&str>,
    begins: Begins,
) -> Option<Batch> {
    let record = &core.record.workflows()[at];
    let before = core.record.group(record.group()?)?;
    let may_run = |worker: &&PoolWorker| !excluded.contains(&*worker.id) && worker.can_run(core.workflow(at));
    let usable: Vec<&PoolWorker> = core.pool.workers.iter().filter(may_run).collect();
    let cores = record.cores().min(usable.iter().map(|worker| worker.total).sum());
    let workers = usable.iter().map(|worker| (*worker, worker.free));
    let parts = split(core, cores, &[at], workers).filter(|_| cores > 0)?;
    let named = |part: &cores::WorkerCores| GroupPart {
        worker: Arc::clone(&usable[part.worker].id),
        first: part.first,
        cores: part.cores,
    };
    let member = GroupMember { workflow: at, first: 0, cores };
    let group = Group {
        id: core.record.next_group(),
        members: vec![member],
        parts: parts.iter().map(named).collect(),
        release: before.release,
    };
    let assignments = match begins {
        Begins::WithSetup => vec![once(core, &group, &member, SegmentKind::Setup)],
        Begins::WithLoad => load(core, &group, &member),
    };
    Some(Batch { groups: vec![group], assignments })
}

/// Assigns the tear-down of a workflow that has its cores: on a worker of its group, or on any other if all of those are gone.
/// False if there is no worker at all.
pub(super) fn assign_teardown(core: &mut JobCore, at: usize) -> bool {
    let group = core.record.workflows()[at].group().and_then(|group| core.record.group(group));
    let Some(group) = group else { return false };
    let Some(member) = group.members.iter().find(|member| member.workflow == at) else { return false };
    let teardown = once(core, group, member, SegmentKind::Teardown);
    let excluded = excluded(core, at, teardown.attempt);
    let may_run = |worker: &&PoolWorker| !excluded.contains(&*worker.id) && worker.can_run(core.workflow(at));
    let usable = || core.pool.workers.iter().filter(may_run);
    let is_there = |part: &&GroupPart| usable().any(|worker| worker.id == part.worker);
    let batch = if let Some(part) = group.parts.iter().find(is_there) {
        let worker = Arc::clone(&part.worker);
        Batch { groups: Vec::new(), assignments: vec![Assignment { worker, ..teardown }] }
    } else {
        let Some(other) = usable().find(|worker| worker.free > 0) else { return false };
        let (id, worker) = (core.record.next_group(), &other.id);
        let parts = vec![GroupPart { worker: Arc::clone(worker), first: 0, cores: 1 }];
        let members = vec![GroupMember { workflow: at, first: 0, cores: 1 }];
        let groups = vec![Group { id, members, parts, release: group.release }];
        let worker = Arc::clone(worker);
        Batch { groups, assignments: vec![Assignment { worker, group: id, ..teardown }] }
    };
    core.propose_for(at, Entry::Assign(batch));
    true
}

fn assign_in_group(
    core: &mut JobCore,
    at: usize,
    assignments: impl Fn(&JobCore, &Group, &GroupMember) -> Vec<Assignment>,
) {
    let group = core.record.workflows()[at].group().and_then(|group| core.record.group(group));
    let Some(group) = group else { return };
    let Some(member) = group.members.iter().find(|member| member.workflow == at) else { return };
    let batch = Batch { groups: Vec::new(), assignments: assignments(core, group, member) };
    core.propose_for(at, Entry::Assign(batch));
}

/// One segment on each worker that has cores of the workflow.
fn load(core: &JobCore, group: &Group, member: &GroupMember) -> Vec<Assignment> {
    let parts: Vec<cores::WorkerCores> = (0..)
        .zip(&group.parts)
        .map(|(worker, part)| cores::WorkerCores { worker, first: part.first, cores: part.cores })
        .collect();
    let placed = cores::Member { index: 0, first: member.first, cores: member.cores };
    let vus = core.workflow(member.workflow).vus_max();
    (0..)
        .zip(segments(&placed, &parts, vus))
        .map(|(index, segment)| {
            let id = SegmentId { workflow: member.workflow, kind: SegmentKind::Load, index };
            Assignment {
                attempt: next_attempt(core, id),
                worker: Arc::clone(&group.parts[segment.worker].worker),
                group: group.id,
                offset: segment.offset,
                share: segment.share,
                joins_at: Duration::ZERO,
                iterations_done: 0,
            }
        })
        .collect()
}

/// What runs once runs on one core of the group's first worker.
fn once(core: &JobCore, group: &Group, member: &GroupMember, kind: SegmentKind) -> Assignment {
    let vus = core.workflow(member.workflow).vus_max();
    Assignment {
        attempt: next_attempt(core, SegmentId { workflow: member.workflow, kind, index: 0 }),
        worker: Arc::clone(&group.parts[0].worker),
        group: group.id,
        offset: 0,
        share: SegmentShare { first_core: 0, cores: 1, cores_total: 1, vus },
        joins_at: Duration::ZERO,
        iterations_done: 0,
    }
}

fn next_attempt(core: &JobCore, segment: SegmentId) -> AttemptId {
    let attempts = core.record.workflows()[segment.workflow].attempts();
    let last = attempts.filter(|(id, _)| id.segment == segment).map(|(id, _)| id.number).max();
    AttemptId { segment, number: last.unwrap_or(0) + 1 }
}
