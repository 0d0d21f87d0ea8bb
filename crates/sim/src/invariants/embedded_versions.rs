//! What a node knows about another's embedded state only gets newer within a life of the other.

use std::collections::BTreeMap;

use hyperscale_swim::Event;
use hyperscale_types::{BootEpoch, NodeId};

use super::{Invariant, Seen, Verdict, What};

/// The newest version per node and peer.
#[derive(Debug, Default)]
pub(super) struct EmbeddedVersions {
    newest: BTreeMap<(usize, NodeId), (BootEpoch, u64)>,
}

impl Invariant for EmbeddedVersions {
    fn name(&self) -> &'static str {
        "embedded_versions"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.newest.retain(|(node, _), _| *node != seen.node),
            What::Event(Event::StateChanged { node, state }) => {
                let boot = seen.swim.member(*node).map_or(BootEpoch(0), |member| member.claim.boot);
                let now = (boot, state.version);
                let before = self.newest.insert((seen.node, *node), now);
                if before.is_some_and(|before| now <= before) {
                    return Err(format!("state of {node} went from {before:?} to {now:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
