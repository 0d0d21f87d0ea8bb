//! A suspicion ends when it must: not before its least time and not after its longest, because nothing restarts it.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::{Cause, Event};
use hyperscale_types::NodeId;

use super::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;

/// Clocks, jumps and the period a node that slept waits more.
const SLACK: Duration = Duration::from_secs(3);

/// A running suspicion: when it began, and how many members there were.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Moment,
    members: usize,
}

/// Suspicions per node and suspect.
#[derive(Debug, Default)]
pub(super) struct SuspicionTime {
    running: BTreeMap<(usize, NodeId), Running>,
}

impl Invariant for SuspicionTime {
    fn name(&self) -> &'static str {
        "suspicion_time"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.running.retain(|(node, _), _| *node != seen.node),
            What::Event(Event::Suspected { node, .. }) => {
                let running = Running { since: seen.at, members: seen.swim.live_count() };
                self.running.insert((seen.node, *node), running);
            }
            What::Event(Event::Refuted { node } | Event::Left { node }) => {
                self.running.remove(&(seen.node, *node));
            }
            What::Event(Event::Joined { peer, .. }) => {
                self.running.remove(&(seen.node, peer.node));
            }
            What::Event(Event::Died { node, cause, .. }) => {
                let running = self.running.remove(&(seen.node, *node));
                if let (Some(running), Cause::SuspicionExpired) = (running, cause) {
                    return judge(seen, *node, running);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn judge(seen: &Seen<'_>, node: NodeId, running: Running) -> Verdict {
    let config = seen.swim.config();
    let took = seen.at.since(running.since);
    let least = config.suspicion.timeout_min(config.probe.period, running.members);
    if took + SLACK < least {
        return Err(format!("declared {node} dead after {took:?}, {least:?} at least were due"));
    }
    let longest = least * config.suspicion.beta.get();
    let is_calm = seen.truth.is_calm(seen.at, took.as_secs() + 1);
    if is_calm && took > longest + SLACK {
        return Err(format!("{node} stayed suspected for {took:?}, {longest:?} at most were due"));
    }
    Ok(())
}
