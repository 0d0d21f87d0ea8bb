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
    workflows: BTreeMap<(u8, JobId, String), u64>,
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
            (Body::Cancel { job, workflows, .. }, Outcome::Done) => {
                for workflow in workflows {
                    self.workflows.entry((cluster, *job, workflow.clone())).or_insert(written.index);
                }
                Ok(())
            }
            (Body::JobEnd { job, .. }, Outcome::Done) => {
                self.ended.insert((cluster, *job));
                Ok(())
            }
            // Only what cleans up may still run.
            (Body::Assign(batch), Outcome::Done) => {
                let of_workflow = |workflow: &String| {
                    self.workflows.get(&(cluster, batch.job, workflow.clone())).or_else(|| at(batch.job))
                };
                let mut runs = batch.segments.iter().filter(|it| it.kind != SegmentKind::TearDown);
                match runs.find_map(|it| Some((it, of_workflow(&it.workflow)?))) {
                    Some((it, at)) => Err(format!("{it:?} was assigned, cancelled by entry {at}")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
