//! No core is promised twice: what is assigned to a worker under its grant never takes more cores than it has.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Body, Outcome, Segment};
use hyperscale_types::{NodeId, Token};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// A worker's cores, and who has them.
#[derive(Debug, Default)]
struct Cores {
    total: u32,
    /// Attempt, cores and grant.
    promised: BTreeMap<Segment, (u32, u32, Token)>,
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
            (Body::WorkerGone { worker, grant }, Outcome::Done) => {
                if let Some(worker) = self.workers.get_mut(&(cluster, *worker)) {
                    worker.promised.retain(|_, (.., under)| under != grant);
                }
            }
            (Body::AttemptEnd { segment, attempt, .. }, Outcome::Done) => {
                for worker in self.workers.values_mut() {
                    worker.promised.retain(|it, (number, ..)| it != segment || *number != *attempt);
                }
            }
            (Body::Assign(it), Outcome::Done) => {
                let Some(worker) = self.workers.get_mut(&(cluster, it.worker)) else {
                    return Err(format!(
                        "{:?} was assigned to {}, which has no grant",
                        it.segment, it.worker
                    ));
                };
                worker.promised.insert(it.segment.clone(), (it.attempt, it.cores, it.grant));
                let promised: u32 = worker.promised.values().map(|(_, cores, _)| cores).sum();
                if promised > worker.total {
                    return Err(format!(
                        "{promised} of {} cores of {} are promised",
                        worker.total, it.worker
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
