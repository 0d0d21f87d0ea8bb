//! What somebody applied is on the disks of a majority of the voters, and synced: no crash can take it back.

use hyperscale_consensus::{Configuration, RaftId};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(in crate::invariants) struct CommittedIsDurable;

impl Invariant for CommittedIsDurable {
    fn name(&self) -> &'static str {
        "committed_is_durable"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Committed { index, holders, configurations }) = &seen.what else {
            return Ok(());
        };
        // Entries after a change may have been committed by the voters before it: they were applied together.
        if configurations.iter().any(|voters| has_majority(voters, holders)) {
            return Ok(());
        }
        Err(format!("applied entry {index}, which only {holders:?} of {:?} hold", configurations[1].voters))
    }
}

fn has_majority(configuration: &Configuration, holders: &[RaftId]) -> bool {
    let is_enough = |voters: &[RaftId]| {
        let held = voters.iter().filter(|id| holders.contains(id)).count();
        voters.is_empty() || held > voters.len() / 2
    };
    is_enough(&configuration.voters) && is_enough(&configuration.voters_outgoing)
}
