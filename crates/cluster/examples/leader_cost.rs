//! Prints the microseconds of a core that the leader of a job takes per worker and second, for `cargo xtask bench --cluster`.
//!
//! `leader_cost WORKERS`: one job runs on that many workers of the model, which report a window of real statistics every
//! 100 ms. Only the core of the manager is timed, not what moves its messages.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot go on fails loudly")]

#[expect(dead_code, reason = "the model serves the tests of this crate too")]
#[path = "../tests/it/model/mod.rs"]
mod model;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use model::{Cluster, manager};

/// How long the job runs before and while it is measured.
const BEFORE: Duration = Duration::from_secs(5);
const MEASURED: Duration = Duration::from_secs(10);

fn main() {
    let workers: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut cluster = Cluster::ready(&vec![1; workers]);
    let plan = format!(
        "workflows:\n  Load: {{ vus: {workers}, duration: 60s, steps: {{ home: {{ http: 'http://x/' }} }} }}\n"
    );
    let request = cluster.submit(manager(1), "measured", &plan);
    cluster.response(request);
    cluster.wait("the job runs everywhere", Duration::from_mins(1), |it| it.running().len() == workers);
    cluster.run(BEFORE);
    cluster.clock = since_start;
    cluster.run(MEASURED);
    let spent = cluster.spent.values().max().unwrap();
    println!("{:.2}", spent.as_secs_f64() * 1e6 / MEASURED.as_secs_f64() / workers as f64);
}

#[expect(clippy::disallowed_methods, reason = "real time is what is measured here")]
fn since_start() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
