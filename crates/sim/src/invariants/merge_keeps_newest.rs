//! Merging is monotone: after a datagram, what is stored about a member is at least what the datagram said, and a stored
//! identity never goes down even when its state does not change.

use hyperscale_types::NodeId;

use super::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(super) struct MergeKeepsNewest;

impl Invariant for MergeKeepsNewest {
    fn name(&self) -> &'static str {
        "merge_keeps_newest"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Merged { from, boot, members } = &seen.what else { return Ok(()) };
        let me: NodeId = seen.swim.peer().node;
        // Nothing is believed of what a former life says, nor by a node that has gone.
        let is_stale = seen.swim.member(*from).is_some_and(|sender| sender.claim.boot > *boot);
        if is_stale || !seen.truth.runs(seen.node) {
            return Ok(());
        }
        for update in members.iter().filter(|update| update.peer.node != me) {
            let Some(member) = seen.swim.member(update.peer.node) else { continue };
            if member.claim < update.claim {
                let (node, stored) = (update.peer.node, member.claim);
                return Err(format!("was told {:?} about {node} and holds {stored:?}", update.claim));
            }
        }
        Ok(())
    }
}
