//! A manager says that it is active only after it has the worker lists of all its peers.
//!
//! Nobody can have sent a list without speaking: when a manager has all lists, it must have heard every manager that lives
//! in its view; and before that it must not call itself active.
//!
//! One kind of manager is excused: who was never reached since it appeared in the view, for longer than a suspicion lasts. It
//! may be hearsay about a node that ended before anybody now living met it, which is forgotten only after two minutes; failure
//! detection does not cover it (a member counts only once it was reached), so waiting for its death would keep the manager from
//! its work for all of that time (seed 42636). One that was reached is never excused: if it is gone, it will be declared dead.
//! Nor is one that runs and that nothing keeps from responding: it is asked six times, over streams, which lose nothing in calm
//! weather.
//!
//! A core asks when it hears of a manager and with every fourth period, and gives it up at the seventh time: five times four
//! periods and a part of one after it appeared. Periods are a second or longer on the core's own clock, so that no core that keeps
//! its rule is objected to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_swim::{EmbeddedState, Event, Phase};
use hyperscale_types::{BootEpoch, NodeId, Now, Role};

use super::{Invariant, Seen, Verdict, What};

/// Twenty periods, on the clock of the manager that waits: the longest suspicion in a small cluster is 18.
const UNREACHED: Duration = Duration::from_secs(20);
/// Cuts and pauses that began before it was calm no longer keep anybody from responding.
const CALM_FOR_S: u64 = 90;

/// Who was heard by whom, and who has all lists, in their present lives.
#[derive(Debug, Default)]
pub(super) struct ActiveAfterLists {
    heard: BTreeSet<(usize, NodeId)>,
    /// When a member last appeared in a view, on the clock of who sees it.
    appeared: BTreeMap<(usize, NodeId), Now>,
    synced: BTreeSet<usize>,
}

impl Invariant for ActiveAfterLists {
    fn name(&self) -> &'static str {
        "active_after_lists"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => {
                self.heard.retain(|(node, _)| *node != seen.node);
                self.appeared.retain(|(node, _), _| *node != seen.node);
                self.synced.remove(&seen.node);
            }
            What::Event(Event::Joined { peer, .. }) => {
                self.appeared.insert((seen.node, peer.node), seen.clock.read(seen.at));
            }
            What::Heard { from, .. } => {
                self.heard.insert((seen.node, *from));
            }
            What::Event(Event::WorkersSynced) => {
                self.synced.insert(seen.node);
                return self.judge(seen);
            }
            What::Sent { datagram, .. }
                if says_active(datagram.embedded.as_deref().map(|embedded| &embedded.state))
                    && !self.synced.contains(&seen.node) =>
            {
                return Err("says it is active before it has the lists of its peers".to_owned());
            }
            _ => {}
        }
        Ok(())
    }
}

impl ActiveAfterLists {
    fn judge(&self, seen: &Seen<'_>) -> Verdict {
        let managers = seen.swim.members().filter(|member| member.role == Role::Manager);
        for peer in managers.filter(|member| member.claim.status.is_live()) {
            let appeared = self.appeared.get(&(seen.node, peer.node));
            let waited = appeared.map_or(Duration::ZERO, |since| seen.clock.read(seen.at).since(*since));
            let is_excused =
                !peer.confirmed && waited >= UNREACHED && !responds(seen, peer.node, peer.claim.boot);
            if !is_excused && !self.heard.contains(&(seen.node, peer.node)) {
                return Err(format!("has all worker lists, but never heard manager {}", peer.node));
            }
        }
        Ok(())
    }
}

/// Whether nothing keeps this life of a manager from responding.
fn responds(seen: &Seen<'_>, node: NodeId, boot: BootEpoch) -> bool {
    let is_cut_off = seen.truth.absent.contains(&seen.node);
    seen.truth.lives(node, boot) && !is_cut_off && seen.truth.is_calm(seen.at, CALM_FOR_S)
}

fn says_active(state: Option<&EmbeddedState>) -> bool {
    matches!(state, Some(EmbeddedState::Manager(load)) if load.phase == Phase::Active)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::scene::Scene;
    use crate::moment::Moment;
    use crate::process::Crash;
    use crate::world::id_of;
    use crate::world::node::peer_of;

    /// The first of three managers has heard the second one, and only hears of the third one.
    fn scene() -> Scene {
        let mut scene = Scene::of(&[0, 0]);
        scene.hear_of(2, 0);
        scene.truth.disturbed_until(Moment::seconds(1_000));
        scene
    }

    /// What is said when the first one has all lists, `seconds` after it heard of the third one.
    fn verdict(scene: &Scene, heard: usize, at: u64, seconds: u64) -> Verdict {
        let mut judge = ActiveAfterLists::default();
        let peer = peer_of(2, Role::Manager);
        let joined = Event::Joined { peer, boot: BootEpoch(1), returned: false };
        scene.ask(&mut judge, 0, at, What::Event(&joined))?;
        for index in 1..=heard {
            scene.ask(&mut judge, 0, at, What::Heard { from: id_of(index), boot: BootEpoch(1) })?;
        }
        scene.ask(&mut judge, 0, at + seconds, What::Event(&Event::WorkersSynced))
    }

    #[test]
    fn manager_that_was_never_reached_is_waited_for_twenty_seconds() {
        assert!(verdict(&scene(), 1, 500, 19).is_err());
        assert_eq!(verdict(&scene(), 1, 500, 20), Ok(()));
        assert_eq!(verdict(&scene(), 2, 500, 0), Ok(()), "it sent its list");
    }

    #[test]
    fn manager_that_was_reached_is_waited_for_however_long() {
        assert!(verdict(&scene(), 0, 500, 100).is_err());
    }

    #[test]
    fn manager_that_runs_is_waited_for_in_calm_weather() {
        assert_eq!(verdict(&scene(), 1, 1_000, 89), Ok(()));
        assert!(verdict(&scene(), 1, 1_000, 90).is_err());
        let mut scene = scene();
        assert!(scene.truth.nodes[2].process.crash(Crash::Machine));
        assert_eq!(verdict(&scene, 1, 1_000, 90), Ok(()), "it is gone");
    }
}
