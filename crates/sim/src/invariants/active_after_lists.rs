//! A manager says that it is active only after it has the worker lists of all its peers.
//!
//! Nobody can have sent a list without speaking: when a manager has all lists, it must have heard every manager that lives
//! in its view; and before that it must not call itself active.
//!
//! One kind of manager is excused: who was never reached since it appeared in the view, for longer than a suspicion lasts. It
//! may be hearsay about a node that ended before anybody now living met it, which is forgotten only after two minutes; failure
//! detection does not cover it (a member counts only once it was reached), so waiting for its death would keep the manager from
//! its work for all of that time (seed 42636). One that was reached is never excused: if it is gone, it will be declared dead.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_swim::{EmbeddedState, Event, Phase};
use hyperscale_types::{NodeId, Now, Role};

use super::{Invariant, Seen, Verdict, What};

/// Twenty periods, on the clock of the manager that waits: the longest suspicion in a small cluster is 18.
const UNREACHED: Duration = Duration::from_secs(20);

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
            let is_excused = !peer.confirmed && waited >= UNREACHED;
            if !is_excused && !self.heard.contains(&(seen.node, peer.node)) {
                return Err(format!("has all worker lists, but never heard manager {}", peer.node));
            }
        }
        Ok(())
    }
}

fn says_active(state: Option<&EmbeddedState>) -> bool {
    matches!(state, Some(EmbeddedState::Manager(load)) if load.phase == Phase::Active)
}
