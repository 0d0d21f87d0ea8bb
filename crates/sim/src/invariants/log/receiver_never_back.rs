//! No receiver goes back: a worker that obeyed a job leader never obeys one with a lower token.

use std::collections::BTreeMap;

use hyperscale_consensus::register::JobId;
use hyperscale_types::Token;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The highest token obeyed, per worker in its present life and job.
#[derive(Debug, Default)]
pub(in crate::invariants) struct ReceiverNeverBack {
    obeyed: BTreeMap<(usize, JobId), Token>,
}

impl Invariant for ReceiverNeverBack {
    fn name(&self) -> &'static str {
        "receiver_never_back"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.obeyed.retain(|(node, _), _| *node != seen.node),
            What::Log(Logged::Obeyed { job, token }) => {
                let highest = self.obeyed.entry((seen.node, *job)).or_insert(*token);
                if *token < *highest {
                    return Err(format!("obeys token {token} after {highest}"));
                }
                *highest = *token;
            }
            _ => {}
        }
        Ok(())
    }
}
