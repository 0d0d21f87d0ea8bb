//! Worker updates are accepted only if they are newer, and only from the owner: under one owner token the owner never changes.

use std::collections::BTreeMap;

use hyperscale_swim::{Event, WorkerVersion};
use hyperscale_types::NodeId;

use super::{Invariant, Seen, Verdict, What};

/// The newest update per manager and worker: version and owner.
#[derive(Debug, Default)]
pub(super) struct WorkerVersions {
    newest: BTreeMap<(usize, NodeId), (WorkerVersion, NodeId)>,
}

impl Invariant for WorkerVersions {
    fn name(&self) -> &'static str {
        "worker_versions"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.newest.retain(|(node, _), _| *node != seen.node),
            What::Event(Event::WorkerChanged(update)) => {
                let now = (update.version, update.owner);
                let before = self.newest.insert((seen.node, update.worker), now);
                let Some((version, owner)) = before else { return Ok(()) };
                if update.version <= version {
                    let (worker, newer) = (update.worker, update.version);
                    return Err(format!("worker {worker} went from {version:?} to {newer:?}"));
                }
                let same_token =
                    (version.boot, version.owner_token) == (update.version.boot, update.version.owner_token);
                if same_token && owner != update.owner {
                    return Err(format!("worker {} changed its owner under one token", update.worker));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
