//! News reach everybody within the rounds that gossip needs: all members of a cluster know who came and who went a few seconds
//! after the first of them does, as long as gossip arrives.
//!
//! Who hears a piece of news sends it T = max(12, 4·⌈log₁₀(n + 1)⌉) times to members drawn at random, so that a member is missed
//! with probability e^(−T·a), where a is the share of what arrives. Who is missed has to wait for anti-entropy, up to 30 s and
//! longer if its partner is dead. A bound of seconds therefore holds only where hardly anything is lost, and two things lose
//! gossip:
//! - The network: judged is what began after [`STILL_FOR_S`] without loss.
//! - Members that are down and that the others do not take for dead yet: whatever is sent to them is lost. `proof.md` promises the
//!   rounds up to a loss of a tenth, so news are judged as long as at most [`DOWN_SHARE`] of the cluster are down. With T = 12
//!   and 340 members a tenth leaves 0.007 members without the news, a half 0.4: when a half died together with six that left, 18
//!   of 24 seeds had a member that learned of a leave only by anti-entropy, 7 to 36 s later, and 17 of 24 were to be expected.
//!
//! Full queues drop what was sent most often. That excuses nothing: in the same experiment members broke the bound as often with
//! queues of 8 updates as with queues of 4 096 (83 and 82 of 107 seeds).
//!
//! What is not judged here has its bound in `views_converge`: anti-entropy brings it.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::Event;
use hyperscale_types::{BootEpoch, NodeId};

use super::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;
use crate::world::{Truth, index_of};

/// Twelve rounds of 200 ms, the join itself, and the rounds of gates, which are slower.
const WITHIN: Duration = Duration::from_secs(8);
/// News that began before it was still may have been lost.
const STILL_FOR_S: u64 = 30;
/// At most one of this many members may be down while news spread.
const DOWN_SHARE: usize = 10;
/// Members that are down for longer are known to be dead by all others: so long may views take after deaths.
const NOTICED_WITHIN: Duration = Duration::from_secs(90);

/// News that only gossip brings to those far away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum News {
    Came,
    Went,
}

/// A time in which a node did not run, though it had not announced that it leaves.
#[derive(Clone, Copy, Debug)]
struct Outage {
    from: Moment,
    /// When its next life began, if one did.
    until: Option<Moment>,
}

/// When the first member heard of a life that came or went, and what kept gossip from arriving since.
#[derive(Debug, Default)]
pub(super) struct Spread {
    first: BTreeMap<(News, NodeId, BootEpoch), Moment>,
    /// The last outage of each node.
    outages: BTreeMap<usize, Outage>,
}

impl Invariant for Spread {
    fn name(&self) -> &'static str {
        "spread"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.starts(seen),
            What::Ended => self.ends(seen),
            What::Event(Event::Joined { peer, boot, .. }) if seen.truth.lives(peer.node, *boot) => {
                return self.judge(seen, News::Came, peer.node, *boot);
            }
            What::Event(Event::Left { node }) => {
                let boot = seen.truth.nodes[index_of(*node)].process.boot;
                return self.judge(seen, News::Went, *node, boot);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Spread {
    fn judge(&mut self, seen: &Seen<'_>, news: News, node: NodeId, boot: BootEpoch) -> Verdict {
        let first = *self.first.entry((news, node, boot)).or_insert(seen.at);
        let took = seen.at.since(first);
        if took <= WITHIN || self.is_excused(seen, first) {
            return Ok(());
        }
        Err(format!("learned that {node} {news:?} only {took:?} after the first did"))
    }

    /// Whether gossip may miss the node, or did not have to reach it.
    fn is_excused(&self, seen: &Seen<'_>, first: Moment) -> bool {
        // Whoever joined later than the news, or was taken for dead meanwhile, learns them in another way.
        let knew_nobody = seen.truth.nodes[seen.node].since > first;
        // A node that the schedule cuts off for good receives no gossip at all, so there is no bound to hold it to.
        let is_cut_off = seen.truth.absent.contains(&seen.node);
        let was_still = seen.truth.is_still(first, STILL_FOR_S);
        let too_many_down = self.too_many_down(seen.truth, seen.cluster(), first, seen.at);
        knew_nobody || is_cut_off || !was_still || too_many_down
    }

    /// Whether more members than may were down, unnoticed, at some time while the news spread.
    fn too_many_down(&self, truth: &Truth, cluster: u8, first: Moment, until: Moment) -> bool {
        let was_down = |outage: &Outage| {
            let noticed = outage.from.plus(NOTICED_WITHIN);
            outage.from <= until && outage.until.unwrap_or(noticed).min(noticed) > first
        };
        let of_cluster = self.outages.iter().filter(|(node, _)| truth.nodes[**node].cluster == cluster);
        let down = of_cluster.filter(|(_, outage)| was_down(outage)).count();
        let up = truth.members(cluster).count();
        down * DOWN_SHARE > up + down
    }

    fn starts(&mut self, seen: &Seen<'_>) {
        if let Some(outage) = self.outages.get_mut(&seen.node) {
            outage.until = Some(seen.at);
        }
    }

    fn ends(&mut self, seen: &Seen<'_>) {
        if !seen.truth.nodes[seen.node].leaving {
            self.outages.insert(seen.node, Outage { from: seen.at, until: None });
        }
    }
}

#[cfg(test)]
mod tests;
