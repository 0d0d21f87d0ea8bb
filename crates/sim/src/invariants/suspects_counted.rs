//! The number of suspects that a node tells is the number of members that its table shows as suspected.
//!
//! The core does not count: it tells how many suspicions run. The table is only read through when it changed; the number that
//! is told is compared after every input.

use std::collections::BTreeMap;

use hyperscale_swim::Status;

use super::{Invariant, Seen, Verdict, What};

/// Members that each node suspects, by its table, as of its last transition.
#[derive(Debug, Default)]
pub(super) struct SuspectsCounted {
    suspects: BTreeMap<usize, usize>,
    /// The node whose table changed with the input that is dealt with.
    changed: Option<usize>,
}

impl Invariant for SuspectsCounted {
    fn name(&self) -> &'static str {
        "suspects_counted"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => {
                self.suspects.remove(&seen.node);
            }
            What::Transition(_) => self.changed = Some(seen.node),
            What::Handled => {
                if self.changed.take() == Some(seen.node) {
                    let suspected =
                        seen.swim.members().filter(|member| member.claim.status == Status::Suspect);
                    self.suspects.insert(seen.node, suspected.count());
                }
                let suspected = self.suspects.get(&seen.node).copied().unwrap_or(0);
                return compare(suspected, seen.swim.suspect_count());
            }
            _ => {}
        }
        Ok(())
    }
}

fn compare(suspected: usize, told: usize) -> Verdict {
    if suspected == told {
        return Ok(());
    }
    Err(format!("tells of {told} suspects, {suspected} members are suspected"))
}
