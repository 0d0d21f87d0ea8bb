//! Replicas that applied the same entries are in the same state, and none ever has to stop because it is not.
//!
//! A founding that the operator abandons is another group than the one that is founded next, with other members and so with
//! another state after its first entry. One founder may have opened it before it lost its disk (seed 51867): alone it can decide
//! nothing, as founders that only acknowledged do not vote. So its states are forgotten, and that nothing beyond the founding was
//! ever applied is demanded instead.

use std::collections::BTreeMap;

use hyperscale_consensus::StateHash;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The entry that founds a group.
const FOUNDING: u64 = 1;

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
            What::Log(Logged::FoundingAbandoned { cluster }) => {
                let of_it = (*cluster, 0)..=(*cluster, u64::MAX);
                let decided =
                    self.hashes.range(of_it).map(|((_, index), _)| *index).find(|it| *it > FOUNDING);
                self.hashes.retain(|(it, _), _| it != cluster);
                match decided {
                    Some(index) => Err(format!("a group that applied entry {index} was emptied")),
                    None => Ok(()),
                }
            }
            What::Log(Logged::Halted(halt)) => Err(format!("stopped: {halt}")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_consensus::Halt;

    use super::*;
    use crate::invariants::scene::Scene;

    fn state(index: u64, hash: u64) -> What<'static> {
        What::Log(Logged::State { index, hash: StateHash(hash) })
    }

    #[test]
    fn two_states_after_one_entry_are_objected_to() {
        let (scene, mut judge) = (Scene::of(&[0, 0]), StateHashes::default());
        assert!(scene.ask(&mut judge, 0, 1, state(7, 1)).is_ok());
        assert!(scene.ask(&mut judge, 1, 2, state(7, 2)).is_err());
    }

    #[test]
    fn replica_that_stops_is_objected_to() {
        let halt = Halt::Diverged { index: 7, ours: StateHash(1), theirs: StateHash(2) };
        let halted = What::Log(Logged::Halted(&halt));
        assert!(Scene::of(&[0]).ask(&mut StateHashes::default(), 0, 1, halted).is_err());
    }

    #[test]
    fn founding_that_is_abandoned_is_another_group_unless_it_decided_something() {
        let abandoned = || What::Log(Logged::FoundingAbandoned { cluster: 0 });
        for (index, is_fine) in [(1, true), (2, false)] {
            let (scene, mut judge) = (Scene::of(&[0, 0]), StateHashes::default());
            assert!(scene.ask(&mut judge, 0, 1, state(index, 1)).is_ok());
            assert_eq!(scene.ask(&mut judge, 0, 2, abandoned()).is_ok(), is_fine);
            assert!(scene.ask(&mut judge, 1, 3, state(1, 2)).is_ok());
        }
    }

    #[test]
    fn states_after_other_entries_and_of_other_groups_are_fine() {
        let (scene, mut judge) = (Scene::of(&[0, 0, 1]), StateHashes::default());
        for (node, index, hash) in [(0, 7, 1), (1, 7, 1), (1, 8, 2), (2, 7, 3)] {
            assert!(scene.ask(&mut judge, node, 1, state(index, hash)).is_ok());
        }
    }
}
