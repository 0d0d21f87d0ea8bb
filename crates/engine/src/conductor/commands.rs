//! What somebody outside wants of a running job.

use hyperscale_plan::model::Load;
use hyperscale_stats::result::Status;
use hyperscale_types::Name;

use super::job::{Job, Stopped};
use super::workflow::State;
use crate::control::{Command, Directive, StopPhase};
use crate::event::Event;

impl Job {
    /// Somebody wants something.
    pub(crate) fn command(&mut self, command: Command) {
        match command {
            Command::Finish => self.stop(StopPhase::Finishing, "interrupted"),
            Command::Cancel { reason } => self.stop(StopPhase::Cancelling, &reason),
            Command::Abort => self.stop(StopPhase::Aborted, "interrupted"),
            Command::Pause => self.pause(true),
            Command::Resume => self.pause(false),
            Command::SetVus { workflow, vus } => {
                self.change(workflow.as_ref(), &format!("{vus} virtual users"), |load, directive| {
                    let fits = !matches!(load, Load::Open { .. });
                    if fits {
                        directive.vus = Some(vus);
                    }
                    fits
                });
            }
            Command::SetRate { workflow, rate } => {
                self.change(workflow.as_ref(), &format!("rate {rate}"), |load, directive| {
                    let fits = matches!(load, Load::Open { .. });
                    if fits {
                        directive.rate = Some(rate);
                    }
                    fits
                });
            }
        }
    }

    pub(super) fn stop(&mut self, phase: StopPhase, reason: &str) {
        match &mut self.stopped {
            Some(stopped) => stopped.phase = stopped.phase.max(phase),
            None => self.stopped = Some(Stopped { phase, reason: reason.to_owned() }),
        }
        for at in 0..self.runs.len() {
            let run = &mut self.runs[at];
            if run.is_active() && !(matches!(run.state, State::Teardown) && phase < StopPhase::Aborted) {
                run.advance(phase);
            } else if matches!(run.state, State::Pending | State::Delayed { .. }) {
                self.end(at, Status::Cancelled, Some(reason.to_owned()));
            }
        }
    }

    fn pause(&mut self, paused: bool) {
        self.paused = paused;
        self.runs.iter_mut().filter(|run| run.is_active()).for_each(|run| run.pause(paused));
        self.emit(Event::Changed { what: if paused { "paused".into() } else { "resumed".into() } });
    }

    /// Changes the directive of the named workflow, or of all that run and whose model has what is to be changed.
    fn change(&mut self, workflow: Option<&Name>, what: &str, apply: impl Fn(&Load, &mut Directive) -> bool) {
        let mut changed = Vec::new();
        for (run, plan) in self.runs.iter().zip(&self.plan.workflows) {
            let meant = workflow.is_none_or(|name| *name == plan.name);
            if meant && matches!(run.state, State::Running) {
                let mut fits = false;
                run.directive.send_modify(|directive| fits = apply(&plan.load, directive));
                if fits {
                    changed.push(plan.name.to_string());
                }
            }
        }
        let who = if changed.is_empty() { "no running workflow".to_owned() } else { changed.join(", ") };
        self.emit(Event::Changed { what: format!("{who}: {what}") });
    }
}
