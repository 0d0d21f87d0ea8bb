//! Requests from outside: each becomes an entry, or is refused with the reason. A command changes all it names or
//! nothing.

use std::collections::BTreeSet;

use hyperscale_plan::load::closed::vus_at;
use hyperscale_plan::model::{DataOrder, Load, Mix, Plan, Workflow};
use hyperscale_stats::event::Target;
use hyperscale_stats::result::ChangedBy;
use hyperscale_types::{Command, Name, Rate, limits};

use crate::directive;
use crate::entry::{Change, Entry, RequestId, Retarget, Stop, StopScope};
use crate::io::Action;
use crate::machine::JobCore;
use crate::reason::Reason;
use crate::refusal::{Quantity, Refusal};
use crate::result;
use crate::segment::StopPhase;
use crate::state::WorkflowState;

/// Turns a request into an entry or a refusal.
pub(crate) fn request(core: &mut JobCore, id: RequestId, by: ChangedBy, command: Command) {
    match entry(core, id, by, command) {
        Ok(Some(entry)) => core.propose(entry),
        Ok(None) => core.act(Action::Reply { request: id, answer: Ok(Vec::new()) }),
        Err(refusal) => core.act(Action::Reply { request: id, answer: Err(refusal) }),
    }
}

/// `None` if everything is as wanted.
fn entry(core: &JobCore, id: RequestId, by: ChangedBy, command: Command) -> Result<Option<Entry>, Refusal> {
    if core.record.end().is_some() {
        return Err(Refusal::Over);
    }
    let stop = |phase, reason| stop(core, id, StopScope::Job, phase, reason);
    match command {
        Command::Finish => Ok(Some(stop(StopPhase::Finishing, Reason::Interrupted))),
        Command::Cancel { reason } => Ok(Some(stop(StopPhase::Cancelling, Reason::Asked(reason)))),
        Command::Abort => Ok(Some(stop(StopPhase::Aborted, Reason::Interrupted))),
        Command::CancelWorkflow { workflow, dependents, reason } => {
            cancel_workflow(core, id, &workflow, dependents, reason).map(Some)
        }
        Command::Pause => pause(core, id, by, Change::Pause),
        Command::Resume => pause(core, id, by, Change::Resume),
        Command::SetVus { workflow, vus } => retarget(core, id, by, workflow.as_ref(), Target::Vus(vus)),
        Command::SetRate { workflow, rate } => {
            retarget(core, id, by, workflow.as_ref(), Target::Rate(rate.as_per_second()))
        }
    }
}

fn stop(core: &JobCore, id: RequestId, scope: StopScope, phase: StopPhase, reason: Reason) -> Entry {
    Entry::Stop(Stop { request: Some(id), scope, phase, reason, cause: None, at: core.now })
}

fn cancel_workflow(
    core: &JobCore,
    id: RequestId,
    name: &Name,
    dependents: bool,
    reason: String,
) -> Result<Entry, Refusal> {
    let at = position(&core.plan, name)?;
    if let WorkflowState::Ended(_) = core.record.workflows()[at].state() {
        let status = result::workflow_status(core, at).as_str();
        return Err(Refusal::NotRunning { name: name.clone(), status });
    }
    let workflows = if dependents { with_dependents(&core.plan, at) } else { vec![at] };
    let reason = Reason::Asked(reason);
    Ok(stop(core, id, StopScope::Workflows(workflows), StopPhase::Cancelling, reason))
}

/// A workflow and all that depend on it, directly or through others, in the order of the plan.
pub fn with_dependents(plan: &Plan, workflow: usize) -> Vec<usize> {
    let mut all = BTreeSet::from([workflow]);
    loop {
        let before = all.len();
        for (at, other) in plan.workflows.iter().enumerate() {
            if other.depends.iter().any(|dependency| all.contains(dependency)) {
                all.insert(at);
            }
        }
        if all.len() == before {
            return all.into_iter().collect();
        }
    }
}

fn pause(core: &JobCore, id: RequestId, by: ChangedBy, change: Change) -> Result<Option<Entry>, Refusal> {
    steerable(core)?;
    let is_wanted = (change == Change::Pause) != core.record.is_paused();
    Ok(is_wanted.then_some(Entry::Control { request: id, by, change, at: core.now }))
}

/// Changes the named workflow; or the total of the plan's mix; or all that run and whose model has what is to be changed.
fn retarget(
    core: &JobCore,
    id: RequestId,
    by: ChangedBy,
    wanted: Option<&Name>,
    to: Target,
) -> Result<Option<Entry>, Refusal> {
    steerable(core)?;
    let targets = meant(core, wanted, to)?.into_iter().map(|(at, to)| {
        let since = core.record.workflows()[at].load_time(core.now);
        let planned = directive::planned(core, at, since);
        Retarget { workflow: at, from: target(core, at), to, since, planned }
    });
    let change = Change::Load { targets: targets.collect() };
    Ok(Some(Entry::Control { request: id, by, change, at: core.now }))
}

