//! A manager says that it is active only after it has the worker lists of all its peers.
//!
//! Nobody can have sent a list without speaking: when a manager has all lists, it must have heard every manager that lives
//! in its view; and before that it must not call itself active.

use std::collections::BTreeSet;

use hyperscale_swim::{EmbeddedState, Event, Phase};
use hyperscale_types::{NodeId, Role};

use super::{Invariant, Seen, Verdict, What};

/// Who was heard by whom, and who has all lists, in their present lives.
#[derive(Debug, Default)]
pub(super) struct ActiveAfterLists {
    heard: BTreeSet<(usize, NodeId)>,
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
                self.synced.remove(&seen.node);
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
            if !self.heard.contains(&(seen.node, peer.node)) {
                return Err(format!("has all worker lists, but never heard manager {}", peer.node));
            }
        }
        Ok(())
    }
}

fn says_active(state: Option<&EmbeddedState>) -> bool {
    matches!(state, Some(EmbeddedState::Manager(load)) if load.phase == Phase::Active)
}
