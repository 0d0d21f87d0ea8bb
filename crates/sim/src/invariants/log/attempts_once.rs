//! No attempt starts twice, and none that the log has not given to its worker.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_cluster::manager::number_of;
use hyperscale_cluster::message::JobAttempt;
use hyperscale_consensus::register::{Body, JobId, Outcome};
use hyperscale_types::NodeId;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};
use crate::world::id_of;

/// Attempts that were assigned and started, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct AttemptsOnce {
    /// Whom a segment of that number was given to; its workflow is not named by workers.
    assigned: BTreeSet<(u8, JobId, u32, u32, NodeId)>,
    started: BTreeMap<(u8, JobAttempt), usize>,
}

impl Invariant for AttemptsOnce {
    fn name(&self) -> &'static str {
        "attempts_once"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let cluster = seen.cluster();
        match &seen.what {
            What::Log(Logged::Decided(written)) => {
                if let (Body::Assign(batch), Outcome::Done) = (&written.command.body, &written.outcome) {
                    let segments = batch.segments.iter();
                    self.assigned
                        .extend(segments.map(|it| (cluster, batch.job, it.number, it.attempt, it.worker)));
                }
                Ok(())
            }
            What::Log(Logged::Starts { attempt }) => {
                let JobAttempt { job, attempt: it } = *attempt;
                let key = (cluster, job, number_of(it.segment), it.number, id_of(seen.node));
                if !self.assigned.contains(&key) {
                    return Err(format!("starts {attempt:?}, which the log has not given to it"));
                }
                match self.started.insert((cluster, *attempt), seen.node) {
                    Some(node) => Err(format!("starts {attempt:?}, which node {node} has started")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
