//! News reach everybody within the rounds that gossip needs: when nothing is lost, all members of a cluster know a
//! newcomer a few seconds after the first of them does.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::Event;
use hyperscale_types::{BootEpoch, NodeId};

use super::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;

/// Twelve rounds of 200 ms, the join itself, and the rounds of gates, which are slower.
const WITHIN: Duration = Duration::from_secs(8);
/// News that began before it was still may have been lost.
const STILL_FOR_S: u64 = 30;

/// When the first member heard of a life that is news to the cluster.
#[derive(Debug, Default)]
pub(super) struct Spread {
    first: BTreeMap<(NodeId, BootEpoch), Moment>,
}

impl Invariant for Spread {
    fn name(&self) -> &'static str {
        "spread"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Event(Event::Joined { peer, boot, .. }) = &seen.what else { return Ok(()) };
        let first = *self.first.entry((peer.node, *boot)).or_insert(seen.at);
        let took = seen.at.since(first);
        // Whoever joined later than the news, or was taken for dead meanwhile, learns them in another way.
        let knew_nobody = seen.truth.nodes[seen.node].since > first;
        let was_still = seen.truth.is_still(first, STILL_FOR_S);
        if took > WITHIN && was_still && !knew_nobody && seen.truth.lives(peer.node, *boot) {
            return Err(format!("learned of {} only {took:?} after the first did", peer.node));
        }
        Ok(())
    }
}
