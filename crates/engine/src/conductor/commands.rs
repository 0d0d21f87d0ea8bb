//! What somebody outside wants of a running job.
//!
//! A command changes what it can, or nothing at all: whoever asks gets the changes or the reason. Every change of the load
//! becomes part of the record.

use hyperscale_plan::model::{Load, Workflow};
use hyperscale_stats::event::Target;
use hyperscale_stats::result::{Change, Changed, ChangedBy, Status};
use hyperscale_types::{Name, limits};

use super::job::{Job, Stopped};
use super::result;
use super::second::target;
use super::workflow::{State, WorkflowRun};
use crate::control::{Answer, Command, Order, Quantity, Refusal, StopPhase, View};
use crate::event::Event;
use crate::machine;

impl Job {
    /// Somebody wants something.
    pub(crate) fn order(&mut self, order: Order) {
        match order {
            // Whoever has stopped waiting needs no answer.
            Order::Look(answer) => drop(answer.send(self.view())),
            Order::Do { command, by, answer: Some(answer) } => drop(answer.send(self.command(command, by))),
            Order::Do { command, by, answer: None } => {
                if let Err(refusal) = self.command(command, by) {
                    self.emit(Event::Changed { what: refusal.to_string(), change: None });
                }
            }
        }
    }

    fn command(&mut self, command: Command, by: ChangedBy) -> Answer {
        match command {
            Command::Finish => self.stop(StopPhase::Finishing, "interrupted"),
            Command::Cancel { reason } => self.stop(StopPhase::Cancelling, &reason),
            Command::Abort => self.stop(StopPhase::Aborted, "interrupted"),
            Command::Pause => return self.pause(true, by),
            Command::Resume => return self.pause(false, by),
            Command::SetVus { workflow, vus } => {
                return self.change(workflow.as_ref(), Target::Vus(vus), by);
            }
            Command::SetRate { workflow, rate } => {
                return self.change(workflow.as_ref(), Target::Rate(rate.as_per_second()), by);
            }
        }
        Ok(Vec::new())
    }

