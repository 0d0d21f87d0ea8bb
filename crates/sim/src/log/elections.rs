//! Who can be elected, as raft-rs does it: under the configuration that the candidate itself has applied, by votes of everybody
//! whose log is not ahead of the candidate's.

use hyperscale_consensus::storage::Loaded;
use hyperscale_consensus::{Configuration, ConfigurationStep, EntryBody, RaftId};

/// A replica as far as elections go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its id in the group.
    pub id: RaftId,
    /// Term and place of the last entry of its log.
    pub last: (u64, u64),
    /// The configurations under which it may ask for votes.
    pub configurations: Vec<Configuration>,
    /// Whether it has the entry that is asked about.
    pub holds: bool,
}

impl Standing {
    /// Whether it would be elected if all of them ran and reached each other.
    pub fn can_be_elected(&self, all: &[Standing]) -> bool {
        let grants = |id: &RaftId| all.iter().any(|voter| voter.id == *id && voter.last <= self.last);
        let is_won = |half: &[RaftId]| half.iter().filter(|id| grants(id)).count() > half.len() / 2;
        self.configurations.iter().any(|configuration| {
            let Configuration { voters, voters_outgoing, .. } = configuration;
            configuration.is_voter(self.id)
                && is_won(voters)
                && (voters_outgoing.is_empty() || is_won(voters_outgoing))
        })
    }
}

/// Term and place of the last entry on a disk.
pub fn last_entry(loaded: &Loaded) -> (u64, u64) {
    let snapshot = (loaded.snapshot.term, loaded.snapshot.index);
    loaded.entries.last().map_or(snapshot, |entry| (entry.term, entry.index).max(snapshot))
}

/// The configuration that a replica has applied once it has started from this disk: that of its snapshot, with the changes up to
/// the last entry that it knows to be committed.
pub fn restarted_with(loaded: &Loaded) -> Configuration {
    let mut configuration = loaded.snapshot.configuration.clone();
    let committed = loaded.hard_state.commit;
    let known = loaded.entries.iter().filter(|entry| entry.index > loaded.snapshot.index);
    for entry in known.take_while(|entry| entry.index <= committed) {
        if let EntryBody::Configuration(change) = &entry.body {
            make(&mut configuration, &change.steps);
        }
    }
    configuration
}

/// Enters a joint configuration, or leaves it if there are no steps.
fn make(configuration: &mut Configuration, steps: &[ConfigurationStep]) {
    if steps.is_empty() {
        configuration.voters_outgoing.clear();
        return;
    }
    configuration.voters_outgoing.clone_from(&configuration.voters);
    for step in steps {
        let (ConfigurationStep::AddVoter(id)
        | ConfigurationStep::AddLearner(id)
        | ConfigurationStep::Remove(id)) = *step;
        configuration.voters.retain(|voter| *voter != id);
        configuration.learners.retain(|learner| *learner != id);
        match step {
            ConfigurationStep::AddVoter(_) => configuration.voters.push(id),
            ConfigurationStep::AddLearner(_) => configuration.learners.push(id),
            ConfigurationStep::Remove(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperscale_consensus::{ConfigurationChange, Entry, HardState, Snapshot};

    fn ids(numbers: &[u64]) -> Vec<RaftId> {
        numbers.iter().map(|number| RaftId::new(*number).unwrap()).collect()
    }

    fn of(voters: &[u64], outgoing: &[u64]) -> Configuration {
        Configuration { voters: ids(voters), voters_outgoing: ids(outgoing), ..Configuration::default() }
    }

    fn standing(id: u64, last: (u64, u64), configuration: &Configuration) -> Standing {
        let configurations = vec![configuration.clone()];
        Standing { id: ids(&[id])[0], last, configurations, holds: false }
    }

    #[test]
    fn majority_whose_logs_are_not_ahead_elects() {
        let three = of(&[1, 2, 3], &[]);
        let all = [(1, (2, 5)), (2, (2, 5)), (3, (2, 4))].map(|(id, last)| standing(id, last, &three));
        assert!(all[0].can_be_elected(&all) && all[1].can_be_elected(&all));
        assert!(!all[2].can_be_elected(&all), "it has its own vote only");
        let newer = standing(3, (3, 1), &three);
        assert!(
            newer.can_be_elected(&[all[0].clone(), all[1].clone(), newer.clone()]),
            "a later term is ahead"
        );
        assert!(!all[0].can_be_elected(&all[..1]), "alone it is no majority");
    }

    #[test]
    fn joint_configuration_needs_both_halves_and_each_counts_by_its_own() {
        let (joint, old) = (of(&[1, 2, 3, 4], &[1, 2, 3]), of(&[1, 2, 3], &[]));
        let all =
            |configuration: &Configuration| [1, 2, 4].map(|id| standing(id, (1, 1), configuration)).to_vec();
        assert!(all(&joint)[0].can_be_elected(&all(&joint)));
        let without_two: Vec<Standing> = all(&joint).into_iter().filter(|it| it.id.get() != 2).collect();
        assert!(!without_two[0].can_be_elected(&without_two), "one of the three that were before");
        let mut stale = all(&joint);
        stale[2] = standing(4, (1, 1), &old);
        assert!(!stale[2].can_be_elected(&stale), "it does not know that it votes");
    }

    #[test]
    fn restart_begins_with_the_changes_that_are_known_to_be_committed() {
        let change = |index, steps: &[ConfigurationStep]| {
            let body = EntryBody::Configuration(ConfigurationChange { steps: steps.to_vec(), member: None });
            Entry { index, term: 1, body }
        };
        let four = ids(&[4])[0];
        let mut loaded = Loaded {
            snapshot: Snapshot {
                index: 1,
                term: 1,
                configuration: of(&[1, 2, 3], &[]),
                ..Snapshot::default()
            },
            entries: vec![change(2, &[ConfigurationStep::AddVoter(four)]), change(3, &[])],
            ..Loaded::default()
        };
        for (commit, expected) in
            [(1, of(&[1, 2, 3], &[])), (2, of(&[1, 2, 3, 4], &[1, 2, 3])), (3, of(&[1, 2, 3, 4], &[]))]
        {
            loaded.hard_state = HardState { commit, ..HardState::default() };
            assert_eq!(restarted_with(&loaded), expected, "{commit}");
        }
        assert_eq!(last_entry(&loaded), (1, 3));
    }
}
