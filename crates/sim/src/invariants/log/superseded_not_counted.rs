//! What a superseded attempt reports is never counted: attempts are numbered without gaps, one follows only when the one
//! before has ended or is lost, and what is kept of a segment is the result of its last attempt.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Body, Outcome, Segment};
use hyperscale_types::{NodeId, Token};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The last attempt of a segment.
#[derive(Clone, Copy, Debug)]
struct Last {
    attempt: u32,
    worker: NodeId,
    grant: Token,
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
            (Body::Assign(batch), Outcome::Done) => batch.segments.iter().try_for_each(|it| {
                let segment = Segment { job: batch.job, workflow: it.workflow.clone(), number: it.number };
                let last = Last { attempt: it.attempt, worker: it.worker, grant: it.grant, runs: true };
                match self.last.insert((cluster, segment.clone()), last) {
                    Some(before) if before.runs || it.attempt != before.attempt + 1 => {
                        Err(format!("{segment:?}: attempt {} was assigned after {before:?}", it.attempt))
                    }
                    _ => Ok(()),
                }
            }),
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
            (Body::WorkerGone { worker, grant, .. }, Outcome::Done) => {
                self.lose(cluster, *worker, *grant);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl SupersededNotCounted {
    fn lose(&mut self, cluster: u8, worker: NodeId, grant: Token) {
        let is_of = |last: &Last| last.worker == worker && last.grant == grant;
        let of_grant = self.last.iter_mut().filter(|((group, _), last)| *group == cluster && is_of(last));
        of_grant.for_each(|(_, last)| last.runs = false);
    }
}
