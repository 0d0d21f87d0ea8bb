//! Values that a workflow provides to others, gathered on one core.

use std::time::Instant;

use hyperscale_clients::http::Network;
use hyperscale_plan::model::workflow::Pick;
use hyperscale_types::limits;
use minijinja::Value;

use super::Core;
use super::scope::VuScope;
use super::vu::Vu;

/// One provided value and when it was produced, so that `first` and `last` can be chosen among all cores.
#[derive(Clone, Debug)]
pub(crate) struct Provided {
    /// Position in the workflow's `provides`.
    pub(crate) provide: usize,
    pub(crate) produced: Instant,
    pub(crate) value: Value,
}

/// What the virtual users of one core have provided so far.
#[derive(Debug, Default)]
pub(crate) struct Providing {
    values: Vec<Provided>,
}

impl Providing {
    /// A virtual user completed an iteration.
    pub(crate) fn iteration_ends<N: Network>(&mut self, core: &Core<N>, vu: &Vu<N>) {
        for (at, provide) in core.workflow().provides.iter().enumerate() {
            if provide.from_stats {
                continue;
            }
            let known = self.values.iter().position(|value| value.provide == at);
            match provide.pick {
                Pick::First if known.is_some() => {}
                // One value for each virtual user, taken when it ends.
                Pick::All => {}
                Pick::First | Pick::Last => {
                    if let Some(value) = produce(core, vu, at) {
                        known.map(|old| self.values.swap_remove(old));
                        self.values.push(value);
                    }
                }
            }
        }
    }

    /// A virtual user ends; its last iteration's results are still there.
    pub(crate) fn vu_ends<N: Network>(&mut self, core: &Core<N>, vu: &Vu<N>) {
        for (at, provide) in core.workflow().provides.iter().enumerate() {
            let full = self.values.iter().filter(|value| value.provide == at).count() >= limits::PICK_ALL_MAX;
            if provide.from_stats || provide.pick != Pick::All || full {
                continue;
            }
            self.values.extend(produce(core, vu, at));
        }
    }

    /// Everything, for the conductor.
    pub(crate) fn take(&mut self) -> Vec<Provided> {
        std::mem::take(&mut self.values)
    }
}

/// The value as this virtual user sees it; `None` if it refers to something that is not there.
fn produce<N: Network>(core: &Core<N>, vu: &Vu<N>, provide: usize) -> Option<Provided> {
    let value = core.workflow().provides[provide].value.value(&VuScope { core, vu }).ok()?;
    Some(Provided { provide, produced: Instant::now(), value })
}
