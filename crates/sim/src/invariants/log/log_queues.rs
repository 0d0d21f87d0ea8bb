//! Proposals and reads that wait stay within their limits.

use hyperscale_consensus::{PROPOSALS_MAX, READS_MAX};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(in crate::invariants) struct LogQueues;

impl Invariant for LogQueues {
    fn name(&self) -> &'static str {
        "log_queues"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Open { proposals, reads }) = &seen.what else { return Ok(()) };
        if *proposals <= PROPOSALS_MAX && *reads <= READS_MAX {
            return Ok(());
        }
        Err(format!("{proposals} proposals and {reads} reads wait"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::scene::Scene;

    fn verdict(proposals: usize, reads: usize) -> Verdict {
        Scene::of(&[0]).ask(&mut LogQueues, 0, 1, What::Log(Logged::Open { proposals, reads }))
    }

    #[test]
    fn full_queues_are_fine_and_one_more_is_objected_to() {
        assert_eq!(verdict(PROPOSALS_MAX, READS_MAX), Ok(()));
        assert!(verdict(PROPOSALS_MAX + 1, 0).is_err());
        assert!(verdict(0, READS_MAX + 1).is_err());
    }
}
