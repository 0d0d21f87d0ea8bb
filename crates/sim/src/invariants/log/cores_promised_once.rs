//! No core is promised twice: what is assigned to a worker under its grant never takes more cores than it has.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{AssignSegment, Body, JobId, Outcome, Segment};
use hyperscale_types::{NodeId, Token};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// A worker's cores, and who has them.
#[derive(Debug, Default)]
struct Cores {
    total: u32,
    promised: BTreeMap<Segment, Promised>,
}

/// What an attempt holds.
#[derive(Debug)]
struct Promised {
    attempt: u32,
    cores: u32,
    core_group: u32,
    grant: Token,
}

impl Cores {
    /// Cores that are held, those of a core group once.
    fn held(&self) -> u32 {
        let own = self.promised.values().filter(|it| it.core_group == 0).map(|it| it.cores);
        let shared = self.promised.iter().filter(|(_, it)| it.core_group > 0);
        let groups: BTreeMap<_, _> =
            shared.map(|(segment, it)| ((segment.job, it.core_group, it.grant), it.cores)).collect();
        own.chain(groups.into_values()).sum()
    }
}

/// Workers, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct CoresPromisedOnce {
    workers: BTreeMap<(u8, NodeId), Cores>,
}

impl Invariant for CoresPromisedOnce {
    fn name(&self) -> &'static str {
        "cores_promised_once"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Decided(written)) = &seen.what else { return Ok(()) };
        let cluster = seen.cluster();
        match (&written.command.body, &written.outcome) {
            (Body::WorkerGrant { worker, cores, .. }, Outcome::Granted(grant))
                if grant.0 == written.index =>
            {
                self.workers.entry((cluster, *worker)).or_default().total = *cores;
            }
            (Body::WorkerGone { worker, grant, .. }, Outcome::Done) => {
                if let Some(worker) = self.workers.get_mut(&(cluster, *worker)) {
                    worker.promised.retain(|_, it| it.grant != *grant);
                }
            }
            (Body::AttemptEnd { segment, attempt, .. }, Outcome::Done) => {
                for worker in self.workers.values_mut() {
                    worker.promised.retain(|it, held| it != segment || held.attempt != *attempt);
                }
            }
            (Body::Assign(batch), Outcome::Done) => {
                for it in &batch.segments {
                    self.promise(cluster, batch.job, it)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl CoresPromisedOnce {
    fn promise(&mut self, cluster: u8, job: JobId, it: &AssignSegment) -> Verdict {
        let segment = Segment { job, workflow: it.workflow.clone(), number: it.number };
        let Some(worker) = self.workers.get_mut(&(cluster, it.worker)) else {
            return Err(format!("{segment:?} was assigned to {}, which has no grant", it.worker));
        };
        let AssignSegment { attempt, cores, group: core_group, grant, .. } = *it;
        worker.promised.insert(segment, Promised { attempt, cores, core_group, grant });
        let held = worker.held();
        if held > worker.total {
            return Err(format!("{held} of {} cores of {} are promised", worker.total, it.worker));
        }
        Ok(())
    }
}
