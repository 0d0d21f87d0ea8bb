//! A peer counts for failure detection only after it was reached: hearsay confirms nobody.

use std::collections::BTreeMap;

use hyperscale_swim::Event;
use hyperscale_types::{BootEpoch, NodeId};

use super::{Invariant, Seen, Verdict, What};

/// The newest life heard, per node and peer.
#[derive(Debug, Default)]
pub(super) struct ConfirmedByContact {
    heard: BTreeMap<(usize, NodeId), BootEpoch>,
}

impl Invariant for ConfirmedByContact {
    fn name(&self) -> &'static str {
        "confirmed_by_contact"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.heard.retain(|(node, _), _| *node != seen.node),
            What::Heard { from, boot } => {
                let newest = self.heard.entry((seen.node, *from)).or_default();
                *newest = (*newest).max(*boot);
            }
            What::Event(Event::Confirmed { node }) => {
                let boot = seen.swim.member(*node).map(|member| member.claim.boot);
                let heard = self.heard.get(&(seen.node, *node)).copied();
                if heard.is_none() || heard < boot {
                    return Err(format!("confirmed {node} (boot {boot:?}) but heard only boot {heard:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
