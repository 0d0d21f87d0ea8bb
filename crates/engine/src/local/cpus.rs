//! The CPUs of this machine, and which core group holds which of them.
//!
//! A core that ends early gives its own CPU back, and no other: whoever gets it must not meet a core that still runs.
//! The last one is kept for the tear-down. Shared and exclusive groups keep everything until their end.

use std::collections::BTreeMap;

use hyperscale_job::entry::Group;
use hyperscale_plan::cores::Release;

/// A CPU to be pinned to; `None` stands for a core without a CPU of its own.
pub(super) type Cpu = Option<usize>;

/// CPUs by who holds them.
#[derive(Debug)]
pub(super) struct Cpus {
    /// Nobody holds them; the next one to be given is the last.
    free: Vec<Cpu>,
    groups: BTreeMap<u32, Held>,
    total: u32,
}

/// What a group holds.
#[derive(Debug)]
struct Held {
    /// By core of the group; `None` where it was given back.
    cpus: Vec<Option<Cpu>>,
    release: Release,
}

impl Cpus {
    /// So many cores on these CPUs; not pinned if there are more cores than CPUs.
    pub(super) fn new(cores: u32, cpus: &[usize]) -> Self {
        let is_pinned = cores as usize <= cpus.len();
        let free = (0..cores as usize).rev().map(|at| is_pinned.then(|| cpus[at])).collect();
        Cpus { free, groups: BTreeMap::new(), total: cores }
    }

    /// All of them, and those that nobody holds.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.total, self.free.len() as u32)
    }

    /// Gives a group its CPUs.
    pub(super) fn take(&mut self, group: &Group) {
        let left = self.free.len().saturating_sub(group.cores() as usize);
        let cpus = self.free.split_off(left).into_iter().rev().map(Some).collect();
        self.groups.insert(group.id, Held { cpus, release: group.release });
    }

    /// The CPU of a core of a group.
    pub(super) fn of_core(&self, group: u32, core: u32) -> Cpu {
        self.groups.get(&group)?.cpus.get(core as usize).copied().flatten().flatten()
    }

    /// The CPU for what runs once: the first that the group still holds.
    pub(super) fn first(&self, group: u32) -> Cpu {
        self.groups.get(&group)?.cpus.iter().flatten().next().copied().flatten()
    }

    /// A core of a group has ended.
    pub(super) fn core_ended(&mut self, group: u32, core: u32) {
        let Some(held) = self.groups.get_mut(&group) else { return };
        let is_last = held.cpus.iter().flatten().count() <= 1;
        if held.release == Release::EachCore && !is_last {
            self.free.extend(held.cpus.get_mut(core as usize).and_then(Option::take));
        }
    }

    /// All workflows of a group have ended.
    pub(super) fn give_back(&mut self, group: u32) {
        let held = self.groups.remove(&group);
        self.free.extend(held.into_iter().flat_map(|held| held.cpus).flatten());
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_job::entry::GroupPart;

    use super::*;

    fn held(cores: u32, release: Release) -> Cpus {
        let mut cpus = Cpus::new(4, &[0, 1, 2, 3]);
        let parts = vec![GroupPart { worker: "w".into(), first: 0, cores }];
        cpus.take(&Group { id: 7, members: Vec::new(), parts, release });
        cpus
    }

    #[test]
    fn a_core_that_ends_early_frees_its_own_cpu() {
        let mut cpus = held(3, Release::EachCore);
        assert_eq!(cpus.counts(), (4, 1));
        assert_eq!([0, 1, 2].map(|core| cpus.of_core(7, core)), [Some(0), Some(1), Some(2)]);
        cpus.core_ended(7, 0);
        cpus.core_ended(7, 0);
        assert_eq!(cpus.free, [Some(3), Some(0)], "it is given back once");
        cpus.core_ended(7, 2);
        assert_eq!(cpus.of_core(7, 1), Some(1));
        assert_eq!(cpus.counts(), (4, 3));
    }

    #[test]
    fn the_last_cpu_is_kept_for_the_tear_down() {
        let mut cpus = held(2, Release::EachCore);
        cpus.core_ended(7, 0);
        cpus.core_ended(7, 1);
        assert_eq!(cpus.first(7), Some(1), "the tear-down runs there");
        cpus.give_back(7);
        cpus.give_back(7);
        assert_eq!(cpus.counts(), (4, 4));
    }

    #[test]
    fn a_group_that_is_shared_or_exclusive_keeps_everything_until_its_end() {
        let mut cpus = held(2, Release::LastSegment);
        cpus.core_ended(7, 0);
        assert_eq!(cpus.counts(), (4, 2));
        cpus.give_back(7);
        assert_eq!(cpus.counts(), (4, 4));
    }

    #[test]
    fn more_cores_than_cpus_are_not_pinned() {
        let mut cpus = Cpus::new(3, &[0, 1]);
        let parts = vec![GroupPart { worker: "w".into(), first: 0, cores: 3 }];
        cpus.take(&Group { id: 0, members: Vec::new(), parts, release: Release::EachCore });
        assert_eq!([0, 1, 2].map(|core| cpus.of_core(0, core)), [None, None, None]);
    }
}
