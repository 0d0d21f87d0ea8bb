//! Samples of the bulk plane.

use hyperscale_wire::messages::*;

use super::control::{attempt_state, hello, welcome};
use super::log::{job_attempt, snapshot_meta};
use super::{JOB, blob, bytes, error, job, segment};

pub(super) fn merged_window() -> MergedWindow {
    MergedWindow {
        datacenter: "eu-1".into(),
        workflow: "checkout".into(),
        window: 17,
        from_ms: 1_700,
        to_ms: 1_800,
        statistics: bytes("histograms"),
        windows_late: 1,
        windows_lost: 2,
    }
}

pub(super) fn counter_entry() -> CounterEntry {
    CounterEntry {
        datacenter: "eu-1".into(),
        worker: 5,
        worker_boot: 7,
        segment: Some(segment()),
        attempt: 2,
        name: "requests".into(),
        value: 1_000,
    }
}

/// Every message of the bulk plane.
pub(crate) fn bulk() -> Vec<Bulk> {
    use bulk::Body;
    let bodies = [
        Body::Error(error()),
        Body::Hello(Hello { lane: Lane::Bulk.into(), ..hello() }),
        Body::Welcome(welcome()),
        Body::Progress(Progress {
            state: Some(attempt_state()),
            windows: vec![ProgressWindow { statistics: bytes("histograms") }],
            windows_dropped: 2,
        }),
        Body::ProgressAnswer(ProgressAnswer { level: BackpressureLevel::Batch.into() }),
        Body::AttemptResult(Box::new(AttemptResult {
            attempt: Some(job_attempt()),
            worker: 5,
            job_leader_token: 130,
            how: HowEnded::LeaseEnded.into(),
            left: bytes("left"),
        })),
        Body::AttemptResultAnswer(AttemptResultAnswer { attempt: Some(job_attempt()) }),
        Body::BlobPut(BlobPut {
            request_id: bytes("request"),
            blob: Some(blob()),
            encoding: Encoding::Zstd.into(),
        }),
        Body::BlobPutAnswer(BlobPutAnswer { blob: Some(blob()), stored: true }),
        Body::BlobGet(BlobGet { blob: Some(blob()) }),
        Body::BlobData(BlobData { blob: Some(blob()), encoding: Encoding::Plain.into() }),
        Body::Snapshot(Box::new(SnapshotTransfer {
            group: "eu-1".into(),
            meta: Some(snapshot_meta()),
            blob: Some(blob()),
            encoding: Encoding::Zstd.into(),
            from: 1,
            to: 2,
            term: 9,
        })),
        Body::SnapshotAnswer(SnapshotAnswer { group: "eu-1".into(), index: 10_000, stored: true }),
        Body::Statistics(StatisticsGossip {
            job_id: bytes(JOB),
            job_leader_token: 41,
            member_set_version: 2,
            counters: vec![counter_entry()],
            rates: vec![RateEntry {
                datacenter: "eu-1".into(),
                workflow: "checkout".into(),
                name: "requests".into(),
                window: 17,
                sequence: 3,
                value: 1_234.5,
            }],
            windows: vec![merged_window()],
            stream_sequence: 88,
        }),
        Body::JobProgress(JobProgress {
            job: Some(job()),
            job_leader_token: 130,
            windows: vec![merged_window()],
            counters: vec![counter_entry()],
            segments_running: 2,
            segments_total: 4,
        }),
    ];
    bodies.map(|body| Bulk { call_id: 21, answer: true, deadline_ms: 1_500, body: Some(body) }).into()
}
