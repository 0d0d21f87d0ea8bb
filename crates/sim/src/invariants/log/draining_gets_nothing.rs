//! A worker that was asked to drain gets nothing new, whoever leads a job and whoever owns the worker: from the entry that says so
//! until its grant has ended.

use std::collections::BTreeSet;

use hyperscale_consensus::register::{Body, Outcome, Register};
use hyperscale_types::{NodeId, Token};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};
use crate::world::World;

/// Workers that drain, per group, with the grant that they were asked under.
#[derive(Debug, Default)]
pub(in crate::invariants) struct DrainingGetsNothing {
    draining: BTreeSet<(u8, NodeId, Token)>,
}

impl Invariant for DrainingGetsNothing {
    fn name(&self) -> &'static str {
        "draining_gets_nothing"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Decided(written)) = &seen.what else { return Ok(()) };
        let cluster = seen.cluster();
        match (&written.command.body, &written.outcome) {
            (Body::WorkerDrain { worker, grant }, Outcome::Done) => {
                self.draining.insert((cluster, *worker, *grant));
            }
            (Body::Assign(batch), Outcome::Done) => {
                let drains = |worker, grant| self.draining.contains(&(cluster, worker, grant));
                if let Some(it) = batch.segments.iter().find(|it| drains(it.worker, it.grant)) {
                    let (workflow, attempt, worker) = (&it.workflow, it.attempt, it.worker);
                    return Err(format!(
                        "attempt {attempt} of {workflow} was assigned to {worker}, which drains"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The first worker that was asked to drain and has not left, once all trouble is over.
pub fn drains_open(world: &World) -> Option<String> {
    (0..world.setup().shape.datacenters).find_map(|cluster| {
        let hosts = world.hosts_of(cluster);
        let register =
            hosts.iter().find_map(|(_, host)| Some(host.manager()?.group().machine().register()))?;
        draining(register).next().map(|worker| format!("{worker} was asked to drain and has not left"))
    })
}

/// Workers that drain.
pub fn draining(register: &Register) -> impl Iterator<Item = NodeId> {
    register.workers().filter(|(_, worker)| worker.is_draining).map(|(node, _)| *node)
}
