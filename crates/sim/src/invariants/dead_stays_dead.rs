//! No dead node lives again without a newer identity, and no claim is ever replaced by an older one.
//!
//! The highest claim a node ever held about another is remembered here as long as the node lives, also beyond the time
//! after which the core forgets the dead.

use std::collections::BTreeMap;

use hyperscale_swim::{Claim, Status};
use hyperscale_types::NodeId;

use super::{Invariant, Seen, Verdict, What};

/// The highest claim per node and peer.
#[derive(Debug, Default)]
pub(super) struct DeadStaysDead {
    highest: BTreeMap<(usize, NodeId), Claim>,
}

impl Invariant for DeadStaysDead {
    fn name(&self) -> &'static str {
        "dead_stays_dead"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.highest.retain(|(node, _), _| *node != seen.node),
            What::Transition(entry) => {
                let Some(after) = entry.after else { return Ok(()) };
                let before = self.highest.insert((seen.node, entry.node), after);
                if let Some(before) = before {
                    return judge(entry.node, before, after);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn judge(node: NodeId, before: Claim, after: Claim) -> Verdict {
    let identity = |claim: Claim| (claim.boot, claim.incarnation);
    if identity(after) < identity(before) {
        return Err(format!("{node} went back from {before:?} to {after:?}"));
    }
    let was_gone = matches!(before.status, Status::Dead | Status::Left);
    if was_gone && after.status.is_live() && identity(after) <= identity(before) {
        return Err(format!("{node} lives again as {after:?} after {before:?}"));
    }
    Ok(())
}
