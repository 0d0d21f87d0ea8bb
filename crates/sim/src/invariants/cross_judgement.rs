//! Other clusters are judged with care: nobody gives a cluster up while it holds its judgement, or before it has suspected it
//! for the full time in which all members are probed; most of them at once are not given up without having held it, and in
//! calm weather no cluster that answers is given up at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_swim::federation::{ClusterName, FederationConfig, FederationEvent, Reachability};
use hyperscale_types::Now;

use super::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;
use crate::world::{Truth, World, cluster_name};

/// What came from earlier trouble has passed by then.
const CALM_FOR_S: u64 = 90;
/// Whoever has run for so long has been asked by everybody.
const RUNS_FOR: Duration = Duration::from_secs(30);
/// Clusters that became suspected within this time fell silent together; a little less than the core's own window, which it
/// measures on its own clock. The core excludes the lateness of its ticks, which moves suspicions closer together and never
/// further apart. Of a clock jump it cannot see the part before its next tick is due, which is at most half a second.
const TOGETHER: Duration = Duration::from_secs(9);

/// When a suspicion began.
#[derive(Clone, Copy, Debug)]
struct Began {
    /// In true time.
    at: Moment,
    /// On the clock of the node that suspects, by which it also gives up: no tolerance is needed. Excluding the lateness of
    /// its ticks makes it wait longer, never shorter.
    shown: Now,
}

/// What each node thinks of other clusters, in its present life.
#[derive(Debug, Default)]
pub(super) struct CrossJudgement {
    suspected: BTreeMap<usize, BTreeMap<ClusterName, Began>>,
    holding: BTreeSet<usize>,
    /// Held since somebody was last suspected by a node that suspected nobody.
    held: BTreeSet<usize>,
}

impl Invariant for CrossJudgement {
    fn name(&self) -> &'static str {
        "cross_judgement"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.forget(seen.node),
            What::Cross(event) => return self.judge(seen, event),
            _ => {}
        }
        Ok(())
    }
}

/// Whether most of those who can be asked in a cluster have run for a while and can be reached.
fn answers(seen: &Seen<'_>, cluster: &ClusterName) -> bool {
    let Some(cluster) = number_of(seen.truth, cluster) else { return false };
    let asked = seen.truth.voters(cluster);
    let runs = |index: &usize| {
        let fact = &seen.truth.nodes[*index];
        let is_up = fact.process.is_up() && !seen.truth.absent.contains(index);
        is_up && seen.at.since(fact.since) >= RUNS_FOR
    };
    asked.clone().filter(runs).count() * 2 > asked.count()
}

fn number_of(truth: &Truth, name: &ClusterName) -> Option<u8> {
    (0..truth.clusters()).find(|cluster| cluster_name(*cluster) == *name)
}

/// The first node that does not reach a cluster in which somebody runs.
pub fn cut_off(world: &World) -> Option<String> {
    for (index, node) in world.nodes.iter().enumerate().filter(|(index, _)| world.truth.stays(*index)) {
        let Some(core) = &node.federation else { continue };
        let somebody_runs = |name: &ClusterName| {
            let cluster = number_of(&world.truth, name);
            cluster.is_some_and(|cluster| world.truth.voters(cluster).any(|other| world.truth.stays(other)))
        };
        let mut lost = core.clusters().filter(|view| view.reachability != Reachability::Reachable);
        if let Some(view) = lost.find(|view| somebody_runs(view.name)) {
            let (me, it) = (world.name_of(index), &view.name.0);
            return Some(format!("{me} takes {it} for {:?}", view.reachability));
        }
    }
    None
}

impl CrossJudgement {
    fn forget(&mut self, node: usize) {
        self.suspected.remove(&node);
        self.holding.remove(&node);
        self.held.remove(&node);
    }

    fn judge(&mut self, seen: &Seen<'_>, event: &FederationEvent) -> Verdict {
        let node = seen.node;
        let suspected = self.suspected.entry(node).or_default();
        match event {
            FederationEvent::Suspected { cluster, .. } => {
                let began = Began { at: seen.at, shown: seen.clock.read(seen.at) };
                suspected.insert(cluster.clone(), began);
            }
            FederationEvent::Reachable { cluster } => {
                suspected.remove(cluster);
                if suspected.is_empty() {
                    self.held.remove(&node);
                }
            }
            FederationEvent::JudgementHeld { .. } => {
                self.holding.insert(node);
                self.held.insert(node);
            }
            FederationEvent::JudgementResumed { .. } => {
                self.holding.remove(&node);
            }
            FederationEvent::Unreachable { cluster, .. } => return self.given_up(seen, cluster),
            FederationEvent::AggregateChanged { .. } => {}
        }
        Ok(())
    }

    fn given_up(&self, seen: &Seen<'_>, cluster: &ClusterName) -> Verdict {
        if self.holding.contains(&seen.node) {
            return Err(format!("gives {} up while it holds its judgement", cluster.0));
        }
        let suspected = &self.suspected[&seen.node];
        let Some(Began { at: since, shown }) = suspected.get(cluster).copied() else {
            return Err(format!("gives {} up without having suspected it", cluster.0));
        };
        let waited = seen.clock.read(seen.at).since(shown);
        if waited < FederationConfig::wan().unreachable_after {
            return Err(format!("gives {} up {waited:?} after it began to suspect it", cluster.0));
        }
        let apart = |at: Moment| if at > since { at.since(since) } else { since.since(at) };
        let together = suspected.values().filter(|began| apart(began.at) <= TOGETHER).count();
        if together > 1 && together == suspected.len() && !self.held.contains(&seen.node) {
            let name = &cluster.0;
            return Err(format!(
                "gives {name} up, one of {together} that fell silent together, without a hold"
            ));
        }
        // A node that the schedule cuts off for good gets no answer from anybody: giving clusters up is right there.
        let is_cut_off = seen.truth.absent.contains(&seen.node);
        if answers(seen, cluster) && !is_cut_off && seen.truth.is_calm(seen.at, CALM_FOR_S) {
            return Err(format!("gives {} up though it answers", cluster.0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::scene::Scene;

    /// What is said when a node that began to suspect these clusters, each at its second, gives the first one up.
    fn verdict(suspected: &[(u8, u64)], gives_up_at: u64) -> Verdict {
        let mut scene = Scene::of(&[0, 1, 2]);
        scene.truth.disturbed_until(Moment::seconds(1000));
        let (mut judge, silent) = (CrossJudgement::default(), Duration::ZERO);
        for (cluster, second) in suspected {
            let event = FederationEvent::Suspected { cluster: cluster_name(*cluster), silent };
            scene.ask(&mut judge, 0, *second, What::Cross(&event))?;
        }
        let event = FederationEvent::Unreachable { cluster: cluster_name(1), silent };
        scene.ask(&mut judge, 0, gives_up_at, What::Cross(&event))
    }

    #[test]
    fn cluster_is_suspected_for_the_full_time_before_it_is_given_up() {
        assert!(verdict(&[(1, 100)], 100).is_err(), "with the same tick");
        assert!(verdict(&[(1, 100)], 109).is_err());
        assert_eq!(verdict(&[(1, 100)], 110), Ok(()));
        assert!(verdict(&[], 110).is_err(), "never suspected");
    }

    #[test]
    fn clusters_that_fell_silent_together_are_not_given_up_without_a_hold() {
        assert!(verdict(&[(1, 100), (2, 105)], 112).is_err());
        assert_eq!(verdict(&[(1, 100), (2, 111)], 112), Ok(()));
    }
}
