//! The result of a job counts what the target saw.
//!
//! | an attempt               | its requests in the result                                                       |
//! | ------------------------ | -------------------------------------------------------------------------------- |
//! | ended, in the log        | all of them                                                                       |
//! | lost                     | those in its windows as they were committed; none if its segment runs again: `loss.discarded` says how many were |
//! | timed out without a word | those it had reported, which is in no log                                         |
//!
//! An interval of `loss.unreported` names every attempt of the last two kinds that sent something. So nothing is counted that was not
//! sent, everything is counted that is known, exactly, and what is missing is said.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::{Body, EndStatus, JobId, Outcome, Segment};
use hyperscale_stats::result::RunResult;
use hyperscale_types::{NodeId, Token};

use super::{Logged, LostKnown};
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
    /// Attempts that timed out without a word.
    silent: BTreeSet<(Segment, u32)>,
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
            What::Log(Logged::Result { job, result, known }) => {
                self.jobs.entry((cluster, *job)).or_default().judge(&Reported::of(result), *known)
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
                    match end.status {
                        EndStatus::Lost => counts.lost.insert(key),
                        EndStatus::TimedOut if is_silent => counts.silent.insert(key),
                        _ => counts.ended.insert(key),
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

/// What a result says.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    requests: u64,
    discarded: u64,
    /// Intervals in which others may have been sent.
    gaps: usize,
}

impl Reported {
    fn of(result: &RunResult) -> Self {
        let loss = &result.validity.loss;
        let discarded = loss.discarded.iter().map(|it| it.requests).sum();
        Self { requests: result.totals.requests, discarded, gaps: loss.unreported.len() }
    }
}

impl Counts {
    fn judge(&self, reported: &Reported, known: Option<&LostKnown>) -> Verdict {
        let of = |which: &BTreeSet<(Segment, u32)>| -> u64 {
            which.iter().filter_map(|key| self.seen.get(key)).sum()
        };
        let (all, committed) = (self.seen.values().sum::<u64>(), of(&self.ended));
        let (lost, silent) = (of(&self.lost), of(&self.silent));
        let is_right = match known {
            Some(known) => {
                let windows: u64 = known.requests.values().sum();
                let is_sent = |(key, requests): (&(Segment, u32), &u64)| {
                    *requests <= self.seen.get(key).copied().unwrap_or_default() && self.lost.contains(key)
                };
                let (counted, discarded) = if known.restarts { (0, windows) } else { (windows, 0) };
                let least = committed + counted;
                (least..=least + silent).contains(&reported.requests)
                    && reported.discarded == discarded
                    && known.requests.iter().all(is_sent)
            }
            // Nobody can say now what is known of lost attempts: it is not more than they sent. What was committed counts, whatever
            // was discarded.
            None => reported.requests >= committed && reported.requests + reported.discarded <= all,
        };
        if !is_right || committed + lost + silent != all {
            return Err(format!(
                "{reported:?}, {known:?}; the target saw {all}: {committed} of attempts that ended, {lost} of attempts that were \
                 lost, {silent} of silent ones"
            ));
        }
        let sent = |key: &&(Segment, u32)| self.seen.get(key).is_some_and(|requests| *requests > 0);
        let unknown = self.lost.iter().chain(&self.silent).filter(sent).count();
        if reported.gaps < unknown {
            return Err(format!(
                "{unknown} attempts that sent load were lost, and {} intervals are named",
                reported.gaps
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> [(Segment, u32); 2] {
        let segment = Segment { job: JobId([1; 16]), workflow: "a".to_owned(), number: 0 };
        [(segment.clone(), 1), (segment, 2)]
    }

    fn counts(ended: u64, lost: u64) -> Counts {
        let keys = keys();
        Counts {
            seen: BTreeMap::from([(keys[0].clone(), lost), (keys[1].clone(), ended)]),
            ended: BTreeSet::from([keys[1].clone()]),
            lost: BTreeSet::from([keys[0].clone()]),
            ..Counts::default()
        }
    }

    fn known(windows: u64, restarts: bool) -> LostKnown {
        LostKnown { requests: BTreeMap::from([(keys()[0].clone(), windows)]), restarts }
    }

    fn reported(requests: u64, discarded: u64, gaps: usize) -> Reported {
        Reported { requests, discarded, gaps }
    }

    #[test]
    fn what_is_known_is_counted_exactly_and_what_is_missing_is_said() {
        let nothing = LostKnown::default();
        assert_eq!(counts(50, 0).judge(&reported(50, 0, 0), Some(&nothing)), Ok(()));
        assert!(
            counts(50, 0).judge(&reported(49, 0, 1), Some(&nothing)).is_err(),
            "something committed is missing"
        );
        assert!(counts(50, 0).judge(&reported(51, 0, 0), Some(&nothing)).is_err(), "more than was sent");
        let known_15 = known(15, false);
        assert_eq!(counts(50, 20).judge(&reported(65, 0, 1), Some(&known_15)), Ok(()));
        assert!(counts(50, 20).judge(&reported(64, 0, 1), Some(&known_15)).is_err(), "less than is known");
        assert!(counts(50, 20).judge(&reported(70, 0, 1), Some(&known_15)).is_err(), "more than is known");
        assert!(
            counts(50, 20).judge(&reported(65, 0, 0), Some(&known_15)).is_err(),
            "its interval is not named"
        );
        assert!(
            counts(50, 10).judge(&reported(65, 0, 1), Some(&known_15)).is_err(),
            "more is known than was sent"
        );
    }

    #[test]
    fn what_was_measured_before_a_restart_is_discarded_and_said() {
        let known = known(15, true);
        assert_eq!(counts(50, 20).judge(&reported(50, 15, 1), Some(&known)), Ok(()));
        assert!(counts(50, 20).judge(&reported(65, 15, 1), Some(&known)).is_err(), "it is counted");
        assert!(counts(50, 20).judge(&reported(50, 0, 1), Some(&known)).is_err(), "nothing is said");
    }

    #[test]
    fn what_was_committed_counts_whatever_was_discarded() {
        assert_eq!(counts(50, 20).judge(&reported(50, 15, 1), None), Ok(()));
        assert!(counts(50, 20).judge(&reported(40, 15, 1), None).is_err(), "something committed is missing");
        assert!(counts(50, 20).judge(&reported(60, 15, 1), None).is_err(), "more than was sent");
    }

    #[test]
    fn what_a_silent_attempt_had_reported_is_in_no_log() {
        let mut counts = counts(50, 20);
        counts.silent = std::mem::take(&mut counts.lost);
        for requests in [50, 60, 70] {
            assert_eq!(counts.judge(&reported(requests, 0, 1), Some(&LostKnown::default())), Ok(()));
        }
        assert!(counts.judge(&reported(71, 0, 1), Some(&LostKnown::default())).is_err());
    }
}
