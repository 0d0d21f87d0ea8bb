//! Every transition to dead fires one event of death, and nothing else does: a leave is not a failure.

use std::collections::BTreeMap;

use hyperscale_swim::{Event, Status};
use hyperscale_types::NodeId;

use super::{Invariant, Seen, Verdict, What};

/// Events of death of the present input that no transition has answered for yet.
#[derive(Debug, Default)]
pub(super) struct DeathEvents {
    open: BTreeMap<NodeId, i32>,
}

impl Invariant for DeathEvents {
    fn name(&self) -> &'static str {
        "death_events"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Event(Event::Died { node, .. }) => *self.open.entry(*node).or_default() += 1,
            What::Transition(entry) => {
                let was_live = entry.before.is_some_and(|claim| claim.status.is_live());
                let died = entry.after.is_some_and(|claim| claim.status == Status::Dead);
                if was_live && died {
                    *self.open.entry(entry.node).or_default() -= 1;
                }
            }
            What::Handled => {
                let unbalanced = self.open.iter().find(|(_, count)| **count != 0).map(|it| (*it.0, *it.1));
                self.open.clear();
                match unbalanced {
                    Some((node, count)) if count > 0 => {
                        return Err(format!("{count} deaths of {node} told that did not happen"));
                    }
                    Some((node, count)) => return Err(format!("{} deaths of {node} not told", -count)),
                    None => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
