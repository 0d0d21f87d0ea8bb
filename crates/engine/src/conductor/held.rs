//! The CPUs that a workflow holds, each by the core that runs there.
//!
//! A core that ends early gives its own CPU back, and no other: whoever gets it must not meet a core that still runs.
//! The last one is kept for the tear-down. An exclusive workflow and those that share a group keep everything until
//! the last of them has ended.

use std::sync::Arc;

use hyperscale_plan::cores::{CoreGroup, Member, Release};

/// A CPU to be pinned to; `None` stands for a core without a CPU of its own.
pub(super) type Cpu = Option<usize>;

/// What a workflow holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// By core; `None` where it was given back. Those of an exclusive workflow beyond its cores are only reserved.
    cpus: Vec<Option<Cpu>>,
    /// Whether single CPUs are kept when their core ends.
    keeps: bool,
    /// All CPUs of the group, if others run on them too: the last of them gives them back.
    group: Option<Arc<[Cpu]>>,
}

impl Held {
    /// Takes the CPUs of a group out of the free ones: what each of its members holds.
    pub(super) fn take(free: &mut Vec<Cpu>, group: &CoreGroup) -> Vec<Held> {
        let cpus: Arc<[Cpu]> = free.split_off(free.len() - group.cores as usize).into_iter().rev().collect();
        let keeps = group.release == Release::LastSegment;
        let shared = |member: &Member| {
            let own = &cpus[member.first as usize..][..member.cores as usize];
            Held { cpus: own.iter().copied().map(Some).collect(), keeps, group: Some(Arc::clone(&cpus)) }
        };
        match &*group.members {
            [_] => vec![Held { cpus: cpus.iter().copied().map(Some).collect(), keeps, group: None }],
            members => members.iter().map(shared).collect(),
        }
    }

    /// The CPU of a core. Whatever runs once runs on the first that is still held.
    pub(super) fn cpu(&self, core: Option<u32>) -> Cpu {
        match core {
            Some(core) => self.cpus.get(core as usize).copied().flatten().flatten(),
            None => self.cpus.iter().flatten().next().copied().flatten(),
        }
    }

    /// How many it holds.
    pub(super) fn count(&self) -> u32 {
        self.cpus.iter().flatten().count() as u32
    }

    /// A core has ended: the CPU that nobody of this workflow needs any more.
    pub(super) fn core_ended(&mut self, core: u32) -> Option<Cpu> {
        if self.keeps || self.count() <= 1 { None } else { self.cpus.get_mut(core as usize)?.take() }
    }

    /// The workflow has ended: all that nobody holds any more.
    pub(super) fn give_up(&mut self) -> Vec<Cpu> {
        let own = std::mem::take(&mut self.cpus).into_iter().flatten();
        match self.group.take() {
            None => own.collect(),
            Some(mut group) => Arc::get_mut(&mut group).map_or_else(Vec::new, |cpus| cpus.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(cores: u32, alone: bool) -> (Held, Vec<Cpu>) {
        let mut free: Vec<Cpu> = (0..4).rev().map(Some).collect();
        let (reserved, release) = if alone { (4, Release::LastSegment) } else { (cores, Release::EachCore) };
        let members = vec![Member { index: 0, first: 0, cores }];
        let held = Held::take(&mut free, &CoreGroup { cores: reserved, release, members });
        (held.into_iter().next().unwrap(), free)
    }

    #[test]
    fn a_core_that_ends_early_frees_its_own_cpu() {
        let (mut held, free) = held(3, false);
        assert_eq!(free, [Some(3)]);
        assert_eq!([0, 1, 2].map(|core| held.cpu(Some(core))), [Some(0), Some(1), Some(2)]);
        assert_eq!(held.core_ended(0), Some(Some(0)));
        assert_eq!(held.core_ended(0), None, "it is given back once");
        assert_eq!(held.core_ended(2), Some(Some(2)));
        assert_eq!(held.cpu(Some(1)), Some(1));
    }

    #[test]
    fn the_last_cpu_is_kept_for_the_tear_down() {
        let (mut held, _) = held(2, false);
        assert_eq!(held.core_ended(0), Some(Some(0)));
        assert_eq!(held.core_ended(1), None);
        assert_eq!(held.cpu(None), Some(1), "the tear-down runs there");
        assert_eq!(held.give_up(), [Some(1)]);
        assert_eq!(held.give_up().len(), 0);
    }

    #[test]
    fn an_exclusive_workflow_keeps_everything_until_its_end() {
        for cores in [2, 4] {
            let (mut held, free) = held(cores, true);
            assert!(free.is_empty());
            assert_eq!((held.core_ended(0), held.core_ended(1)), (None, None));
            assert_eq!(held.give_up().len(), 4);
        }
    }

    #[test]
    fn a_shared_group_is_freed_with_its_last_member() {
        let mut free: Vec<Cpu> = (0..4).rev().map(Some).collect();
        let members =
            [(0, 2), (1, 1)].map(|(first, cores)| Member { index: first as usize, first, cores }).to_vec();
        let group = CoreGroup { cores: 2, release: Release::LastSegment, members };
        let mut held = Held::take(&mut free, &group);
        assert_eq!(free, [Some(3), Some(2)]);
        assert_eq!([held[0].cpu(Some(1)), held[1].cpu(Some(0))], [Some(1), Some(1)], "they share it");
        assert_eq!(held[0].core_ended(0), None);
        assert_eq!(held[0].give_up(), []);
        assert_eq!(held[1].give_up(), [Some(0), Some(1)]);
    }
}
