//! From the state of a job to its result, final or so far.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_stats::event::NEWEST_POINTS_MAX;
use hyperscale_stats::result::{
    ErrorResult, Loss, PlanText, RunResult, Status, ThresholdResult, VERSION, WorkflowResult, errors,
    load_result,
};
use hyperscale_stats::totals::LoadTotals;
use hyperscale_stats::{Imbalance, StepStats, evaluate};
use hyperscale_types::ErrorKind;

use super::job::Job;
use super::workflow::WorkflowRun;
use crate::control::StopPhase;

/// The result of a job whose workflows have all ended.
pub(super) fn build(job: &Job) -> RunResult {
    let elapsed = job.facts.epoch.elapsed();
    let (status, reason) = verdict(job);
    let books = imbalances(job);
    let mut result = common(job, elapsed, false);
    (result.status, result.reason) =
        if books.is_empty() { (status, reason) } else { (Status::Failed, Some("books".to_owned())) };
    result.is_final = true;
    result.errors.extend(books);
    result.series = job.series.points(elapsed);
    result.environment.clone_from(&job.options.environment);
    result.options.clone_from(&job.options.options);
    result.plan = plan_text(job);
    result
}

/// The result of a job that goes on: the newest points only, and nothing that a face was told at the beginning.
pub(super) fn so_far(job: &Job, elapsed: Duration) -> RunResult {
    let mut result = common(job, elapsed, true);
    result.status = match job.stopped.as_ref().map(|stopped| stopped.phase) {
        None | Some(StopPhase::Running) => Status::Running,
        Some(StopPhase::Finishing) => Status::Completing,
        Some(StopPhase::Cancelling | StopPhase::Aborted) => Status::Cancelling,
    };
    result.reason = job.stopped.as_ref().map(|stopped| stopped.reason.clone());
    result.series = job.series.newest_full(elapsed, NEWEST_POINTS_MAX);
    // Hundreds of numbers per step and second; the live part of a snapshot has the smaller histograms.
    let steps = |workflow: &mut WorkflowResult| {
        let all = workflow.steps.iter_mut().chain(&mut workflow.setup_steps);
        all.for_each(|step| step.latency_buckets = Vec::new());
        workflow.steps.iter_mut().for_each(|step| {
            (step.latency_bounds, step.failed_latency_bounds) = Default::default();
        });
    };
    result.workflows.iter_mut().for_each(steps);
    result
}

