//! What somebody applied stays, whatever crashes: no replica without the entry can be elected.
//!
//! An entry is lost when a leader without it is elected: it then overwrites the entry on everybody else. So the judge asks, at
//! the moment when an entry is first applied anywhere, for every replica without it: would it win an election now, if the power
//! failed everywhere? Then only disks count. Its voters are those whose logs on disk are not ahead of its own, with the entry or
//! without; replicas whose disk is lost never vote again under their id. It counts them by a configuration of its own – the one
//! that it has applied, if it survives, or the one that it starts with again, as its disk may not know the last commits. A joint
//! configuration needs a majority of each half.
//!
//! Both directions are exact. If such a replica exists, the crash and the order of messages that elect it are possible, and the
//! entry is gone. If none exists, nobody without the entry becomes the next leader; whoever does has it, and only makes more
//! copies. A majority of holders, which this judge counted before, is neither enough (each half of a joint configuration, the
//! stale configuration of a candidate) nor needed (one half suffices).

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};
use crate::log::elections::Standing;

#[derive(Debug)]
pub(in crate::invariants) struct CommittedIsDurable;

impl Invariant for CommittedIsDurable {
    fn name(&self) -> &'static str {
        "committed_is_durable"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Committed { index, replicas }) = &seen.what else { return Ok(()) };
        match usurper(replicas) {
            None => Ok(()),
            Some(it) => {
                let holders: Vec<_> = replicas.iter().filter(|it| it.holds).map(|it| it.id).collect();
                Err(format!("applied entry {index}, held by {holders:?}; without it {it:?} can be elected"))
            }
        }
    }
}

/// The first replica without the entry that can be elected.
fn usurper(replicas: &[Standing]) -> Option<&Standing> {
    replicas.iter().filter(|it| !it.holds).find(|it| it.can_be_elected(replicas))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperscale_consensus::{Configuration, RaftId};

    fn of(voters: &[u64], outgoing: &[u64]) -> Configuration {
        let ids = |numbers: &[u64]| numbers.iter().map(|number| RaftId::new(*number).unwrap()).collect();
        Configuration { voters: ids(voters), voters_outgoing: ids(outgoing), ..Configuration::default() }
    }

    /// All of these replicas, the entry on those named, each with its configuration.
    fn is_kept(replicas: &[(u64, &Configuration)], holders: &[u64]) -> bool {
        let standing = |(id, configuration): &(u64, &Configuration)| Standing {
            id: RaftId::new(*id).unwrap(),
            last: (1, 1 + u64::from(holders.contains(id))),
            configurations: vec![(*configuration).clone()],
            holds: holders.contains(id),
        };
        usurper(&replicas.iter().map(standing).collect::<Vec<_>>()).is_none()
    }

    #[test]
    fn majority_of_the_voters_keeps_an_entry_and_half_does_of_an_even_number() {
        let (three, four) = (of(&[1, 2, 3], &[]), of(&[1, 2, 3, 4], &[]));
        let three = [1, 2, 3].map(|id| (id, &three));
        assert!(is_kept(&three, &[1, 3]) && !is_kept(&three, &[1]));
        let four = [1, 2, 3, 4].map(|id| (id, &four));
        assert!(is_kept(&four, &[1, 3]), "the other two are no majority");
        assert!(!is_kept(&four, &[1]));
    }

    #[test]
    fn one_half_of_a_joint_configuration_keeps_an_entry() {
        let joint = of(&[2, 3, 4, 5], &[2, 3, 4]);
        let all = [2, 3, 4, 5].map(|id| (id, &joint));
        assert!(is_kept(&all, &[2, 4]) && !is_kept(&all, &[2]));
        assert!(is_kept(&all, &[2, 5]), "two of the four that come are left, no majority");
    }

    #[test]
    fn candidate_with_a_stale_configuration_counts_by_that_one() {
        let (old, new) = (of(&[1, 2, 3], &[]), of(&[1, 2, 3, 4, 5], &[]));
        let knows = [1, 2, 3, 4, 5].map(|id| (id, &new));
        assert!(is_kept(&knows, &[1, 4, 5]));
        let mut one_is_behind = knows;
        one_is_behind[1] = (2, &old);
        assert!(!is_kept(&one_is_behind, &[1, 4, 5]), "two of the three it knows");
        assert!(is_kept(&one_is_behind, &[1, 3, 4]));
    }

    #[test]
    fn replica_whose_log_is_ahead_gets_the_votes_of_holders_too() {
        let three = of(&[1, 2, 3], &[]);
        let standing = |id, last, holds| {
            let (id, configurations) = (RaftId::new(id).unwrap(), vec![three.clone()]);
            Standing { id, last, configurations, holds }
        };
        let all = [standing(1, (1, 2), true), standing(2, (1, 2), true), standing(3, (2, 1), false)];
        assert!(usurper(&all).is_some());
    }

    #[test]
    fn replicas_whose_disk_is_lost_elect_nobody() {
        let three = of(&[1, 2, 3], &[]);
        assert!(is_kept(&[(1, &three), (2, &three)], &[1]), "the third one never votes again");
    }
}
