//! What a job consists of. All of it is in the first bytes of an id that its client draws, so that a client needs to remember
//! nothing else and every gate knows it without a blob.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use hyperscale_cluster::bundle::Bundle;
use hyperscale_consensus::register::{JobId, JobOptions, OnWorkerLoss};

/// Cores of a worker: few, so that jobs compete for them.
pub const CORES: u32 = 2;
const PRIORITIES: [&str; 6] = ["auto", "auto", "low", "normal", "normal", "high"];

/// A new job. Gates have no workers: their jobs have no workflows. One that must complete has nothing that may end it otherwise.
pub fn draw(rng: &mut Rng, has_workers: bool, must_complete: bool) -> JobId {
    let mut id = [0; 16];
    rng.fill(&mut id);
    id[0] = if has_workers { rng.u8(1..=3) } else { 0 };
    id[1] = rng.u8(1..=4);
    id[2] = rng.u8(2..=20);
    id[7] = if must_complete { 1 } else { rng.u8(..) };
    id[3] = if must_complete { 1 } else { rng.u8(..) };
    JobId(id)
}

/// Workflows of a job.
pub fn workflows(job: JobId) -> u32 {
    u32::from(job.0[0])
}

/// Whether its workflows run one after the other, or as the cores allow.
pub fn is_chain(job: JobId) -> bool {
    job.0[5].is_multiple_of(2)
}

/// Whether its first workflow has a set-up and a tear-down.
pub fn has_set_up(job: JobId) -> bool {
    workflows(job) > 0 && job.0[4].is_multiple_of(3)
}

/// How long each of its workflows runs. Some run so long that a segment which is lost with its worker is resumed.
pub fn length(job: JobId) -> Duration {
    let times = if job.0[7].is_multiple_of(4) { 4 } else { 1 };
    Duration::from_millis(500) * u32::from(job.0[2]) * times
}

/// How long a job may take, if that is limited.
pub fn timeout(job: JobId) -> Option<Duration> {
    job.0[3].is_multiple_of(5).then_some(Duration::from_secs(40))
}

/// The name of one of its workflows.
pub fn name(number: u32) -> String {
    format!("W{number}")
}

/// What a job is submitted with.
pub fn options(job: JobId) -> JobOptions {
    let on_worker_loss = match job.0[3] % 7 {
        0 => OnWorkerLoss::Fail,
        2 | 3 => OnWorkerLoss::Restart,
        _ => OnWorkerLoss::Resume,
    };
    let timeout_ms = timeout(job).map(|timeout| timeout.as_millis() as u64);
    // Shorter than by default, so that it is over within a seed.
    JobOptions { on_worker_loss, timeout_ms, queue_timeout_ms: 60_000, ..JobOptions::default() }
}

/// The plan of a job with workflows.
pub fn bundle(job: JobId) -> Bundle {
    let mut text = "workflows:\n".to_owned();
    let (vus, length) = (job.0[1], length(job).as_millis());
    for number in 0..workflows(job) {
        let _ = writeln!(text, "  {}:\n    vus: {vus}\n    duration: {length}ms", name(number));
        let priority = PRIORITIES[usize::from(job.0[6]) % PRIORITIES.len()];
        let _ = writeln!(text, "    priority: {priority}");
        if number > 0 && is_chain(job) {
            let _ = writeln!(text, "    depends: [{}]", name(number - 1));
        }
        if number == 0 && has_set_up(job) {
            text.push_str("    setup: [ { name: seed, http: 'http://x/seed' } ]\n");
            text.push_str("    teardown: [ { name: drop, http: 'http://x/drop' } ]\n");
        }
        text.push_str("    steps: { home: { http: 'http://x/' } }\n");
    }
    Bundle { name: "sim.yaml".to_owned(), text: text.into(), ..Bundle::default() }
}

/// What stands for the plan and the result of a job without workflows: another one for every job.
pub fn stand_in(job: JobId) -> Bytes {
    Bytes::copy_from_slice(&job.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_that_is_drawn_is_valid() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..200 {
            let job = draw(&mut rng, true, false);
            let loaded = bundle(job).load().unwrap_or_else(|problems| panic!("{problems:?}"));
            assert_eq!(loaded.plan.workflows.len() as u32, workflows(job));
        }
    }

    #[test]
    fn nothing_but_completion_is_drawn_for_jobs_that_must_complete() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..200 {
            let options = options(draw(&mut rng, true, true));
            assert_eq!((options.on_worker_loss, options.timeout_ms), (OnWorkerLoss::Resume, None));
        }
    }
}
