//! What a job consists of. All of it is in the first bytes of the job's id, so that every manager knows it without a blob.

use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use hyperscale_consensus::register::{JobId, Segment, SegmentKind};
use hyperscale_types::Priority;

/// The one workflow of a job.
pub const WORKFLOW: &str = "load";
/// Cores of a worker: few, so that jobs compete for them.
pub const CORES: u32 = 2;

/// A new job. Gates have no workers: their jobs have no segments.
pub fn draw(rng: &mut Rng, has_workers: bool) -> JobId {
    let mut id = [0; 16];
    rng.fill(&mut id);
    id[0] = if has_workers { rng.u8(1..=3) } else { 0 };
    id[1] = rng.u8(1..=2);
    id[2] = rng.u8(2..=20);
    JobId(id)
}

/// The segment that prepares a job.
pub const SET_UP: u32 = 100;
/// The segment that cleans up after it.
pub const TEAR_DOWN: u32 = 101;

/// Whether a job has a set-up and a tear-down.
pub fn has_set_up(job: JobId) -> bool {
    segments(job) > 0 && job.0[4].is_multiple_of(3)
}

/// What a segment does.
pub fn kind(segment: u32) -> SegmentKind {
    match segment {
        SET_UP => SegmentKind::SetUp,
        TEAR_DOWN => SegmentKind::TearDown,
        _ => SegmentKind::Load,
    }
}

/// Cores of a segment.
pub fn cores_of(job: JobId, segment: u32) -> u32 {
    if kind(segment) == SegmentKind::Load { cores(job) } else { 1 }
}

/// The core group that its load shares; zero: each segment has its own cores.
pub fn group(job: JobId) -> u32 {
    u32::from(job.0[5].is_multiple_of(4))
}

/// How it waits for cores.
pub fn priority(job: JobId) -> Priority {
    if job.0[6].is_multiple_of(2) { Priority::High } else { Priority::Auto }
}

/// Load segments of a job.
pub fn segments(job: JobId) -> u32 {
    u32::from(job.0[0])
}

/// Cores of each of its segments.
pub fn cores(job: JobId) -> u32 {
    u32::from(job.0[1])
}

/// How long each of its segments runs.
pub fn length(job: JobId) -> Duration {
    Duration::from_millis(500) * u32::from(job.0[2])
}

/// Whether gates sent it, as a part of a job of theirs: then they chose its id.
pub fn is_part(job: JobId) -> bool {
    segments(job) > 0 && job.0[3].is_multiple_of(4)
}

/// One of its segments.
pub fn segment(job: JobId, number: u32) -> Segment {
    Segment { job, workflow: WORKFLOW.to_owned(), number }
}

/// The result of an attempt: another one for every attempt, so that a stranger's is recognised.
pub fn result(segment: &Segment, attempt: u32) -> Bytes {
    let numbers = [segment.number.to_be_bytes(), attempt.to_be_bytes()].concat();
    [&segment.job.0[..], &numbers].concat().into()
}
