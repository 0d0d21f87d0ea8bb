//! A suspicion ends when it must: not before its least time and not after its longest, because nothing restarts it.
//!
//! The least time is what the node's own clock shows, to the nanosecond: a clock that jumps ends suspicions early for everybody
//! else, and the node cannot know. The longest is true time, and only in calm weather.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::{Cause, Event};
use hyperscale_types::{NodeId, Now};

use super::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;

/// Clocks that run slow, and the period a node that slept waits more.
const SLACK: Duration = Duration::from_secs(3);

/// A running suspicion: when it began, truly and on the node's clock, and how long it may take.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Moment,
    began: Now,
    least: Duration,
    longest: Duration,
}

/// Suspicions per node and suspect.
#[derive(Debug, Default)]
pub(super) struct SuspicionTime {
    running: BTreeMap<(usize, NodeId), Running>,
    /// Members each node had when it took up its present input, less those that it has said to be gone since: it tells of
    /// what it did only when it is done, and other members may have come by then.
    members: BTreeMap<usize, usize>,
}

impl Invariant for SuspicionTime {
    fn name(&self) -> &'static str {
        "suspicion_time"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => {
                self.running.retain(|(node, _), _| *node != seen.node);
                self.members.remove(&seen.node);
            }
            What::Handled => {
                self.members.insert(seen.node, seen.swim.live_count());
            }
            What::Event(Event::Suspected { node, .. }) => {
                let running = self.begun(seen);
                self.running.insert((seen.node, *node), running);
            }
            What::Event(Event::Refuted { node }) => {
                self.running.remove(&(seen.node, *node));
            }
            What::Event(Event::Joined { peer, .. }) => {
                self.running.remove(&(seen.node, peer.node));
            }
            What::Event(Event::Left { node }) => {
                self.end(seen, *node);
            }
            What::Event(Event::Died { node, cause, .. }) => {
                if let (Some(running), Cause::SuspicionExpired) = (self.end(seen, *node), cause) {
                    return judge(seen, *node, running);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl SuspicionTime {
    fn begun(&self, seen: &Seen<'_>) -> Running {
        let (before, after) = (self.members.get(&seen.node).copied().unwrap_or(1), seen.swim.live_count());
        let config = seen.swim.config();
        let least = |members| config.suspicion.timeout_min(config.probe.period, members);
        Running {
            since: seen.at,
            began: seen.clock.read(seen.at),
            least: least(before.min(after)),
            longest: least(before.max(after)) * config.suspicion.beta.get(),
        }
    }

    /// A member is gone; the suspicion that ran.
    fn end(&mut self, seen: &Seen<'_>, node: NodeId) -> Option<Running> {
        if let Some(members) = self.members.get_mut(&seen.node) {
            *members = members.saturating_sub(1);
        }
        self.running.remove(&(seen.node, node))
    }
}

fn judge(seen: &Seen<'_>, node: NodeId, running: Running) -> Verdict {
    let Running { since, began, least, longest } = running;
    let waited = seen.clock.read(seen.at).since(began);
    if waited < least {
        return Err(format!("declared {node} dead after {waited:?}, {least:?} at least were due"));
    }
    let took = seen.at.since(since);
    let is_calm = seen.truth.is_calm(seen.at, took.as_secs() + 1);
    if is_calm && took > longest + SLACK {
        return Err(format!("{node} stayed suspected for {took:?}, {longest:?} at most were due"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hyperscale_swim::Witnesses;

    use super::*;
    use crate::invariants::scene::Scene;
    use crate::world::id_of;

    /// A suspicion of the second node that begins in second 1 and ends in that one; in between the clock jumps.
    fn verdict(ends: u64, jump: Duration) -> Verdict {
        let (mut scene, mut judge) = (Scene::of(&[0, 0]), SuspicionTime::default());
        let (node, witnesses) = (id_of(1), Witnesses::default());
        let suspected = Event::Suspected { node, cause: Cause::ProbeFailed, witnesses };
        scene.ask(&mut judge, 0, 1, What::Event(&suspected)).unwrap();
        scene.clock.jump(Moment::seconds(1), jump);
        let died = Event::Died { node, cause: Cause::SuspicionExpired, witnesses };
        scene.ask(&mut judge, 0, ends, What::Event(&died))
    }

    #[test]
    fn death_a_second_too_early_is_objected_to() {
        assert!(verdict(3, Duration::ZERO).is_err());
        assert_eq!(verdict(4, Duration::ZERO), Ok(()));
    }

    #[test]
    fn clock_that_jumped_may_end_a_suspicion_early() {
        assert_eq!(verdict(2, Duration::from_secs(2)), Ok(()));
        assert!(verdict(2, Duration::from_secs(1)).is_err());
    }

    #[test]
    fn suspicion_that_lasts_too_long_in_calm_weather_is_objected_to() {
        assert_eq!(verdict(22, Duration::ZERO), Ok(()));
        assert!(verdict(23, Duration::ZERO).is_err());
    }
}
