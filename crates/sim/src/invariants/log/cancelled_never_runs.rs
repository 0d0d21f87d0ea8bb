//! What was cancelled never runs again: nothing of it is assigned after the cancel, whoever leads, and nobody sends load for
//! a job that has ended.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::{Body, JobId, Outcome, SegmentKind};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// Where each job was cancelled, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct CancelledNeverRuns {
    cancelled: BTreeMap<(u8, JobId), u64>,
    ended: BTreeSet<(u8, JobId)>,
}

impl Invariant for CancelledNeverRuns {
    fn name(&self) -> &'static str {
        "cancelled_never_runs"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let cluster = seen.cluster();
        let written = match &seen.what {
            What::Log(Logged::Decided(written)) => written,
            What::Log(Logged::Load { segment, .. }) if self.ended.contains(&(cluster, segment.job)) => {
                return Err(format!("sends load for {segment:?}, whose job has ended"));
            }
            _ => return Ok(()),
        };
        let at = |job: JobId| self.cancelled.get(&(cluster, job));
        match (&written.command.body, &written.outcome) {
            (Body::Cancel { job, workflows, .. }, Outcome::Done) if workflows.is_empty() => {
                self.cancelled.entry((cluster, *job)).or_insert(written.index);
                Ok(())
            }
            (Body::JobEnd { job, .. }, Outcome::Done) => {
                self.ended.insert((cluster, *job));
                Ok(())
            }
            // Only what cleans up may still run.
            (Body::Assign(batch), Outcome::Done) => {
                let runs = batch.segments.iter().find(|it| it.kind != SegmentKind::TearDown);
                match (at(batch.job), runs) {
                    (Some(at), Some(it)) => Err(format!("{it:?} was assigned, cancelled by entry {at}")),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
