//! Time of jobs and workflows. The log has no clock, and deadlines must survive a change of the job's leader: what the clocks
//! show is written down with every grant of leadership, and the new leader counts on from there.
//!
//! Every manager keeps [`Clocks`] of what it has applied, so that whoever grants leadership knows them. A clock of somebody
//! who came late shows less than the truth, never more, and a clock in the log never goes back: deadlines may come late by
//! the time that nobody saw, and never early.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_types::{Now, Token};

use super::command::JobId;
use super::job::Job;

/// What the clocks of a job show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// Since its acceptance.
    pub job_ms: u64,
    /// Since each workflow began, without the time it was paused. Workflows that have not begun or have ended are left out.
    pub workflows_ms: BTreeMap<String, u64>,
}

impl Job {
    /// Takes what the clocks show; they never go back. The workflows whose clock changed.
    pub(super) fn set_clocks(&mut self, elapsed: Elapsed) -> Vec<String> {
        self.elapsed_ms = self.elapsed_ms.max(elapsed.job_ms);
        let mut changed = Vec::new();
        for (name, shown) in elapsed.workflows_ms {
            let workflow =
                self.workflows.get_mut(&name).filter(|it| it.started.is_some() && it.end.is_none());
            if let Some(workflow) = workflow.filter(|workflow| workflow.elapsed_ms < shown) {
                workflow.elapsed_ms = shown;
                changed.push(name);
            }
        }
        changed
    }
}

/// What the clocks of a job showed at some moment, for the next life of a manager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptClocks {
    /// What they showed.
    pub elapsed: Elapsed,
    /// Workflows whose clock stood still.
    pub paused: BTreeSet<String>,
}

/// The clocks of one manager or gate. May be lost: then they begin with what the log says.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    jobs: BTreeMap<JobId, JobClock>,
    /// What they showed in a former life, at that moment; of jobs that were not looked at since.
    kept: BTreeMap<JobId, (Now, KeptClocks)>,
}

#[derive(Clone, Debug)]
struct JobClock {
    token: Token,
    job: Clock,
    workflows: BTreeMap<String, Clock>,
}

/// Counts from a moment on what it showed then.
#[derive(Clone, Copy, Debug)]
struct Clock {
    shown: Duration,
    since: Now,
    is_stopped: bool,
}

impl Clock {
    fn at(now: Now, shown_ms: u64) -> Self {
        Self { shown: Duration::from_millis(shown_ms), since: now, is_stopped: false }
    }

    fn shows(&self, now: Now) -> Duration {
        if self.is_stopped { self.shown } else { self.shown + now.since(self.since) }
    }

    fn stop(&mut self, now: Now, is_stopped: bool) {
        if self.is_stopped != is_stopped {
            *self = Self { shown: self.shows(now), since: now, is_stopped };
        }
    }

    /// Not less than what the log says.
    fn raise(&mut self, now: Now, logged_ms: u64) {
        let logged = Duration::from_millis(logged_ms);
        if self.shows(now) < logged {
            (self.shown, self.since) = (logged, now);
        }
    }
}

impl Clocks {
    /// Clocks that showed this at a moment, in a former life of the process, and went on since.
    pub fn kept_at(moment: Now, kept: BTreeMap<JobId, KeptClocks>) -> Self {
        let kept = kept.into_iter().map(|(job, kept)| (job, (moment, kept))).collect();
        Self { jobs: BTreeMap::new(), kept }
    }

    /// What the clocks of all jobs that were looked at show now.
    pub fn keep(&self, now: Now) -> BTreeMap<JobId, KeptClocks> {
        let paused = |clock: &JobClock| {
            let stopped = clock.workflows.iter().filter(|(_, clock)| clock.is_stopped);
            stopped.map(|(name, _)| name.clone()).collect()
        };
        let of = |(id, clock): (&JobId, &JobClock)| {
            (*id, KeptClocks { elapsed: self.elapsed(now, *id), paused: paused(clock) })
        };
        self.jobs.iter().map(of).collect()
    }

    /// Looks at a job after an entry about it was applied.
    pub fn observe(&mut self, now: Now, id: JobId, job: Option<&Job>) {
        let Some(job) = job.filter(|job| job.end.is_none()) else {
            self.jobs.remove(&id);
            return;
        };
        let kept = self.kept.remove(&id);
        let clock = self.jobs.entry(id).or_insert_with(|| JobClock::new(now, job, kept));
        if clock.token != job.token() {
            clock.token = job.token();
            clock.job.raise(now, job.elapsed_ms);
            for (name, own) in &mut clock.workflows {
                own.raise(now, job.workflow(name).map_or(0, |workflow| workflow.elapsed_ms));
            }
        }
        clock.observe_workflows(now, job);
    }

    /// What the clocks of a job show; zero for a job that was never looked at.
    pub fn elapsed(&self, now: Now, id: JobId) -> Elapsed {
        let Some(clock) = self.jobs.get(&id) else { return Elapsed::default() };
        let ms = |clock: &Clock| clock.shows(now).as_millis() as u64;
        let workflows = clock.workflows.iter().map(|(name, clock)| (name.clone(), ms(clock)));
        Elapsed { job_ms: ms(&clock.job), workflows_ms: workflows.collect() }
    }
}

impl JobClock {
    fn new(now: Now, job: &Job, kept: Option<(Now, KeptClocks)>) -> Self {
        let mut clock =
            Self { token: job.token(), job: Clock::at(now, job.elapsed_ms), workflows: BTreeMap::new() };
        let Some((since, kept)) = kept else { return clock };
        let showed = |ms, is_stopped| Clock { shown: Duration::from_millis(ms), since, is_stopped };
        clock.job = showed(kept.elapsed.job_ms, false);
        clock.job.raise(now, job.elapsed_ms);
        for (name, ms) in kept.elapsed.workflows_ms {
            let mut own = showed(ms, kept.paused.contains(&name));
            own.raise(now, job.workflow(&name).map_or(0, |workflow| workflow.elapsed_ms));
            clock.workflows.insert(name, own);
        }
        clock
    }

    fn observe_workflows(&mut self, now: Now, job: &Job) {
        for (name, workflow) in job.workflows() {
            if workflow.end.is_some() {
                self.workflows.remove(name);
            } else if workflow.started.is_some() {
                let own = self.workflows.entry(name.to_owned());
                let own = own.or_insert_with(|| Clock::at(now, workflow.elapsed_ms));
                own.stop(now, job.steering(name).is_paused);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_stands_still_while_it_is_stopped_and_never_goes_back() {
        let at = |seconds| Now::after_start(Duration::from_secs(seconds));
        let mut clock = Clock::at(at(0), 1_000);
        assert_eq!(clock.shows(at(5)), Duration::from_secs(6));
        clock.stop(at(5), true);
        assert_eq!(clock.shows(at(50)), Duration::from_secs(6));
        clock.stop(at(50), false);
        clock.raise(at(50), 2_000);
        assert_eq!(clock.shows(at(51)), Duration::from_secs(7));
        clock.raise(at(51), 60_000);
        assert_eq!(clock.shows(at(52)), Duration::from_secs(61));
    }
}
