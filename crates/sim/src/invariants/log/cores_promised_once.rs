//! No core is promised twice: what is assigned to a worker under its grant never takes more cores than it has.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Body, Outcome, Segment};
use hyperscale_types::NodeId;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// A worker's cores, and who has them.
#[derive(Debug, Default)]
struct Cores {
    total: u32,
    promised: BTreeMap<Segment, (u32, u32)>,
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
                let fresh = Cores { total: *cores, promised: BTreeMap::new() };
                self.workers.insert((cluster, *worker), fresh);
            }
            (Body::WorkerGone { worker, .. }, Outcome::Done) => {
                self.workers.remove(&(cluster, *worker));
            }
            (Body::AttemptEnd { segment, attempt, .. }, Outcome::Done) => {
                for worker in self.workers.values_mut() {
                    worker.promised.retain(|it, (number, _)| it != segment || *number != *attempt);
                }
            }
            (Body::Assign(it), Outcome::Done) => {
                let Some(worker) = self.workers.get_mut(&(cluster, it.worker)) else {
                    return Err(format!(
                        "{:?} was assigned to {}, which has no grant",
                        it.segment, it.worker
                    ));
                };
                worker.promised.insert(it.segment.clone(), (it.attempt, it.cores));
                let promised: u32 = worker.promised.values().map(|(_, cores)| cores).sum();
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
