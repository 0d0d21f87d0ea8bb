//! Merging is monotone: after a message, what is stored about a member is at least what the message said, and a stored
//! identity never goes down even when its state does not change.
//!
//! The end of a live member that a view in anti-entropy lists is no news, as the view may be old: its subject is told and suspected,
//! but only once in a period. So nothing is demanded then.

use hyperscale_types::NodeId;

use super::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(super) struct MergeKeepsNewest;

impl Invariant for MergeKeepsNewest {
    fn name(&self) -> &'static str {
        "merge_keeps_newest"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Merged { from, boot, members, is_list } = &seen.what else { return Ok(()) };
        let me: NodeId = seen.swim.peer().node;
        // Nothing is believed of what a former life says, nor by a node that has gone.
        let is_stale = seen.swim.member(*from).is_some_and(|sender| sender.claim.boot > *boot);
        if is_stale || !seen.truth.runs(seen.node) {
            return Ok(());
        }
        for update in members.iter().filter(|update| update.peer.node != me) {
            let Some(member) = seen.swim.member(update.peer.node) else { continue };
            let is_doubted = *is_list && member.claim.status.is_live() && !update.claim.status.is_live();
            if member.claim < update.claim && !(is_doubted && update.peer.node != *from) {
                let (node, stored) = (update.peer.node, member.claim);
                return Err(format!("was told {:?} about {node} and holds {stored:?}", update.claim));
            }
        }
        Ok(())
    }
}
