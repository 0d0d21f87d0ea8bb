//! From the state of an ended job to its result.

use std::time::Duration;

use hyperscale_stats::result::{
    ErrorResult, Loss, PlanText, RunResult, Status, ThresholdResult, VERSION, errors, load_result,
};
use hyperscale_stats::totals::LoadTotals;
use hyperscale_stats::{Imbalance, evaluate};

use super::context::calls_anything;
use super::job::Job;

/// The result of a job whose workflows have all ended.
pub(super) fn build(job: &Job) -> RunResult {
    let elapsed = job.facts.epoch.elapsed();
    let thresholds = thresholds(job);
    let thresholds_passed = thresholds.iter().all(|threshold| threshold.passed);
    let (status, reason) = verdict(job);
    let books = imbalances(job);
    let mut all_errors = all_errors(job);
    all_errors.extend(books.iter().cloned());
    RunResult {
        version: VERSION,
        job: job.options.job.clone(),
        name: job.plan.name.clone(),
        status: if books.is_empty() { status } else { Status::Failed },
        reason: if books.is_empty() { reason } else { Some("books".to_owned()) },
        is_final: true,
        started_at: job.options.started_at.clone(),
        elapsed_s: (elapsed.as_secs_f64() * 1e3).round() / 1e3,
        workflows: job.runs.iter().zip(&job.plan.workflows).map(|(run, plan)| run.result(plan)).collect(),
        thresholds,
        thresholds_passed,
        totals: load_result(&all_load(job), load_time(job)),
        errors: all_errors,
        generator_saturated: job.runs.iter().any(|run| run.totals.generator_saturated()),
        loss: Loss::default(),
        series: job.series.points(elapsed),
        environment: job.options.environment.clone(),
        options: job.options.options.clone(),
        exports: Vec::new(),
        plan: plan_text(job),
    }
}

fn plan_text(job: &Job) -> Option<PlanText> {
    let source = job.plan.source.as_ref()?;
    Some(PlanText { name: source.name.clone(), text: source.text.clone() })
}

fn all_load(job: &Job) -> LoadTotals {
    let mut all = LoadTotals::default();
    job.runs.iter().for_each(|run| all.merge(&run.totals.load()));
    all
}

/// From the first start of any workflow's load to the last end.
fn load_time(job: &Job) -> Duration {
    let began = job.runs.iter().filter_map(|run| run.load_began).min();
    let ended = job.runs.iter().filter_map(|run| run.load_ended).max();
    match (began, ended) {
        (Some(began), Some(ended)) => ended.saturating_duration_since(began),
        _ => Duration::ZERO,
    }
}

fn thresholds(job: &Job) -> Vec<ThresholdResult> {
    let evaluated = |threshold: &hyperscale_plan::model::Threshold| {
        let at = job.plan.workflows.iter().position(|workflow| workflow.name == threshold.rule.workflow);
        let run = &job.runs[at.expect("the plan's reader checked the workflow of every threshold")];
        let evaluation = evaluate(&threshold.rule, &run.totals, run.elapsed(), threshold.allow_empty);
        ThresholdResult {
            rule: threshold.rule.text.clone(),
            value: evaluation.value,
            passed: evaluation.passed,
            reason: evaluation.reason.map(str::to_owned),
        }
    };
    job.plan.thresholds.iter().map(evaluated).collect()
}

/// The status of the whole job.
fn verdict(job: &Job) -> (Status, Option<String>) {
    let count = |wanted: Status| job.runs.iter().filter(|run| run.ended() == Some(wanted)).count();
    if let Some(stopped) = &job.stopped
        && stopped.reason != "check"
    {
        return (Status::Cancelled, Some(stopped.reason.clone()));
    }
    if is_unreachable(job) {
        return (Status::Failed, Some("unreachable".to_owned()));
    }
    if count(Status::Completed) == job.runs.len() {
        return (Status::Completed, None);
    }
    let status = if count(Status::Completed) > 0 { Status::Partial } else { Status::Failed };
    let reason =
        job.runs.iter().find_map(|run| run.failure.as_ref()).map(|failure| failure.reason.to_owned());
    (status, reason)
}

/// Calls were made, and none of them got any answer; or they could not even be prepared for that reason.
fn is_unreachable(job: &Job) -> bool {
    if job.runs.iter().any(|run| run.failure.as_ref().is_some_and(|failure| failure.reason == "unreachable"))
    {
        return true;
    }
    let began: u64 =
        job.runs.iter().flat_map(|run| run.totals.steps()).map(|step| step.requests + step.failed).sum();
    let answered =
        job.runs.iter().flat_map(|run| run.totals.steps()).any(|step| step.statuses().next().is_some());
    began > 0 && !answered && job.plan.workflows.iter().any(calls_anything)
}

fn all_errors(job: &Job) -> Vec<ErrorResult> {
    let mut all = Vec::new();
    for (run, workflow) in job.runs.iter().zip(&job.plan.workflows) {
        if let Some(failure) = &run.failure {
            all.push(ErrorResult {
                datacenter: None,
                workflow: workflow.name.clone(),
                step: failure.step.clone(),
                kind: failure.reason.to_owned(),
                message: failure.message.clone(),
                count: 1,
            });
        }
        all.extend(errors(&workflow.name, &run.totals));
    }
    all
}

/// Books that do not balance are an error of the engine and are shown as such.
fn imbalances(job: &Job) -> Vec<ErrorResult> {
    let mut all = Vec::new();
    for (run, workflow) in job.runs.iter().zip(&job.plan.workflows) {
        let wrong: Vec<Imbalance> = run.totals.balance().err().unwrap_or_default();
        all.extend(wrong.into_iter().map(|imbalance| ErrorResult {
            datacenter: None,
            workflow: workflow.name.clone(),
            step: imbalance.step.clone(),
            kind: "books".to_owned(),
            message: imbalance.to_string(),
            count: 1,
        }));
    }
    all
}
