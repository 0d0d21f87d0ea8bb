//! What happens every second: thresholds that may end the job, and a snapshot for the faces.

use std::time::Duration;

use hyperscale_plan::model::{Threshold, Workflow};
use hyperscale_stats::evaluate;

use super::job::Job;
use super::workflow::WorkflowRun;
use crate::control::StopPhase;
use crate::event::{Event, Snapshot, WorkflowSnapshot};

impl Job {
    /// A second is over: thresholds, then a snapshot.
    pub(crate) fn second(&mut self) {
        let elapsed = self.facts.epoch.elapsed();
        if self.stopped.is_none()
            && let Some(rule) = self.failed_abort(elapsed)
        {
            self.emit(Event::Abort { rule });
            self.stop(StopPhase::Cancelling, "threshold");
        }
        let snapshot = self.snapshot(elapsed);
        if self.events.try_send(Event::Snapshot(Box::new(snapshot))).is_ok() {
            self.missed = 0;
        } else {
            self.missed += 1;
        }
    }

    /// The first threshold with `abort` that fails on what was seen so far.
    fn failed_abort(&self, elapsed: Duration) -> Option<String> {
        let fails = |threshold: &&Threshold| {
            let at = self.plan.workflows.iter().position(|workflow| workflow.name == threshold.rule.workflow);
            let run = at.map(|at| &self.runs[at]);
            threshold.abort
                && elapsed >= threshold.after.to_duration()
                && run.is_some_and(|run| {
                    // What has seen no sample yet may still see one.
                    let seen = evaluate(&threshold.rule, &run.totals, run.elapsed(), true);
                    seen.value.is_some() && !seen.passed
                })
        };
        self.plan.thresholds.iter().find(fails).map(|threshold| threshold.rule.text.clone())
    }

    fn snapshot(&self, elapsed: Duration) -> Snapshot {
        let last = self.series.last_full(elapsed);
        let workflow = |(run, plan): (&WorkflowRun, &Workflow)| {
            let load = run.totals.counts();
            let part = |planned: f64| (run.elapsed().as_secs_f64() / planned).min(1.0);
            WorkflowSnapshot {
                name: plan.name.clone(),
                progress: plan.planned().map(|planned| part(planned.as_secs_f64())),
                vus: run.totals.vus(),
                count: load.0,
                failed: load.1,
                started: run.totals.iterations.started,
                late: run.totals.iterations.late,
                dropped: run.totals.iterations.dropped,
            }
        };
        let begun = self.runs.iter().zip(&self.plan.workflows).filter(|(run, _)| run.load_began.is_some());
        Snapshot {
            elapsed_s: elapsed.as_secs_f64(),
            missed: self.missed,
            last,
            workflows: begun.map(workflow).collect(),
        }
    }
}
