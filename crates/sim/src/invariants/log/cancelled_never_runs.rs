//! What was cancelled never starts again: nothing of it is assigned after the cancel, whoever leads.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Body, JobId, Outcome};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// Where each job was cancelled, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct CancelledNeverRuns {
    cancelled: BTreeMap<(u8, JobId), u64>,
}

impl Invariant for CancelledNeverRuns {
    fn name(&self) -> &'static str {
        "cancelled_never_runs"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Decided(written)) = &seen.what else { return Ok(()) };
        let cluster = seen.cluster();
        let at = |job: JobId| self.cancelled.get(&(cluster, job));
        match (&written.command.body, &written.outcome) {
            (Body::Cancel { job, .. }, Outcome::Done) => {
                self.cancelled.entry((cluster, *job)).or_insert(written.index);
                Ok(())
            }
            (Body::Assign(assign), Outcome::Done) => match at(assign.segment.job) {
                Some(at) => Err(format!("{:?} was assigned, cancelled by entry {at}", assign.segment)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
