//! The next batch: who starts now, alone or in a shared core group, and who waits.
//!
//! The batch is chosen as if all `total` cores were free, and it starts as a whole once its least cores are free. It
//! always contains the claim of highest rank, so that a batch that waits is not overtaken. Equal inputs give equal
//! batches: nothing depends on the order of `ready`.

use std::cmp::Reverse;

use hyperscale_types::Priority;

use super::{Bounds, Claim};

/// The cores that workflows can be placed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// All cores, busy or not.
    pub total: u32,
    /// Cores that are promised to no group.
    pub free: u32,
}

/// A core group of the same job that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Priority of its members (they have the same one).
    pub priority: Priority,
    /// Cores that are still promised to it.
    pub cores: u32,
}

/// What becomes of the ready workflows of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Groups that start now, highest rank first.
    pub groups: Vec<CoreGroup>,
    /// Workflows that stay `ready` with reason `waiting_for_cores`, highest rank first.
    pub waiting: Vec<Waiting>,
}

/// Cores that are promised together to one workflow, or to several that share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreGroup {
    /// Cores that nobody else may use meanwhile.
    pub cores: u32,
    /// When they become free.
    pub release: Release,
    /// Who runs on them, highest rank first; at least one.
    pub members: Vec<Member>,
}

/// A workflow's part of a core group: the cores `first .. first + cores` of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Position of its claim in `ready`.
    pub index: usize,
    /// Position of its first core in the group.
    pub first: u32,
    /// How many cores it runs on: its own threads, also where it shares the CPUs below them.
    pub cores: u32,
}

/// When the cores of a group become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Each one as soon as its VUs have finished.
    EachCore,
    /// All together, with the last segment of the group: it is shared, or exclusive.
    LastSegment,
}

/// The reason of a workflow that is `ready` and waits for cores, in every output.
pub const WAITING_FOR_CORES: &str = "waiting_for_cores";

/// A workflow that has to wait for cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Position of its claim in `ready`.
    pub index: usize,
    /// The least cores it can start with.
    pub least: u32,
}

impl CoreGroup {
    /// Whether several workflows share the cores.
    pub fn is_shared(&self) -> bool {
        self.members.len() > 1
    }

    fn alone(index: usize, cores: u32) -> Self {
        let members = vec![Member { index, first: 0, cores }];
        CoreGroup { cores, release: Release::EachCore, members }
    }
}

/// Plans the next batch of one job.
///
/// `running` are the groups of the same job that hold cores; cores of other jobs are simply not free. To be called when
/// readiness has settled, so that workflows that become ready together are planned together.
pub fn plan_batch(pool: Pool, running: &[Claimed], ready: &[Claim]) -> Batch {
    let order = by_rank(ready);
    let chosen = choose(pool.total, running, ready, &order);
    let groups = chosen.place(pool, ready).unwrap_or_default();
    let starts = |index: usize| groups.iter().flat_map(|group| &group.members).any(|m| m.index == index);
    let wait = |index: usize| Waiting { index, least: ready[index].bounds(pool.total).least };
    let waiting = order.into_iter().filter(|index| !starts(*index)).map(wait).collect();
    Batch { groups, waiting }
}

/// Positions by rank: priority, then test before non-test, then name.
fn by_rank(ready: &[Claim]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ready.len()).collect();
    order.sort_by_key(|index| {
        let claim = &ready[*index];
        (Reverse(claim.priority), Reverse(claim.test), &claim.name)
    });
    order
}

/// The claims of a batch, by rank.
enum Chosen {
    /// One that runs alone.
    Exclusive(usize),
    /// Each on cores of its own.
    Apart(Vec<usize>),
    /// The explicit priorities apart, and all `auto` ones in one group of so many cores.
    Shared { apart: Vec<usize>, sharing: Vec<usize>, cores: u32 },
}

