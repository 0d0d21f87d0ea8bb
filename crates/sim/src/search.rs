//! Running many seeds, some at the same time. Each seed is one thread from beginning to end.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyperscale_sim::paths::PathTable;
use hyperscale_sim::{Options, report, run};

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// Failed seeds after which searching ends.
const FAILURES_MAX: usize = 5;

/// Which seeds to run.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) from: u64,
    pub(crate) seeds: u64,
    pub(crate) jobs: usize,
    pub(crate) limit: Option<Duration>,
}

/// What came out.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) seeds: u64,
    pub(crate) events: u64,
    pub(crate) simulated: Duration,
    pub(crate) took: Duration,
    /// Longest time that views took to converge.
    pub(crate) slowest: Duration,
    slowest_seed: u64,
    pub(crate) failed: Vec<u64>,
    /// Rare paths that the seeds took.
    pub(crate) paths: PathTable,
}

impl Search {
    /// Runs them, telling how it goes.
    pub(crate) fn run(&self, options: Options) -> Found {
        let begin = Instant::now();
        let (next, stop) = (AtomicU64::new(self.from), AtomicBool::new(false));
        let found = Mutex::new((Found::default(), begin));
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let late = self.limit.is_some_and(|limit| begin.elapsed() >= limit);
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if late || stop.load(Ordering::Relaxed) || seed >= self.from + self.seeds {
                            return;
                        }
                        let enough = self.note(options, seed, &found);
                        stop.fetch_or(enough, Ordering::Relaxed);
                    }
                });
            }
        });
        let (mut found, _) = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.failed.sort_unstable();
        found.took = begin.elapsed();
        found
    }

    /// Runs one seed and takes down what came out; whether that is enough.
    fn note(&self, options: Options, seed: u64, found: &Mutex<(Found, Instant)>) -> bool {
        let outcome = run(seed, options);
        let mut guard = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (found, told) = &mut *guard;
        found.seeds += 1;
        found.events += outcome.events;
        found.simulated += outcome.simulated;
        found.paths.add(&outcome.paths);
        if let Some(took) = outcome.converged.filter(|took| *took > found.slowest) {
            (found.slowest, found.slowest_seed) = (took, seed);
        }
        if outcome.violation.is_some() {
            eprintln!("{}", report::line(&outcome));
            found.failed.push(seed);
        }
        if told.elapsed() >= PROGRESS_EVERY {
            *told = Instant::now();
            eprintln!("  {} of {} seeds, {} failed", found.seeds, self.seeds, found.failed.len());
        }
        found.failed.len() >= FAILURES_MAX
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        write!(
            f,
            "{} seeds in {seconds:.1} s: {:.1} h simulated, {:.1} million events, {} failed; slowest to converge {:.1} s (seed {})",
            self.seeds,
            self.simulated.as_secs_f64() / 3600.0,
            self.events as f64 / 1e6,
            self.failed.len(),
            self.slowest.as_secs_f64(),
            self.slowest_seed,
        )
    }
}

/// Does something with each item, some at the same time; results in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(jobs: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = work(item);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
