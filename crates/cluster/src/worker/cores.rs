//! The worker's cores and who has them.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::JobId;

use crate::message::JobAttempt;

/// A core group of a job.
pub(super) type GroupKey = (JobId, u32);

/// Which group has which cores.
#[derive(Clone, Debug)]
pub(super) struct CoreTable {
    total: u32,
    groups: BTreeMap<GroupKey, Group>,
}

#[derive(Clone, Debug)]
struct Group {
    cores: Vec<u32>,
    /// Attempts that use them.
    users: BTreeSet<JobAttempt>,
}

impl CoreTable {
    pub(super) fn new(total: u32) -> Self {
        Self { total, groups: BTreeMap::new() }
    }

    /// Cores that are promised to nobody.
    pub(super) fn free(&self) -> u32 {
        let taken: usize = self.groups.values().map(|group| group.cores.len()).sum();
        self.total.saturating_sub(taken as u32)
    }

    /// The cores of a group: those it has, or the first free ones, never more than asked for.
    pub(super) fn take(&mut self, key: GroupKey, user: JobAttempt, cores: u32) -> Result<Vec<u32>, u32> {
        if !self.groups.contains_key(&key) {
            let taken: BTreeSet<u32> = self.groups.values().flat_map(|group| &group.cores).copied().collect();
            let free: Vec<u32> =
                (0..self.total).filter(|core| !taken.contains(core)).take(cores as usize).collect();
            if free.len() < cores as usize || cores == 0 {
                return Err(self.free());
            }
            self.groups.insert(key, Group { cores: free, users: BTreeSet::new() });
        }
        let group = self.groups.get_mut(&key).expect("it was made just now");
        if group.cores.len() < cores as usize {
            return Err(group.cores.len() as u32);
        }
        group.users.insert(user);
        Ok(group.cores.clone())
    }

    /// An attempt uses its cores no more; they are free when no other of its group does.
    pub(super) fn give_back(&mut self, user: JobAttempt) {
        self.groups.retain(|_, group| {
            group.users.remove(&user);
            !group.users.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_job::{AttemptId, SegmentId, SegmentKind};

    use super::*;

    fn user(job: u8, index: u32) -> JobAttempt {
        let segment = SegmentId { workflow: 0, kind: SegmentKind::Load, index };
        JobAttempt { job: JobId([job; 16]), attempt: AttemptId { segment, number: 1 } }
    }

    #[test]
    fn group_has_the_first_free_cores_and_never_more_than_asked_for() {
        let mut table = CoreTable::new(4);
        let (one, two) = ((JobId([1; 16]), 0), (JobId([2; 16]), 0));
        assert_eq!(table.take(one, user(1, 0), 2), Ok(vec![0, 1]));
        assert_eq!(table.take(two, user(2, 0), 3), Err(2));
        assert_eq!(table.take(two, user(2, 0), 1), Ok(vec![2]));
        assert_eq!(table.free(), 1);
        table.give_back(user(1, 0));
        assert_eq!(table.take(one, user(1, 1), 3), Ok(vec![0, 1, 3]));
    }

    #[test]
    fn attempts_of_a_group_share_its_cores_until_the_last_one_ends() {
        let mut table = CoreTable::new(2);
        let group = (JobId([1; 16]), 3);
        assert_eq!(table.take(group, user(1, 0), 2), Ok(vec![0, 1]));
        assert_eq!(table.take(group, user(1, 1), 2), Ok(vec![0, 1]));
        assert_eq!(table.take(group, user(1, 2), 3), Err(2), "the group has two");
        table.give_back(user(1, 0));
        assert_eq!(table.free(), 0);
        table.give_back(user(1, 1));
        assert_eq!(table.free(), 2);
    }

    #[test]
    fn no_core_is_no_group() {
        assert_eq!(CoreTable::new(2).take((JobId([1; 16]), 0), user(1, 0), 0), Err(2));
    }
}
