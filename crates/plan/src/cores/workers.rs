//! The cores of a group over workers, and the segments that follow from it.
//!
//! Cores are split first, over the fewest workers that have them; VUs, rates and counts follow the cores
//! ([`SegmentShare`]). Everything adds up exactly.

use std::cmp::Reverse;

use super::Member;
use crate::load::SegmentShare;

/// How the cores of a group are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// On the fewest workers that have the cores.
    #[default]
    Fewest,
    /// As evenly as possible on all workers that have any (`spread: true`).
    Spread,
}

/// The cores `first .. first + cores` of a group, all on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerCores {
    /// Position of the worker among the candidates.
    pub worker: usize,
    /// Position of its first core in the group.
    pub first: u32,
    /// How many.
    pub cores: u32,
}

/// A workflow's part on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Position of the worker among the candidates.
    pub worker: usize,
    /// Position of its first core among those that the worker has given to the group.
    pub offset: u32,
    /// Which cores of the workflow these are, and what of its load belongs to them.
    pub share: SegmentShare,
}

/// Splits the cores of a group over workers. `free` are the free cores of the candidates, the preferred ones first.
/// `None` if there are not enough.
pub fn split_over_workers(cores: u32, free: &[u32], placement: Placement) -> Option<Vec<WorkerCores>> {
    let all: u64 = free.iter().map(|free| u64::from(*free)).sum();
    if all < u64::from(cores) {
        return None;
    }
    let parts = match placement {
        Placement::Fewest => fewest(cores, free),
        Placement::Spread => evenly(cores, free),
    };
    let mut first = 0;
    let numbered = parts.into_iter().map(|(worker, cores)| {
        let part = WorkerCores { worker, first, cores };
        first += cores;
        part
    });
    Some(numbered.collect())
}

/// Free cores of candidates, the preferred ones first: healthy workers, and degraded ones, which get what those have no cores for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tiers {
    /// By position of the worker; zero for one of the other tier.
    healthy: Vec<u32>,
    degraded: Vec<u32>,
}

impl Tiers {
    /// Adds a candidate.
    pub fn push(&mut self, free: u32, is_degraded: bool) {
        self.healthy.push(if is_degraded { 0 } else { free });
        self.degraded.push(if is_degraded { free } else { 0 });
    }
}

/// Splits the cores of a group over workers of two tiers: nothing is on a degraded one that a healthy one has a core for.
pub fn split_over_tiers(cores: u32, tiers: &Tiers, placement: Placement) -> Option<Vec<WorkerCores>> {
    let healthy: u64 = tiers.healthy.iter().map(|free| u64::from(*free)).sum();
    let first = u64::from(cores).min(healthy) as u32;
    let mut parts = split_over_workers(first, &tiers.healthy, placement)?;
    let rest = split_over_workers(cores - first, &tiers.degraded, placement)?;
    parts.extend(rest.into_iter().map(|part| WorkerCores { first: part.first + first, ..part }));
    Some(parts)
}

/// The largest workers are taken whole until one has room for the rest; for that the most preferred one is taken.
fn fewest(mut cores: u32, free: &[u32]) -> Vec<(usize, u32)> {
    let mut largest: Vec<usize> = (0..free.len()).collect();
    largest.sort_by_key(|worker| Reverse(free[*worker]));
    let mut parts: Vec<(usize, u32)> = Vec::new();
    for worker in largest {
        if cores == 0 {
            break;
        }
        if free[worker] < cores {
            parts.push((worker, free[worker]));
            cores -= free[worker];
            continue;
        }
        let taken = |worker: usize| parts.iter().any(|(other, _)| *other == worker);
        let last = (0..free.len()).find(|worker| free[*worker] >= cores && !taken(*worker)).unwrap_or(worker);
        parts.push((last, cores));
        cores = 0;
    }
    parts
}

/// One core each in turn, as long as a worker has any left.
fn evenly(mut cores: u32, free: &[u32]) -> Vec<(usize, u32)> {
    let mut parts = vec![0u32; free.len()];
    while cores > 0 {
        for (part, free) in parts.iter_mut().zip(free) {
            if cores > 0 && *part < *free {
                *part += 1;
                cores -= 1;
            }
        }
    }
    parts.into_iter().enumerate().filter(|(_, cores)| *cores > 0).collect()
}

/// The segments of a member of a group that was split over workers; `vus` are those of the whole workflow.
pub fn segments(member: &Member, parts: &[WorkerCores], vus: u32) -> Vec<Segment> {
    let end = member.first + member.cores;
    let segment = |part: &WorkerCores| {
        let from = member.first.max(part.first);
        let cores = end.min(part.first + part.cores).checked_sub(from).filter(|cores| *cores > 0)?;
        let first_core = from - member.first;
        Some(Segment {
            worker: part.worker,
            offset: from - part.first,
            share: SegmentShare { first_core, cores, cores_total: member.cores, vus },
        })
    };
    parts.iter().filter_map(segment).collect()
}
