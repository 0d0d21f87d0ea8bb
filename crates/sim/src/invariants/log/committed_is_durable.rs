//! What somebody applied is on the disks of a majority of the voters, and synced: no crash can take it back.
//!
//! A leader counts by the configuration that it has applied, and while its own disk is slow that is an earlier one than its
//! followers'. They are in the joint configuration by then, in which nobody is elected without a majority of both halves:
//! one half that holds an entry keeps it.

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
        if configurations.iter().any(|configuration| is_kept(configuration, holders)) {
            return Ok(());
        }
        Err(format!("applied entry {index}, which only {holders:?} of {:?} hold", configurations[1]))
    }
}

/// Whether nobody can be elected without one of the holders.
fn is_kept(configuration: &Configuration, holders: &[RaftId]) -> bool {
    let is_majority = |voters: &[RaftId]| {
        let held = voters.iter().filter(|id| holders.contains(id)).count();
        held > voters.len() / 2
    };
    is_majority(&configuration.voters) || is_majority(&configuration.voters_outgoing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u64]) -> Vec<RaftId> {
        numbers.iter().map(|number| RaftId::new(*number).unwrap()).collect()
    }

    #[test]
    fn majority_of_the_voters_keeps_an_entry_and_half_does_not() {
        let four = Configuration { voters: ids(&[2, 3, 4, 5]), ..Configuration::default() };
        assert!(is_kept(&four, &ids(&[2, 4, 5])));
        assert!(!is_kept(&four, &ids(&[2, 4])) && !is_kept(&four, &ids(&[2, 4, 9])));
    }

    #[test]
    fn one_half_of_a_joint_configuration_keeps_an_entry() {
        let (voters, voters_outgoing) = (ids(&[2, 3, 4, 5]), ids(&[2, 3, 4]));
        let joint = Configuration { voters, voters_outgoing, ..Configuration::default() };
        assert!(is_kept(&joint, &ids(&[2, 4])));
        assert!(!is_kept(&joint, &ids(&[2])) && !is_kept(&joint, &ids(&[2, 5])));
    }
}
