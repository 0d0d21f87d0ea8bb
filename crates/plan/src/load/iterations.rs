//! Iteration counts: how many iterations a core makes. What the cores make adds up to the plan's number.

use super::share::Share;
use crate::model::workflow::IterationCount;

/// Iterations of one core.
pub fn of_core(count: IterationCount, share: Share) -> u64 {
    match count {
        IterationCount::Shared(all) => share.count_of(all),
        IterationCount::PerVu(each) => each.saturating_mul(u64::from(share.own_vus())),
    }
}

/// Iterations of the whole workflow.
pub fn of_workflow(count: IterationCount, vus: u32) -> u64 {
    match count {
        IterationCount::Shared(all) => all,
        IterationCount::PerVu(each) => each.saturating_mul(u64::from(vus)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::shares;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_shared_count_follows_the_vus() {
        let of = |core| of_core(IterationCount::Shared(100), Share { core, cores: 3, vus: 10 });
        assert_eq!([of(0), of(1), of(2)], [40, 30, 30]);
        let few = |core| of_core(IterationCount::Shared(2), Share { core, cores: 3, vus: 10 });
        assert_eq!([few(0), few(1), few(2)], [1, 1, 0]);
    }

    proptest! {
        #[test]
        fn cores_add_up_to_the_workflow(shares in shares(), n in 0u64..1_000_000, per_vu: bool) {
            let count = if per_vu { IterationCount::PerVu(n) } else { IterationCount::Shared(n) };
            let sum: u64 = shares.iter().map(|share| of_core(count, *share)).sum();
            prop_assert_eq!(sum, of_workflow(count, shares[0].vus));
        }
    }
}
