//! A suspicion ends when it must: not before the time that its confirmations leave, and not after its longest.
//!
//! What is due follows from what the node had, without tolerance:
//! - A suspicion is one of an identity (boot and incarnation). Accused of a newer incarnation, a suspect gets a new timer with
//!   the number of members of that moment, although nothing is told to the layers above: the transitions show when.
//! - The number of members is counted along with the transitions. A node tells of what it did only when it is done, and
//!   others may have come or gone within the same input.
//! - The accusers of the death are the confirmations that there were. Only a peer that takes the same identity for gone, and
//!   says so in anti-entropy, shortens a suspicion further, to its minimum.
//!
//! The least time is what the node's own clock shows, to the nanosecond: a clock that jumps ends suspicions early for everybody
//! else, and the node cannot know. The longest is true time, and only in calm weather.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::{AuditEntry, Cause, Claim, MemberUpdate, Status, SuspicionTimeouts};
use hyperscale_types::{NodeId, Now};

use super::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;

/// Clocks that run slow, and the period a node that slept waits more.
const SLACK: Duration = Duration::from_secs(3);

/// A running suspicion: of what, since when, truly and on the node's clock, and how long it may take.
#[derive(Clone, Copy, Debug)]
struct Running {
    claim: Claim,
    since: Moment,
    began: Now,
    timeouts: SuspicionTimeouts,
    /// Whether a peer said that the suspect is gone.
    is_shortest: bool,
}

/// What is known of one node.
#[derive(Debug, Default)]
struct View {
    /// Everybody that lives or is suspected but the node itself, after the last transition that was shown.
    others: usize,
    running: BTreeMap<NodeId, Running>,
    /// Who is gone by the list that is dealt with.
    listed: Vec<(NodeId, Claim)>,
}

/// Suspicions of every node.
#[derive(Debug, Default)]
pub(super) struct SuspicionTime {
    views: BTreeMap<usize, View>,
}

impl Invariant for SuspicionTime {
    fn name(&self) -> &'static str {
        "suspicion_time"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let view = self.views.entry(seen.node).or_default();
        match &seen.what {
            What::Started => *view = View::default(),
            What::Listed(members) => view.listed = gone(members),
            What::Transition(entry) => return view.changes(seen, entry),
            What::Handled => view.settle(seen),
            _ => {}
        }
        Ok(())
    }
}

impl View {
    fn changes(&mut self, seen: &Seen<'_>, entry: &AuditEntry) -> Verdict {
        let is_live = |claim: Option<Claim>| claim.is_some_and(|claim| claim.status.is_live());
        self.others = self.others.saturating_add(usize::from(is_live(entry.after)));
        self.others = self.others.saturating_sub(usize::from(is_live(entry.before)));
        let ended = self.running.remove(&entry.node);
        match (entry.after, ended) {
            (Some(claim), _) if claim.status == Status::Suspect => {
                self.running.insert(entry.node, self.begun(seen, entry.at, claim));
                Ok(())
            }
            (Some(_), Some(running)) if entry.cause == Cause::SuspicionExpired => judge(seen, entry, running),
            _ => Ok(()),
        }
    }

    fn begun(&self, seen: &Seen<'_>, began: Now, claim: Claim) -> Running {
        let config = seen.swim.config();
        let (period, members) = (config.probe.period, self.others + 1);
        let timeouts = SuspicionTimeouts::new(&config.suspicion, period, members, config.lifeguard);
        Running { claim, since: seen.at, began, timeouts, is_shortest: false }
    }

    /// The node is done with its input.
    fn settle(&mut self, seen: &Seen<'_>) {
        for (node, claim) in std::mem::take(&mut self.listed) {
            if let Some(running) = self.running.get_mut(&node)
                && running.claim.identity() == claim.identity()
            {
                running.is_shortest = true;
            }
        }
        // A node keeps so many transitions of one input only.
        self.others = seen.swim.live_count() - 1;
    }
}

/// Who is gone by a list.
fn gone(members: &[MemberUpdate]) -> Vec<(NodeId, Claim)> {
    let gone = members.iter().filter(|update| !update.claim.status.is_live());
    gone.map(|update| (update.peer.node, update.claim)).collect()
}

fn judge(seen: &Seen<'_>, death: &AuditEntry, running: Running) -> Verdict {
    let Running { since, began, timeouts, is_shortest, .. } = running;
    let (node, confirmations) = (death.node, death.witnesses.iter().count().saturating_sub(1));
    let least = if is_shortest { timeouts.min() } else { timeouts.with(confirmations) };
    let waited = death.at.since(began);
    if waited < least {
        return Err(format!(
            "declared {node} dead after {waited:?}, {least:?} at least were due with {confirmations} confirmations"
        ));
    }
    let (took, longest) = (seen.at.since(since), timeouts.with(0));
    let is_calm = seen.truth.is_calm(seen.at, took.as_secs() + 1);
    if is_calm && took > longest + SLACK {
        return Err(format!("{node} stayed suspected for {took:?}, {longest:?} at most were due"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