fn choose(total: u32, running: &[Claimed], ready: &[Claim], order: &[usize]) -> Chosen {
    if let Some(first) = order.first().filter(|index| ready[**index].priority == Priority::Exclusive) {
        return Chosen::Exclusive(*first);
    }
    let (sharing, explicit): (Vec<usize>, Vec<usize>) =
        order.iter().partition(|index| ready[**index].priority == Priority::Auto);
    let mut apart = Vec::new();
    let mut left = total;
    for index in explicit {
        let claim = &ready[index];
        // One core is enough for all `auto` workflows together, and they have a higher rank than `low` ones.
        let kept = u32::from(claim.priority < Priority::Auto && !sharing.is_empty());
        match left.checked_sub(claim.bounds(total).least) {
            Some(rest) if rest >= kept => {
                left = rest;
                apart.push(index);
            }
            _ if claim.blocks() => return Chosen::Apart(apart),
            _ => {}
        }
    }
    // Running workflows never shrink: what those with an explicit priority hold is their reservation.
    let held = running.iter().filter(|group| group.priority != Priority::Auto).map(|group| group.cores);
    let cores = left.saturating_sub(held.sum());
    if sharing.len() <= cores as usize {
        apart.extend(sharing);
        apart.sort_by_key(|index| order.iter().position(|other| other == index));
        Chosen::Apart(apart)
    } else if cores == 0 {
        Chosen::Apart(apart)
    } else {
        Chosen::Shared { apart, sharing, cores }
    }
}

impl Chosen {
    /// The groups of the batch; `None` while its least cores are not free.
    fn place(self, pool: Pool, ready: &[Claim]) -> Option<Vec<CoreGroup>> {
        match self {
            Chosen::Exclusive(index) => {
                let cores = ready[index].bounds(pool.total).most;
                let reserved = CoreGroup {
                    cores: pool.total,
                    release: Release::LastSegment,
                    ..CoreGroup::alone(index, cores)
                };
                (pool.total > 0 && pool.free >= pool.total).then(|| vec![reserved])
            }
            Chosen::Apart(apart) => place_apart(pool.total, pool.free, ready, &apart),
            Chosen::Shared { apart, sharing, cores } => {
                let mut groups = place_apart(pool.total, pool.free.checked_sub(cores)?, ready, &apart)?;
                groups.push(share(pool.total, ready, sharing, cores));
                groups.sort_by_key(|group| Reverse(ready[group.members[0].index].priority));
                Some(groups)
            }
        }
    }
}

fn place_apart(total: u32, free: u32, ready: &[Claim], apart: &[usize]) -> Option<Vec<CoreGroup>> {
    let bounds: Vec<Bounds> = apart.iter().map(|index| ready[*index].bounds(total)).collect();
    let least: u32 = bounds.iter().map(|bounds| bounds.least).sum();
    let left = free.checked_sub(least)?;
    let priorities: Vec<Priority> = apart.iter().map(|index| ready[*index].priority).collect();
    let cores = spread_left_over(&priorities, &bounds, left);
    Some(apart.iter().zip(cores).map(|(index, cores)| CoreGroup::alone(*index, cores)).collect())
}

/// Gives left-over cores to higher priorities first, one each in turn among equals, up to their most.
fn spread_left_over(priorities: &[Priority], bounds: &[Bounds], mut left: u32) -> Vec<u32> {
    let mut cores: Vec<u32> = bounds.iter().map(|bounds| bounds.least).collect();
    let mut begin = 0;
    for equals in priorities.chunk_by(|a, b| a == b) {
        let end = begin + equals.len();
        loop {
            let before = left;
            for (cores, bounds) in cores[begin..end].iter_mut().zip(&bounds[begin..end]) {
                if left > 0 && *cores < bounds.most {
                    *cores += 1;
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
        begin = end;
    }
    cores
}

/// One group for several workflows. Each runs on all of its cores as far as its own bounds allow; those that need fewer
/// are placed where the fewest others are, widest first.
fn share(total: u32, ready: &[Claim], sharing: Vec<usize>, cores: u32) -> CoreGroup {
    let width = |index: usize| ready[index].bounds(total).most.min(cores);
    let mut members: Vec<Member> =
        sharing.into_iter().map(|index| Member { index, first: 0, cores: width(index) }).collect();
    let mut widest: Vec<usize> = (0..members.len()).collect();
    widest.sort_by_key(|at| Reverse(members[*at].cores));
    let mut load = vec![0u32; cores as usize];
    for at in widest {
        let width = members[at].cores as usize;
        let first = least_loaded(&load, width);
        load[first..first + width].iter_mut().for_each(|load| *load += 1);
        members[at].first = first as u32;
    }
    CoreGroup { cores, release: Release::LastSegment, members }
}

/// Where `width` neighbouring cores have the least load in sum.
fn least_loaded(load: &[u32], width: usize) -> usize {
    let sums = load.windows(width).map(|window| window.iter().sum::<u32>());
    sums.enumerate().min_by_key(|(at, sum)| (*sum, *at)).map_or(0, |(at, _)| at)
}
