//! Replicas that applied the same entries are in the same state, and none ever has to stop because it is not.

use std::collections::BTreeMap;

use hyperscale_consensus::StateHash;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The hash, per group and entry.
#[derive(Debug, Default)]
pub(in crate::invariants) struct StateHashes {
    hashes: BTreeMap<(u8, u64), StateHash>,
}

impl Invariant for StateHashes {
    fn name(&self) -> &'static str {
        "state_hash"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Log(Logged::State { index, hash }) => {
                let first = *self.hashes.entry((seen.cluster(), *index)).or_insert(*hash);
                if first == *hash {
                    return Ok(());
                }
                Err(format!("state after entry {index} is {hash:?}, and elsewhere {first:?}"))
            }
            What::Log(Logged::Halted(halt)) => Err(format!("stopped: {halt}")),
            _ => Ok(()),
        }
    }
}