/// What both have. While a job goes on, a threshold that saw no sample may still see one (`allow_empty`).
fn common(job: &Job, elapsed: Duration, allow_empty: bool) -> RunResult {
    let thresholds = thresholds(job, allow_empty);
    RunResult {
        version: VERSION,
        job: job.options.job.clone(),
        name: job.plan.name.clone(),
        status: Status::Running,
        reason: None,
        is_final: false,
        started_at: job.options.started_at.clone(),
        elapsed_s: (elapsed.as_secs_f64() * 1e3).round() / 1e3,
        workflows: job
            .runs
            .iter()
            .zip(&job.plan.workflows)
            .map(|(run, workflow)| run.result(&job.plan, workflow))
            .collect(),
        thresholds_passed: thresholds.iter().all(|threshold| threshold.passed),
        thresholds,
        totals: load_result(&all_load(job), load_time(job)),
        errors: all_errors(job),
        generator_saturated: job.runs.iter().any(|run| run.totals.generator_saturated()),
        loss: Loss::default(),
        series: Vec::new(),
        environment: BTreeMap::new(),
        options: BTreeMap::new(),
        changes: job.changes.clone(),
        changes_left_out: job.changes_left_out,
        exports: Vec::new(),
        plan: None,
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

/// From the first start of any workflow's load to the last end, or to now.
fn load_time(job: &Job) -> Duration {
    let began = job.runs.iter().filter_map(|run| run.load_began).min();
    let end = |run: &WorkflowRun| run.load_began.map(|began| began + run.elapsed());
    let ended = job.runs.iter().filter_map(end).max();
    match (began, ended) {
        (Some(began), Some(ended)) => ended.saturating_duration_since(began),
        _ => Duration::ZERO,
    }
}

fn thresholds(job: &Job, allow_empty: bool) -> Vec<ThresholdResult> {
    let evaluated = |threshold: &hyperscale_plan::model::Threshold| {
        let at = job.plan.workflows.iter().position(|workflow| workflow.name == threshold.rule.workflow);
        let run = &job.runs[at.expect("the plan's reader checked the workflow of every threshold")];
        let evaluation =
            evaluate(&threshold.rule, &run.totals, run.elapsed(), allow_empty || threshold.allow_empty);
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
    let steps = || job.runs.iter().flat_map(|run| run.totals.steps());
    let tried = steps().any(|step| step.requests > 0 || network_errors(step) > 0);
    tried && !steps().any(|step| step.answered > 0)
}

/// Calls that had something to do with the network, and failed. One whose arguments could not be made had not.
fn network_errors(step: &StepStats) -> u64 {
    use ErrorKind::{
        Cancelled, Closed, ConnectRefused, ConnectTimeout, Dns, Protocol, Reset, Timeout, Tls, TooLarge,
    };
    [Dns, ConnectRefused, ConnectTimeout, Tls, Timeout, Reset, Closed, Protocol, TooLarge, Cancelled]
        .into_iter()
        .fold(0, |sum, kind| sum.saturating_add(step.errors[kind.index()]))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use hyperscale_plan::read::{Given, Source, load};
    use hyperscale_stats::{CallSample, Window};
    use tokio::sync::mpsc;

    use super::super::workflow::State;
    use super::*;
    use crate::core::JobFacts;
    use crate::run::RunOptions;

    /// A job of one workflow that has completed.
    fn job() -> Job {
        let text =
            "name: t\nworkflows:\n  W: { vus: 1, iterations: 1, steps: { a: { http: 'http://x/' } } }\n";
        let source = Source { name: "t.yaml", bytes: text.as_bytes(), format: None, folder: "".as_ref() };
        let plan = Arc::new(load(&source, &Given::default()).expect("the plan is valid").plan);
        let options = RunOptions {
            cores: 1,
            seed: 1,
            job: "j".into(),
            worker: "w".into(),
            started_at: String::new(),
            environment: BTreeMap::new(),
            options: BTreeMap::new(),
        };
        let facts = JobFacts { id: "j".into(), worker: "w".into(), seed: 1, epoch: Instant::now() };
        let (messages, _) = mpsc::channel(1);
        let (events, _) = mpsc::channel(1);
        let mut job = Job::new(plan, options, Arc::new(facts), Arc::default(), messages, events);
        job.runs[0].state = State::Ended { status: Status::Completed, reason: None };
        job
    }

    fn record(job: &mut Job, what: impl Fn(&mut Window)) {
        let mut window = Window::new(&job.runs[0].layout);
        what(&mut window);
        job.runs[0].totals.add(&window);
    }

    #[test]
    fn a_run_whose_books_do_not_balance_fails_loudly() {
        let mut job = job();
        record(&mut job, |window| {
            window.started();
            window.completed();
        });
        assert_eq!(build(&job).status, Status::Completed);
        record(&mut job, Window::started);
        let result = build(&job);
        assert_eq!((result.status, result.reason.as_deref()), (Status::Failed, Some("books")));
        let [error] = &result.errors[..] else { panic!("{:?}", result.errors) };
        assert_eq!((error.kind.as_str(), error.workflow.as_str()), ("books", "W"));
        assert!(error.message.contains("started = completed + failed + interrupted"), "{}", error.message);
    }

    #[test]
    fn only_what_the_network_did_makes_a_target_unreachable() {
        let failed = |error| CallSample { error: Some(error), ..CallSample::default() };
        for (error, reason) in [
            (ErrorKind::Template, None),
            (ErrorKind::Expr, None),
            (ErrorKind::ConnectRefused, Some("unreachable")),
            (ErrorKind::Timeout, Some("unreachable")),
            (ErrorKind::Cancelled, Some("unreachable")),
        ] {
            let mut job = job();
            record(&mut job, |window| window.call(0, &failed(error)));
            assert_eq!(build(&job).reason.as_deref(), reason, "{error:?}");
        }
    }
}