/// A job that is on its way to its end is not changed any more.
fn steerable(core: &JobCore) -> Result<(), Refusal> {
    if core.record.stop().is_some() { Err(Refusal::Stopping) } else { Ok(()) }
}

fn position(plan: &Plan, name: &Name) -> Result<usize, Refusal> {
    let found = plan.workflows.iter().position(|workflow| workflow.name == *name);
    let known = || plan.workflows.iter().map(|workflow| workflow.name.clone()).collect();
    found.ok_or_else(|| Refusal::UnknownWorkflow { name: name.clone(), known: known() })
}

/// The workflows that a change is for, each with what it is changed to. Everything is looked at before anything is changed.
fn meant(core: &JobCore, wanted: Option<&Name>, to: Target) -> Result<Vec<(usize, Target)>, Refusal> {
    let plans = &core.plan.workflows;
    if let Some(name) = wanted {
        let at = position(&core.plan, name)?;
        accepts(core, at, to)?;
        return Ok(vec![(at, to)]);
    }
    if let Some(mix) = &core.plan.mix {
        let parts: Vec<(usize, Target)> =
            parts_of(mix, to).into_iter().filter(|(at, _)| has_load(core, *at)).collect();
        parts.iter().try_for_each(|(at, to)| accepts(core, *at, *to))?;
        return if parts.is_empty() { Err(Refusal::NoLoad) } else { Ok(parts) };
    }
    let loaded: Vec<usize> = (0..plans.len()).filter(|at| has_load(core, *at)).collect();
    let first = *loaded.first().ok_or(Refusal::NoLoad)?;
    let fits: Vec<usize> =
        loaded.into_iter().filter(|at| quantity(&plans[*at].load) == quantity_of(to)).collect();
    if fits.is_empty() {
        return Err(wrong_model(&plans[first], to));
    }
    fits.iter().try_for_each(|at| accepts(core, *at, to))?;
    Ok(fits.into_iter().map(|at| (at, to)).collect())
}

/// What each member of a mix gets of a total.
fn parts_of(mix: &Mix, total: Target) -> Vec<(usize, Target)> {
    let members = mix.members.iter().map(|member| member.workflow);
    match total {
        Target::Vus(vus) => members.zip(mix.vus(vus).into_iter().map(Target::Vus)).collect(),
        Target::Rate(rate) => members.zip(mix.rates(rate).into_iter().map(Target::Rate)).collect(),
    }
}

/// Whether its load runs and has not come to its planned end.
pub(crate) fn has_load(core: &JobCore, at: usize) -> bool {
    core.record.workflows()[at].state() == WorkflowState::Running && !core.live[at].finishing
}

/// Whether a workflow can be changed to this.
fn accepts(core: &JobCore, at: usize, to: Target) -> Result<(), Refusal> {
    let plan = core.workflow(at);
    if quantity(&plan.load) != quantity_of(to) {
        return Err(wrong_model(plan, to));
    }
    let name = || plan.name.clone();
    if !has_load(core, at) {
        let status = result::workflow_status(core, at).as_str();
        return Err(Refusal::NotRunning { name: name(), status });
    }
    let cores = core.record.workflows()[at].cores();
    match to {
        Target::Vus(vus) if vus > limits::VUS_MAX => Err(Refusal::TooManyVus { vus }),
        Target::Vus(vus) if matches!(plan.load, Load::Iterations { .. }) && vus < cores => {
            Err(Refusal::TooFewVus { name: name(), cores })
        }
        Target::Vus(vus) if vus > plan.vus_max() => match unique_data(core, plan) {
            Some(data) => Err(Refusal::NoRows { name: name(), data, vus: plan.vus_max() }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// A data file whose rows are divided among the planned virtual users of a workflow.
fn unique_data(core: &JobCore, plan: &Workflow) -> Option<Name> {
    let used = plan.data.iter().map(|at| &core.plan.data[*at]);
    used.filter(|source| source.order == DataOrder::Unique).map(|source| source.name.clone()).next()
}

/// What the plan, or whoever changed it, wants of a workflow's load now.
pub(crate) fn target(core: &JobCore, at: usize) -> Target {
    let record = &core.record.workflows()[at];
    let now_ns = u64::try_from(record.load_time(core.now).as_nanos()).unwrap_or(u64::MAX);
    match &core.workflow(at).load {
        Load::Open { rate, .. } => {
            let changed = record.rate().map(|change| Rate::as_per_second(change.rate));
            Target::Rate(changed.unwrap_or_else(|| rate.value_at(now_ns)))
        }
        Load::Closed { vus } => Target::Vus(record.vus().unwrap_or_else(|| vus_at(vus, now_ns))),
        Load::Iterations { vus, .. } | Load::Paced { vus, .. } => Target::Vus(record.vus().unwrap_or(*vus)),
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
