//! The result of a job counts what the target saw.
//!
//! | an attempt               | its requests in the result                                                       |
//! | ------------------------ | -------------------------------------------------------------------------------- |
//! | ended, in the log        | all of them                                                                       |
//! | lost, or timed out without a word | those it had reported; an interval of `loss.unreported` names it         |
//!
//! So nothing is counted that was not sent, everything is counted that was committed, and what is missing is said.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::{Body, EndStatus, JobId, Outcome, Segment};
use hyperscale_types::{NodeId, Token};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// What attempts sent and what became of them, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct CountsReconcile {
    jobs: BTreeMap<(u8, JobId), Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Requests that the target saw, by attempt.
    seen: BTreeMap<(Segment, u32), u64>,
    /// Attempts whose end is in the log with what they left.
    ended: BTreeSet<(Segment, u32)>,
    /// Attempts that run as far as the log goes, and on which grant.
    runs: BTreeMap<(Segment, u32), (NodeId, Token)>,
    /// Attempts that were lost.
    lost: BTreeSet<(Segment, u32)>,
}

impl Invariant for CountsReconcile {
    fn name(&self) -> &'static str {
        "counts_reconcile"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let cluster = seen.cluster();
        match &seen.what {
            What::Log(Logged::Load { segment, attempt, requests, .. }) => {
                let counts = self.jobs.entry((cluster, segment.job)).or_default();
                *counts.seen.entry(((*segment).clone(), *attempt)).or_default() += requests;
                Ok(())
            }
            What::Log(Logged::Decided(written)) if !matches!(written.outcome, Outcome::Refused(_)) => {
                self.decided(cluster, &written.command.body);
                Ok(())
            }
            What::Log(Logged::Result { job, result }) => {
                let gaps = result.validity.loss.unreported.len();
                self.jobs.entry((cluster, *job)).or_default().judge(result.totals.requests, gaps)
            }
            _ => Ok(()),
        }
    }
}

impl CountsReconcile {
    fn decided(&mut self, cluster: u8, body: &Body) {
        match body {
            Body::Assign(batch) => {
                let counts = self.jobs.entry((cluster, batch.job)).or_default();
                for it in &batch.segments {
                    let segment =
                        Segment { job: batch.job, workflow: it.workflow.clone(), number: it.number };
                    counts.runs.insert((segment, it.attempt), (it.worker, it.grant));
                }
            }
            Body::AttemptEnd { segment, attempt, end } => {
                let counts = self.jobs.entry((cluster, segment.job)).or_default();
                let key = (segment.clone(), *attempt);
                if counts.runs.remove(&key).is_some() {
                    // An attempt that timed out and said its end left something.
                    let is_silent = end.result.is_none_or(|left| left.length == 0);
                    let is_lost =
                        end.status == EndStatus::Lost || end.status == EndStatus::TimedOut && is_silent;
                    if is_lost {
                        counts.lost.insert(key)
                    } else {
                        counts.ended.insert(key)
                    };
                }
            }
            Body::WorkerGone { worker, grant, .. } => {
                for ((_, _), counts) in self.jobs.iter_mut().filter(|((group, _), _)| *group == cluster) {
                    let gone = counts.runs.extract_if(.., |_, it| *it == (*worker, *grant));
                    let gone: Vec<(Segment, u32)> = gone.map(|(key, _)| key).collect();
                    counts.lost.extend(gone);
                }
            }
            _ => {}
        }
    }
}

impl Counts {
    /// Judges a result with `reported` requests, and `gaps` intervals in which others may have been sent.
    fn judge(&self, reported: u64, gaps: usize) -> Verdict {
        let of = |which: &BTreeSet<(Segment, u32)>| -> u64 {
            which.iter().filter_map(|key| self.seen.get(key)).sum()
        };
        let (all, committed, lost) = (self.seen.values().sum::<u64>(), of(&self.ended), of(&self.lost));
        if reported < committed || reported > committed + lost || committed + lost != all {
            return Err(format!(
                "{reported} requests were reported; the target saw {all}: {committed} of attempts that ended, {lost} of \
                 attempts that were lost"
            ));
        }
        let sent = |key: &&(Segment, u32)| self.seen.get(key).is_some_and(|requests| *requests > 0);
        let unknown = self.lost.iter().filter(sent).count();
        if gaps < unknown {
            return Err(format!(
                "{unknown} attempts that sent load were lost, and {gaps} intervals are named"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ended: u64, lost: u64) -> Counts {
        let segment = Segment { job: JobId([1; 16]), workflow: "a".to_owned(), number: 0 };
        let keys = [(segment.clone(), 1), (segment, 2)];
        Counts {
            seen: BTreeMap::from([(keys[0].clone(), lost), (keys[1].clone(), ended)]),
            ended: BTreeSet::from([keys[1].clone()]),
            lost: BTreeSet::from([keys[0].clone()]),
            runs: BTreeMap::new(),
        }
    }

    #[test]
    fn what_was_committed_is_counted_and_what_is_missing_is_said() {
        assert_eq!(counts(50, 0).judge(50, 0), Ok(()));
        assert!(counts(50, 0).judge(49, 1).is_err(), "something committed is missing");
        assert!(counts(50, 0).judge(51, 0).is_err(), "more than was sent");
        assert_eq!(counts(50, 20).judge(60, 1), Ok(()));
        assert!(counts(50, 20).judge(60, 0).is_err(), "nothing says that something is missing");
        assert!(counts(50, 20).judge(70, 0).is_err(), "its interval is named, whatever it had reported");
        assert!(counts(50, 20).judge(71, 1).is_err());
    }
}
