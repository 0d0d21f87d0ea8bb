//! The load of a workflow ends in time: no attempt starts anything that is beyond the load curve of its workflow.
//!
//! | what                        | bound                                                                                         |
//! | --------------------------- | --------------------------------------------------------------------------------------------- |
//! | load of an attempt          | the planned time, less what was over where it joined; pauses do not count                      |
//! | when it is sent             | the begin of the workflow, or of a segment that runs again, and the planned time: on the job clock, if the job was never paused |
//!
//! A worker hears of a pause, and of its end, some time after it was decided: how long the load of a job that was paused may last by the
//! job clock depends on messages. How much of it there may be does not. `graceful_stop` is for iterations that run: none starts in it, and
//! a start is what is shown here.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_cluster::manager::number_of;
use hyperscale_cluster::model::WINDOW;
use hyperscale_consensus::register::{Body, JobId, Outcome};
use hyperscale_job::entry::{Change, Entry};
use hyperscale_job::{AttemptId, SegmentKind};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// Clocks of workers are wrong by a thousandth at most, and a window that has begun is closed.
const TOLERANCE: Duration = WINDOW.saturating_mul(2);

/// What was decided about the loads of jobs, per group, and how much there was of each.
#[derive(Debug, Default)]
pub(in crate::invariants) struct LoadEndsInTime {
    jobs: BTreeMap<(u8, JobId), Decided>,
    sent: BTreeMap<(u8, JobId, Load), Duration>,
}

/// A segment of a workflow as the log numbers it, and an attempt of it.
type Load = (String, u32, u32);

#[derive(Debug, Default)]
struct Decided {
    /// When the load of each workflow begins, by its position.
    begins: BTreeMap<usize, Duration>,
    /// The same of attempts that run apart, and where each attempt joined the load curve.
    restarts: BTreeMap<AttemptId, Duration>,
    joins: BTreeMap<AttemptId, Duration>,
    paused: bool,
}

impl Invariant for LoadEndsInTime {
    fn name(&self) -> &'static str {
        "load_ends_in_time"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let cluster = seen.cluster();
        match &seen.what {
            What::Log(Logged::Decided(written)) if written.outcome == Outcome::Done => {
                if let (Some(entry), Some(job)) = (written.decided(), job_of(&written.command.body)) {
                    self.jobs.entry((cluster, job)).or_default().add(&entry);
                }
                Ok(())
            }
            What::Log(Logged::Load { segment, attempt, job_time, planned: Some(planned), .. }) => {
                let key = (segment.workflow.clone(), segment.number, *attempt);
                let sent = self.sent.entry((cluster, segment.job, key.clone())).or_default();
                *sent += WINDOW;
                let Some(decided) = self.jobs.get(&(cluster, segment.job)) else { return Ok(()) };
                decided.judge(&key, *sent, (*job_time, *planned))
            }
            _ => Ok(()),
        }
    }
}

impl Decided {
    fn add(&mut self, entry: &Entry) {
        match entry {
            // What is decided again changes nothing.
            Entry::Start { workflow, at } => drop(self.begins.entry(*workflow).or_insert(*at)),
            Entry::Restart { attempt, at } => drop(self.restarts.entry(*attempt).or_insert(*at)),
            Entry::Control { change: Change::Pause, .. } => self.paused = true,
            Entry::Assign(batch) => {
                let loads =
                    batch.assignments.iter().filter(|it| it.attempt.segment.kind == SegmentKind::Load);
                self.joins.extend(loads.map(|it| (it.attempt, it.joins_at)));
            }
            _ => {}
        }
    }

    /// Judges an attempt that has sent load for this long, at this time of the job clock.
    fn judge(
        &self,
        (workflow, number, attempt): &Load,
        sent: Duration,
        (now, planned): (Duration, Duration),
    ) -> Verdict {
        // The plans of the simulator name workflows by their positions.
        let Some(at) = workflow.strip_prefix('W').and_then(|it| it.parse::<usize>().ok()) else {
            return Ok(());
        };
        let is_it = |id: &&AttemptId| {
            id.segment.workflow == at && number_of(id.segment) == *number && id.number == *attempt
        };
        let Some((id, joins_at)) = self.joins.iter().find(|(id, _)| is_it(id)) else { return Ok(()) };
        let rest = planned.saturating_sub(*joins_at);
        if sent > rest + TOLERANCE {
            return Err(format!("{id} sent load for {sent:?}; it joined at {joins_at:?} of {planned:?}"));
        }
        let began = self.restarts.get(id).or_else(|| self.begins.get(&at));
        if let Some(began) = began.filter(|_| !self.paused)
            && now > *began + planned + TOLERANCE
        {
            return Err(format!("{id} sends load at {now:?}; it began at {began:?} for {planned:?}"));
        }
        Ok(())
    }
}

fn job_of(body: &Body) -> Option<JobId> {
    match body {
        Body::Decide(decide) => Some(decide.job),
        Body::Assign(assign) => Some(assign.job),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_job::SegmentId;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn decided(joins_at: Duration) -> Decided {
        let segment = SegmentId { workflow: 0, kind: SegmentKind::Load, index: 0 };
        Decided {
            begins: BTreeMap::from([(0, SECOND)]),
            joins: BTreeMap::from([(AttemptId { segment, number: 1 }, joins_at)]),
            ..Decided::default()
        }
    }

    #[test]
    fn load_beyond_the_rest_of_its_curve_is_objected_to() {
        let (load, planned) = (("W0".to_owned(), 0, 1), 10 * SECOND);
        assert_eq!(decided(Duration::ZERO).judge(&load, 10 * SECOND, (11 * SECOND, planned)), Ok(()));
        assert!(decided(Duration::ZERO).judge(&load, 11 * SECOND, (11 * SECOND, planned)).is_err());
        assert!(decided(4 * SECOND).judge(&load, 10 * SECOND, (11 * SECOND, planned)).is_err());
        assert!(decided(4 * SECOND).judge(&load, 6 * SECOND, (15 * SECOND, planned)).is_err(), "too late");
        let paused = Decided { paused: true, ..decided(4 * SECOND) };
        assert_eq!(paused.judge(&load, 6 * SECOND, (15 * SECOND, planned)), Ok(()));
    }
}
