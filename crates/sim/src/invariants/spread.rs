//! News reach everybody within the rounds that gossip needs: when nothing is lost, all members of a cluster know who came
//! and who went a few seconds after the first of them does.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::Event;
use hyperscale_types::{BootEpoch, NodeId};

use super::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;
use crate::world::index_of;

/// Twelve rounds of 200 ms, the join itself, and the rounds of gates, which are slower.
const WITHIN: Duration = Duration::from_secs(8);
/// News that began before it was still may have been lost.
const STILL_FOR_S: u64 = 30;

/// News that only gossip brings to those far away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum News {
    Came,
    Went,
}

/// When the first member heard of a life that came or went.
#[derive(Debug, Default)]
pub(super) struct Spread {
    first: BTreeMap<(News, NodeId, BootEpoch), Moment>,
}

impl Invariant for Spread {
    fn name(&self) -> &'static str {
        "spread"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Event(event) = &seen.what else { return Ok(()) };
        match event {
            Event::Joined { peer, boot, .. } if seen.truth.lives(peer.node, *boot) => {
                self.judge(seen, News::Came, peer.node, *boot)
            }
            Event::Left { node } => {
                let boot = seen.truth.nodes[index_of(*node)].process.boot;
                self.judge(seen, News::Went, *node, boot)
            }
            _ => Ok(()),
        }
    }
}

impl Spread {
    fn judge(&mut self, seen: &Seen<'_>, news: News, node: NodeId, boot: BootEpoch) -> Verdict {
        let first = *self.first.entry((news, node, boot)).or_insert(seen.at);
        let took = seen.at.since(first);
        // Whoever joined later than the news, or was taken for dead meanwhile, learns them in another way.
        let knew_nobody = seen.truth.nodes[seen.node].since > first;
        let was_still = seen.truth.is_still(first, STILL_FOR_S);
        // A node that the schedule cuts off for good receives no gossip at all, so there is no bound to hold it to.
        let is_cut_off = seen.truth.absent.contains(&seen.node);
        if took > WITHIN && was_still && !knew_nobody && !is_cut_off {
            return Err(format!("learned that {node} {news:?} only {took:?} after the first did"));
        }
        Ok(())
    }
}
