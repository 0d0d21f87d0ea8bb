//! Proposals and reads that wait stay within their limits.

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(in crate::invariants) struct LogQueues;

impl Invariant for LogQueues {
    fn name(&self) -> &'static str {
        "log_queues"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Waiting { waiting, allowed }) = &seen.what else { return Ok(()) };
        if waiting.proposals <= allowed.proposals && waiting.reads <= allowed.reads {
            return Ok(());
        }
        Err(format!("{waiting:?} waits, {allowed:?} is allowed"))
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_consensus::Backlog;

    use super::*;
    use crate::invariants::scene::Scene;

    fn verdict(proposals: usize, reads: usize) -> Verdict {
        let (waiting, allowed) = (Backlog { proposals, reads }, Backlog { proposals: 8, reads: 4 });
        Scene::of(&[0]).ask(&mut LogQueues, 0, 1, What::Log(Logged::Waiting { waiting, allowed }))
    }

    #[test]
    fn full_queues_are_fine_and_one_more_is_objected_to() {
        assert_eq!(verdict(8, 4), Ok(()));
        assert!(verdict(9, 0).is_err());
        assert!(verdict(0, 5).is_err());
    }
}
