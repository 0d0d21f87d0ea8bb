//! The CPUs that a workflow holds, each by the core that runs there.
//!
//! A core that ends early gives its own CPU back, and no other: whoever gets it must not meet a core that still runs.
//! The last one is kept for the tear-down. An exclusive workflow keeps everything until its end.

use hyperscale_plan::cores::Grant;

/// A CPU to be pinned to; `None` stands for a core without a CPU of its own.
pub(super) type Cpu = Option<usize>;

/// What a workflow holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// By core; `None` where it was given back. Those beyond the workflow's cores are only reserved.
    cpus: Vec<Option<Cpu>>,
    alone: bool,
}

impl Held {
    /// Takes what was granted, for a workflow that runs alone or not.
    pub(super) fn take(free: &mut Vec<Cpu>, grant: &Grant, alone: bool) -> Held {
        let held = free.split_off(free.len() - grant.reserved as usize);
        Held { cpus: held.into_iter().rev().map(Some).collect(), alone }
    }

    /// The CPU of a core. Whatever runs once runs on the first that is still held.
    pub(super) fn cpu(&self, core: Option<u32>) -> Cpu {
        match core {
            Some(core) => self.cpus.get(core as usize).copied().flatten().flatten(),
            None => self.cpus.iter().flatten().next().copied().flatten(),
        }
    }

    /// A core has ended: the CPU that nobody of this workflow needs any more.
    pub(super) fn core_ended(&mut self, core: u32) -> Option<Cpu> {
        let is_last = self.cpus.iter().flatten().count() <= 1;
        if self.alone || is_last { None } else { self.cpus.get_mut(core as usize)?.take() }
    }

    /// The workflow has ended: all that it still held.
    pub(super) fn give_up(&mut self) -> impl Iterator<Item = Cpu> {
        std::mem::take(&mut self.cpus).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(cores: u32, alone: bool) -> (Held, Vec<Cpu>) {
        let mut free: Vec<Cpu> = (0..4).rev().map(Some).collect();
        let reserved = if alone { 4 } else { cores };
        let held = Held::take(&mut free, &Grant { index: 0, cores, reserved }, alone);
        (held, free)
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
        assert_eq!(held.give_up().collect::<Vec<_>>(), [Some(1)]);
        assert_eq!(held.give_up().count(), 0);
    }

    #[test]
    fn an_exclusive_workflow_keeps_everything_until_its_end() {
        for cores in [2, 4] {
            let (mut held, free) = held(cores, true);
            assert!(free.is_empty());
            assert_eq!((held.core_ended(0), held.core_ended(1)), (None, None));
            assert_eq!(held.give_up().count(), 4);
        }
    }
}
