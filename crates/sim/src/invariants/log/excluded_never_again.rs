//! A worker that lost an attempt of a segment is not given that segment again.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::{Body, EndStatus, Outcome, Segment};
use hyperscale_types::{NodeId, Token};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// Who runs each segment and who is to get none of it, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct ExcludedNeverAgain {
    runs: BTreeMap<(u8, Segment), (NodeId, Token)>,
    excluded: BTreeSet<(u8, Segment, NodeId)>,
}

impl Invariant for ExcludedNeverAgain {
    fn name(&self) -> &'static str {
        "excluded_never_again"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Decided(written)) = &seen.what else { return Ok(()) };
        if matches!(written.outcome, Outcome::Refused(_)) {
            return Ok(());
        }
        let cluster = seen.cluster();
        match &written.command.body {
            Body::Assign(batch) => {
                for it in &batch.segments {
                    let segment =
                        Segment { job: batch.job, workflow: it.workflow.clone(), number: it.number };
                    if self.excluded.contains(&(cluster, segment.clone(), it.worker)) {
                        let (attempt, worker) = (it.attempt, it.worker);
                        return Err(format!("{segment:?}: {worker} was given attempt {attempt} of it again"));
                    }
                    self.runs.insert((cluster, segment), (it.worker, it.grant));
                }
            }
            Body::AttemptEnd { segment, end, .. } => {
                let was = self.runs.remove(&(cluster, segment.clone()));
                if let Some((worker, _)) = was.filter(|_| end.status == EndStatus::Lost) {
                    self.excluded.insert((cluster, segment.clone(), worker));
                }
            }
            Body::WorkerGone { worker, grant, .. } => {
                let is_of = |(group, _): &(u8, Segment), it: &(NodeId, Token)| {
                    *group == cluster && *it == (*worker, *grant)
                };
                let gone = self.runs.extract_if(.., |key, it| is_of(key, it));
                self.excluded.extend(gone.map(|((group, segment), (worker, _))| (group, segment, worker)));
            }
            _ => {}
        }
        Ok(())
    }
}
