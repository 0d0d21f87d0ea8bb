//! What a superseded attempt reports is never counted: attempts are numbered without gaps, one follows only when the one
//! before has ended or is lost, and what is kept of a segment is the result of its last attempt.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Body, Outcome, Segment};
use hyperscale_types::NodeId;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The last attempt of a segment.
#[derive(Clone, Copy, Debug)]
struct Last {
    attempt: u32,
    worker: NodeId,
    runs: bool,
}

/// Segments, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct SupersededNotCounted {
    last: BTreeMap<(u8, Segment), Last>,
}

impl Invariant for SupersededNotCounted {
    fn name(&self) -> &'static str {
        "superseded_not_counted"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Decided(written)) = &seen.what else { return Ok(()) };
        let cluster = seen.cluster();
        match (&written.command.body, &written.outcome) {
            (Body::Assign(it), Outcome::Done) => {
                let last = Last { attempt: it.attempt, worker: it.worker, runs: true };
                match self.last.insert((cluster, it.segment.clone()), last) {
                    Some(before) if before.runs || it.attempt != before.attempt + 1 => {
                        Err(format!("{:?}: attempt {} was assigned after {before:?}", it.segment, it.attempt))
                    }
                    _ => Ok(()),
                }
            }
            (Body::AttemptEnd { segment, attempt, .. }, Outcome::Done) => {
                match self.last.get_mut(&(cluster, segment.clone())) {
                    Some(last) if last.runs && last.attempt == *attempt => {
                        last.runs = false;
                        Ok(())
                    }
                    last => {
                        Err(format!("{segment:?}: the end of attempt {attempt} was counted, of {last:?}"))
                    }
                }
            }
            (Body::WorkerGone { worker, .. }, Outcome::Done) => {
                self.lose(cluster, *worker);
                Ok(())
            }
            (Body::WorkerGrant { worker, .. }, Outcome::Granted(grant)) if grant.0 == written.index => {
                self.lose(cluster, *worker);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl SupersededNotCounted {
    fn lose(&mut self, cluster: u8, worker: NodeId) {
        let of_worker =
            self.last.iter_mut().filter(|((group, _), last)| *group == cluster && last.worker == worker);
        of_worker.for_each(|(_, last)| last.runs = false);
    }
}