    /// Nobody is left who could send an order.
    pub(crate) fn abandon(&mut self) {
        self.stop(StopPhase::Aborted, "interrupted");
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

    fn pause(&mut self, paused: bool, by: ChangedBy) -> Answer {
        self.steerable()?;
        if self.paused == paused {
            return Ok(Vec::new());
        }
        self.paused = paused;
        self.runs.iter_mut().filter(|run| run.is_active()).for_each(|run| run.pause(paused));
        let what = if paused { Changed::Paused } else { Changed::Resumed };
        Ok(vec![self.record(by, None, what)])
    }

    /// Changes the named workflow, or all that run and whose model has what is to be changed.
    fn change(&mut self, wanted: Option<&Name>, to: Target, by: ChangedBy) -> Answer {
        self.steerable()?;
        let mut changes = Vec::new();
        for at in self.meant(wanted, to)? {
            let (run, plan) = (&self.runs[at], &self.plan.workflows[at]);
            let before = target(run, plan);
            set(run, to);
            let name = plan.name.clone();
            changes.push(self.record(by, Some(name), changed(before, to)));
        }
        if let Target::Vus(_) = to {
            self.make_room();
        }
        Ok(changes)
    }

    /// A run that is on its way to its end is not changed any more.
    fn steerable(&self) -> Result<(), Refusal> {
        if self.stopped.is_some() { Err(Refusal::Stopping) } else { Ok(()) }
    }

    /// The workflows that a change is for. Everything is looked at before anything is changed.
    fn meant(&self, wanted: Option<&Name>, to: Target) -> Result<Vec<usize>, Refusal> {
        let plans = &self.plan.workflows;
        if let Some(name) = wanted {
            let known = || plans.iter().map(|plan| plan.name.clone()).collect();
            let unknown = || Refusal::UnknownWorkflow { name: name.clone(), known: known() };
            let at = plans.iter().position(|plan| plan.name == *name).ok_or_else(unknown)?;
            accepts(&self.runs[at], &plans[at], to)?;
            return Ok(vec![at]);
        }
        let loaded: Vec<usize> = (0..plans.len()).filter(|at| has_load(&self.runs[*at])).collect();
        let first = *loaded.first().ok_or(Refusal::NoLoad)?;
        let fits: Vec<usize> =
            loaded.into_iter().filter(|at| quantity(&plans[*at].load) == quantity_of(to)).collect();
        let Some(_) = fits.first() else { return Err(wrong_model(&plans[first], to)) };
        fits.iter().try_for_each(|at| accepts(&self.runs[*at], &plans[*at], to))?;
        Ok(fits)
    }

    /// Puts a change on the record and tells the faces.
    fn record(&mut self, by: ChangedBy, workflow: Option<Name>, what: Changed) -> Change {
        let t_s = (self.facts.epoch.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        let change = Change { t_s, by, workflow, what };
        if self.changes.len() < limits::CHANGES_MAX {
            self.changes.push(change.clone());
        } else {
            self.changes_left_out += 1;
        }
        self.emit(Event::Changed { what: change.to_string(), change: Some(change.clone()) });
        change
    }

    /// More virtual users need more connections than the run was prepared for.
    fn make_room(&mut self) {
        let vus = |(run, plan): (&WorkflowRun, &Workflow)| {
            u64::from(plan.vus_max().max(run.directive.borrow().vus.unwrap_or(0)))
        };
        let all = self.runs.iter().zip(&self.plan.workflows).map(vus).sum();
        if let Some(warning) = machine::raise_file_limit(all) {
            self.emit(Event::Changed { what: warning, change: None });
        }
    }

    fn view(&self) -> View {
        let wanted = |(run, plan): (&WorkflowRun, &Workflow)| has_load(run).then(|| target(run, plan));
        View {
            paused: self.paused,
            result: result::so_far(self, self.facts.epoch.elapsed()),
            targets: self.runs.iter().zip(&self.plan.workflows).map(wanted).collect(),
        }
    }
}

/// Whether its load runs and has not come to its planned end.
fn has_load(run: &WorkflowRun) -> bool {
    matches!(run.state, State::Running) && !run.finishing
}

/// Whether a workflow can be changed to this.
fn accepts(run: &WorkflowRun, plan: &Workflow, to: Target) -> Result<(), Refusal> {
    if quantity(&plan.load) != quantity_of(to) {
        return Err(wrong_model(plan, to));
    }
    if !has_load(run) {
        let status = run.status().as_str();
        return Err(Refusal::NotRunning { name: plan.name.clone(), status });
    }
    match to {
        Target::Vus(vus) if vus > limits::VUS_MAX => Err(Refusal::TooManyVus { vus }),
        Target::Vus(vus) if matches!(plan.load, Load::Iterations { .. }) && vus < run.cores => {
            Err(Refusal::TooFewVus { name: plan.name.clone(), cores: run.cores })
        }
        _ => Ok(()),
    }
}

fn set(run: &WorkflowRun, to: Target) {
    run.directive.send_modify(|directive| match to {
        Target::Vus(vus) => directive.vus = Some(vus),
        Target::Rate(rate) => directive.rate = Some(hyperscale_types::Rate::per_second(rate)),
    });
}

fn changed(before: Target, to: Target) -> Changed {
    match (before, to) {
        (Target::Vus(from), Target::Vus(to)) => Changed::Vus { from, to },
        (Target::Rate(from), Target::Rate(to)) => Changed::Rate { from, to },
        (Target::Vus(_), Target::Rate(_)) | (Target::Rate(_), Target::Vus(_)) => {
            unreachable!("a model is only given what it has")
        }
    }
}

fn quantity_of(target: Target) -> Quantity {
    match target {
        Target::Vus(_) => Quantity::Vus,
        Target::Rate(_) => Quantity::Rate,
    }
}

/// What can be changed about a load.
fn quantity(load: &Load) -> Quantity {
    match load {
        Load::Open { .. } => Quantity::Rate,
        Load::Closed { .. } | Load::Iterations { .. } | Load::Paced { .. } => Quantity::Vus,
    }
}

fn wrong_model(plan: &Workflow, wanted: Target) -> Refusal {
    let model = match &plan.load {
        Load::Open { .. } => "an open model",
        Load::Closed { .. } => "a closed model",
        Load::Iterations { .. } => "a model of counted iterations",
        Load::Paced { .. } => "a paced model",
    };
    let (wanted, has) = (quantity_of(wanted), quantity(&plan.load));
    Refusal::WrongModel { name: plan.name.clone(), model, wanted, has }
}
