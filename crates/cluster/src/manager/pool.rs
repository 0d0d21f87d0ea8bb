//! Which workers may be given something, and in which order.
//!
//! Never one that is dead, drains, has no owner that lives, or whose circuit is open; healthy ones before degraded ones. Among equals
//! two are drawn and the better one is preferred: the one with more free cores, then the shorter queue. So no two leaders
//! that see the same cores all choose the same worker.

use std::sync::Arc;

use fastrand::Rng;
use hyperscale_job::{Pool, PoolWorker};
use hyperscale_swim::WorkerState;

use super::{JobMachine, Manager};

/// The pool as it is known to the jobs led here.
#[derive(Debug)]
pub(super) struct CachedPool {
    pub(super) version: u64,
    /// Nothing: it has changed since.
    pub(super) pool: Option<Pool>,
    has_news: bool,
}

impl Default for CachedPool {
    fn default() -> Self {
        Self { version: 1, pool: None, has_news: false }
    }
}

impl CachedPool {
    pub(super) fn change(&mut self) {
        (self.version, self.pool, self.has_news) = (self.version + 1, None, true);
    }

    /// Whether it has changed since it was last asked.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }
}

/// A worker that may be given something.
#[derive(Clone, Debug)]
struct Candidate {
    worker: PoolWorker,
    queue_depth: u32,
}

impl<M: JobMachine> Manager<M> {
    /// The workers that may be given something, the preferred ones first.
    pub(super) fn pool(&mut self) -> Pool {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else {
            return Pool::default();
        };
        let mut candidates = Vec::new();
        for (id, worker) in register.workers() {
            let load = self.standings.of(*id, worker.grant);
            let state = load.map_or(WorkerState::Healthy, |load| load.state);
            let drains = self.options.drains(worker.is_draining, state);
            let is_owned = worker.owner.is_some_and(|(owner, _)| !self.dead.contains(&owner));
            let is_away = self.dead.contains(id) || !is_owned || self.circuits.is_open(*id);
            if is_away || drains {
                continue;
            }
            candidates.push(Candidate {
                worker: PoolWorker {
                    is_degraded: state == WorkerState::Degraded,
                    capabilities: Arc::new(worker.capabilities.clone()),
                    ..PoolWorker::new(id.to_string(), worker.cores, worker.free())
                },
                queue_depth: load.map_or(0, |load| load.queue_depth),
            });
        }
        let (healthy, degraded): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|it| !it.worker.is_degraded);
        let tiers = [healthy, degraded].into_iter().flat_map(|tier| by_two_choices(&mut self.draws, tier));
        Pool { workers: tiers.collect() }
    }
}

/// Orders workers: of two that are drawn the better one comes next.
fn by_two_choices(rng: &mut Rng, mut candidates: Vec<Candidate>) -> Vec<PoolWorker> {
    let mut ordered = Vec::with_capacity(candidates.len());
    while candidates.len() > 1 {
        let one = rng.usize(..candidates.len());
        let other = (one + rng.usize(1..candidates.len())) % candidates.len();
        let merit = |at: usize| (candidates[at].worker.free, std::cmp::Reverse(candidates[at].queue_depth));
        let better = if merit(one) >= merit(other) { one } else { other };
        ordered.push(candidates.swap_remove(better).worker);
    }
    ordered.extend(candidates.into_iter().map(|it| it.worker));
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(workers: &[(u32, u32)]) -> Vec<Candidate> {
        let candidate = |(at, (free, queue_depth)): (usize, &(u32, u32))| Candidate {
            worker: PoolWorker::new(at.to_string(), 8, *free),
            queue_depth: *queue_depth,
        };
        workers.iter().enumerate().map(candidate).collect()
    }

    /// How often each worker comes first.
    fn first(workers: &[(u32, u32)]) -> Vec<u32> {
        let mut rng = Rng::with_seed(7);
        let mut counts = vec![0; workers.len()];
        for _ in 0..1_000 {
            let ordered = by_two_choices(&mut rng, candidates(workers));
            assert_eq!(ordered.len(), workers.len());
            counts[ordered[0].id.parse::<usize>().unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn better_of_two_that_are_drawn_is_preferred() {
        assert_eq!(first(&[(4, 0), (8, 0)]), [0, 1_000], "free cores");
        assert_eq!(first(&[(4, 9), (4, 1)]), [0, 1_000], "then the queue");
        let counts = first(&[(8, 0), (6, 0), (4, 0), (2, 0)]);
        assert!(counts.is_sorted_by(|one, next| one > next) && counts[3] == 0, "{counts:?}");
        let equal = first(&[(4, 0); 4]);
        assert!(equal.iter().all(|count| (180..320).contains(count)), "{equal:?}");
    }
}
