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
