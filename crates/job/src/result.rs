//! From the state of a job to its result, final or so far.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::cores::WAITING_FOR_CORES;
use hyperscale_stats::event::{NEWEST_POINTS_MAX, Target};
use hyperscale_stats::result::{
    AttemptResult, Discarded, ErrorResult, Loss, PlanText, Provenance, RunIdentity, RunResult, SegmentPart,
    Status, ThresholdResult, Unreported, VERSION, Validity, WorkflowFacts, WorkflowResult, errors,
    load_result, saturation, warnings, workflow_result,
};
use hyperscale_stats::totals::LoadTotals;
use hyperscale_stats::{Evaluation, Imbalance, StepStats, Totals, evaluate, left_out_share};
use hyperscale_types::ErrorKind;
use hyperscale_types::limits::ATTEMPTS_MAX;
use hyperscale_types::rule::Rule;

use crate::clock::LoadClock;
use crate::command;
use crate::entry::Entry;
use crate::live::Received;
use crate::machine::JobCore;
use crate::notes;
use crate::reason::{FailureKind, Reason};
use crate::record::{AttemptRecord, Record, WorkflowRecord};
use crate::segment::{AttemptId, SegmentKind, StopPhase};
use crate::state::{AttemptState, JobEnd, JobState, WorkflowEnd, WorkflowState};

/// Above this share of failed calls, a rule on the latency of the others carries a note.
const LEFT_OUT_MAX: f64 = 0.05;

/// A job at one moment, as seen by somebody who asks.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Whether the load is paused.
    pub paused: bool,
    /// The result so far, `final: false`, with the newest points of its series only.
    pub result: RunResult,
    /// What the load of each workflow is meant to be now, while it runs; in the order of the result's.
    pub targets: Vec<Option<Target>>,
}

impl JobCore {
    /// How the job is at this moment.
    pub fn view(&self) -> View {
        let wanted = |at| command::has_load(self, at).then(|| command::target(self, at));
        View {
            paused: self.record.is_paused(),
            result: so_far(self),
            targets: (0..self.plan.workflows.len()).map(wanted).collect(),
        }
    }
}

impl JobCore {
    /// The result that the job will have once this end of it is applied: it is stored before the end is decided.
    pub fn result_with(&self, end: &Entry) -> RunResult {
        let mut record = self.record.clone();
        // An end that the record does not take will not be applied either.
        let _ = record.apply(end);
        build_with(self, &record)
    }
}

/// How the whole job ended, once all workflows have.
pub(crate) fn verdict(core: &JobCore) -> (JobEnd, Option<Reason>) {
    if !imbalances(core).is_empty() {
        return (JobEnd::Failed, Some(Reason::Imbalance));
    }
    match core.record.stop().map(|stop| stop.reason.clone()) {
        // The job is judged by what its workflows came to.
        None | Some(Reason::Check) => {}
        Some(Reason::Timeout) => return (JobEnd::TimedOut, Some(Reason::Timeout)),
        Some(reason) => return (JobEnd::Cancelled, Some(reason)),
    }
    if is_unreachable(core) {
        return (JobEnd::Failed, Some(Reason::Unreachable));
    }
    let records = core.record.workflows();
    let completed = records.iter().filter(|record| record.ended() == Some(WorkflowEnd::Completed)).count();
    if completed == records.len() {
        return (JobEnd::Completed, None);
    }
    let end = if completed > 0 { JobEnd::Partial } else { JobEnd::Failed };
    let failure = records.iter().find_map(|record| record.failure());
    let reason = failure.map(|failure| Reason::Failed(failure.kind));
    (end, reason.or_else(|| records.iter().find_map(|record| record.reason().cloned())))
}

/// The result of a job that has ended.
pub(crate) fn build(core: &JobCore) -> RunResult {
    build_with(core, &core.record)
}

fn build_with(core: &JobCore, record: &Record) -> RunResult {
    let (end, reason, elapsed) = match record.end() {
        Some((end, reason, at)) => (Some(end), reason, at),
        None => (None, None, core.now),
    };
    let mut result = common(core, elapsed, false);
    result.status = end.map_or(record.state(), JobState::Ended).status();
    result.reason = reason.map(ToString::to_string);
    result.is_final = true;
    result.errors.extend(imbalances(core));
    result.validity.warnings = warnings(&result);
    result.series = core.series.points(elapsed);
    result.provenance.environment.clone_from(&core.facts.environment);
    result.provenance.options.clone_from(&core.facts.options);
    result.provenance.plan = plan_text(core);
    result
}

/// The result of a job that is not over: the newest points only, and nothing that a face was told at the beginning.
pub(crate) fn so_far(core: &JobCore) -> RunResult {
    let mut result = common(core, core.now, true);
    let stop = core.record.stop();
    result.status = match stop.map(|stop| stop.phase) {
        // A run on this machine has its cores from the beginning.
        None | Some(StopPhase::Running) if core.facts.is_distributed => core.record.state().status(),
        None | Some(StopPhase::Running) => Status::Running,
        Some(StopPhase::Finishing) => Status::Completing,
        Some(StopPhase::Cancelling | StopPhase::Aborted) => Status::Cancelling,
    };
    result.reason = stop.map(|stop| stop.reason.to_string());
    result.validity.warnings = warnings(&result);
    result.series = core.series.newest_full(core.now, NEWEST_POINTS_MAX);
    // Hundreds of numbers per step and second; the live part of a snapshot has the smaller histograms.
    let steps = |workflow: &mut WorkflowResult| {
        let all = workflow.steps.iter_mut().chain(&mut workflow.setup_steps);
        all.for_each(|step| step.times.latency_buckets = Vec::new());
        workflow.steps.iter_mut().for_each(|step| {
            (step.times.latency_bounds, step.times.latency_failed_bounds) = Default::default();
        });
    };
    result.workflows.iter_mut().for_each(steps);
    result
}

/// What both have. While a job runs, a threshold that saw no sample may still see one (`allow_empty`).
fn common(core: &JobCore, elapsed: Duration, allow_empty: bool) -> RunResult {
    let thresholds = thresholds(core, allow_empty);
    let (changes, changes_left_out) = core.record.changes();
    let (segments, segments_left_out) = attempts(core);
    RunResult {
        identity: RunIdentity { version: VERSION, job: core.facts.id.clone(), name: core.plan.name.clone() },
        status: Status::Running,
        reason: None,
        is_final: false,
        started_at: core.facts.started_at.clone(),
        elapsed_s: (elapsed.as_secs_f64() * 1e3).round() / 1e3,
        workflows: (0..core.plan.workflows.len()).map(|at| workflow(core, at)).collect(),
        thresholds_passed: thresholds.iter().all(|threshold| threshold.passed),
        thresholds,
        totals: load_result(&all_load(core), load_time(core)),
        errors: all_errors(core),
        validity: validity(core),
        series: Vec::new(),
        provenance: Provenance {
            changes: changes.to_vec(),
            changes_left_out,
            segments,
            segments_left_out,
            ..Provenance::default()
        },
    }
}

/// Attempts of a job in a cluster, and how many more there are than are listed.
fn attempts(core: &JobCore) -> (Vec<AttemptResult>, u64) {
    if !core.facts.is_distributed {
        return (Vec::new(), 0);
    }
    let records = core.record.workflows().iter().enumerate();
    let of = |(at, record)| {
        WorkflowRecord::attempts(record).map(move |(id, attempt)| attempt_result(core, at, *id, attempt))
    };
    let mut all: Vec<AttemptResult> = records.flat_map(of).collect();
    let left_out = all.len().saturating_sub(ATTEMPTS_MAX);
    all.truncate(ATTEMPTS_MAX);
    (all, left_out as u64)
}

fn attempt_result(core: &JobCore, at: usize, id: AttemptId, attempt: &AttemptRecord) -> AttemptResult {
    let live = || core.live[at].attempts.get(&id).map(|live| live.state);
    let decided = attempt.end.as_ref().map(|(end, _)| AttemptState::Ended(*end));
    let share = attempt.assignment.share;
    AttemptResult {
        segment: format!("{}/{}", core.workflow(at).name, id.segment.index),
        kind: match id.segment.kind {
            SegmentKind::Setup => SegmentPart::Setup,
            SegmentKind::Load => SegmentPart::Load,
            SegmentKind::Teardown => SegmentPart::Teardown,
        },
        attempt: id.number,
        worker: attempt.assignment.worker.to_string(),
        state: decided.or_else(live).unwrap_or_default().status(),
        cores: (share.first_core..share.first_core + share.cores).collect(),
        vus: u64::from(share.own_vus()),
    }
}

fn validity(core: &JobCore) -> Validity {
    let all = core.live.iter().zip(&core.plan.workflows);
    let saturation: Vec<_> =
        all.flat_map(|(live, workflow)| saturation(&workflow.name, &live.totals)).collect();
    Validity {
        generator_saturated: !saturation.is_empty(),
        saturation,
        loss: loss(core),
        ..Validity::default()
    }
}

/// What is missing because workers were lost, or did not say the end of an attempt in time.
fn loss(core: &JobCore) -> Loss {
    let (mut workers, mut loss) = (BTreeSet::new(), Loss::default());
    for (at, record) in core.record.workflows().iter().enumerate() {
        let is_silent = |id: &AttemptId, attempt: &AttemptRecord| {
            core.facts.is_distributed && attempt.is_timed_out() && core.live[at].is_unreported(id)
        };
        let missing =
            |(id, attempt): &(&AttemptId, &AttemptRecord)| attempt.is_lost() || is_silent(id, attempt);
        for (id, attempt) in record.attempts().filter(missing) {
            if attempt.is_lost() {
                workers.insert(Arc::clone(&attempt.assignment.worker));
            }
            let segment = format!("{}/{}", core.workflow(at).name, id.segment.index);
            let live = core.live[at].attempts.get(id);
            loss.windows_late += live.map_or(0, |live| live.windows_late);
            let windows = live.and_then(|live| live.windows.as_deref());
            loss.windows_lost += windows.map_or(0, Received::missing);
            let discarded = windows.filter(|_| core.is_discarded(*id));
            if let Some(discarded) = discarded {
                let requests = discarded.totals.load().requests;
                let (segment, windows) = (segment.clone(), discarded.totals.windows);
                loss.discarded.push(Discarded { segment, attempt: id.number, requests, windows });
            }
            let Some(began) = began(core, record, *id, attempt) else { continue };
            let ended = attempt.ended_at.unwrap_or(core.now);
            // Lost before the load began: it was never told to send any. At the same moment it may have been: the clock of a leader that
            // takes over begins with that of the newest decision. One that joined a load later was placed by a clock that may have been
            // ahead of that, and sends from its dispatch on.
            let waits = !core.restarts(attempt) && attempt.assignment.joins_at.is_zero();
            if waits && ended < began {
                continue;
            }
            // Of what was discarded nothing is in any count.
            let reported = windows.filter(|_| discarded.is_none()).map_or(Duration::ZERO, |it| it.to);
            let from = began.max(reported);
            loss.unreported.push(Unreported {
                segment,
                attempt: id.number,
                from_s: from.as_secs_f64(),
                to_s: ended.max(from).as_secs_f64(),
                vus: u64::from(attempt.assignment.share.own_vus()),
            });
        }
    }
    Loss { workers_lost: workers.len() as u64, ..loss }
}

/// When the load of an attempt began, if it did.
fn began(
    core: &JobCore,
    record: &WorkflowRecord,
    id: AttemptId,
    attempt: &AttemptRecord,
) -> Option<Duration> {
    if id.segment.kind != SegmentKind::Load {
        return None;
    }
    if core.restarts(attempt) {
        return attempt.own_load.map(|own| own.clock.began());
    }
    record.load_clock().map(|clock| clock.began() + attempt.assignment.joins_at)
}

fn workflow(core: &JobCore, at: usize) -> WorkflowResult {
    let (plan, record) = (core.workflow(at), &core.record.workflows()[at]);
    let facts = WorkflowFacts {
        name: plan.name.clone(),
        status: workflow_status(core, at),
        reason: record.reason().map(ToString::to_string).or_else(|| waiting(core, at)),
        elapsed: record.elapsed(core.now),
        vus: u64::from(plan.vus_max()),
        cores: record.cores(),
    };
    WorkflowResult { notes: notes::notes(core, at), ..workflow_result(facts, &core.live[at].totals) }
}

/// Why a workflow that is ready does not run.
fn waiting(core: &JobCore, at: usize) -> Option<String> {
    let is_ready = core.record.workflows()[at].state() == WorkflowState::Ready;
    (is_ready && core.live[at].told_waiting).then(|| WAITING_FOR_CORES.to_owned())
}

/// Where a workflow is, in the words of the result.
pub(crate) fn workflow_status(core: &JobCore, at: usize) -> Status {
    let record = &core.record.workflows()[at];
    match record.state() {
        WorkflowState::Ended(end) => end.status(),
        WorkflowState::Pending => Status::Pending,
        WorkflowState::Ready => Status::Ready,
        WorkflowState::Setup | WorkflowState::Assigned => Status::Assigned,
        WorkflowState::Running => match record.stop_of().map(|(phase, _)| *phase) {
            None | Some(StopPhase::Running) if !core.live[at].finishing => Status::Running,
            None | Some(StopPhase::Running | StopPhase::Finishing) => Status::Completing,
            Some(StopPhase::Cancelling | StopPhase::Aborted) => Status::Cancelling,
        },
        WorkflowState::Teardown => Status::Completing,
    }
}

fn plan_text(core: &JobCore) -> Option<PlanText> {
    let source = core.plan.source.as_ref()?;
    Some(PlanText { name: source.name.clone(), text: source.text.clone() })
}

fn all_load(core: &JobCore) -> LoadTotals {
    let mut all = LoadTotals::default();
    core.live.iter().for_each(|live| all.merge(&live.totals.load()));
    all
}

/// From the first start of any workflow's load to the last end, or to now.
pub(crate) fn load_time(core: &JobCore) -> Duration {
    let records = || core.record.workflows().iter();
    let began = records().filter_map(|record| record.load_clock().map(LoadClock::began));
    let ended = records().filter_map(|record| Some(record.load_clock()?.began() + record.elapsed(core.now)));
    match (began.min(), ended.max()) {
        (Some(began), Some(ended)) => ended.saturating_sub(began),
        _ => Duration::ZERO,
    }
}

/// For how long there has been load, since the first start of any workflow's and without pauses.
pub(crate) fn loaded_for(core: &JobCore) -> Duration {
    let clocks = core.record.workflows().iter().filter_map(|record| record.load_clock());
    clocks.min_by_key(|clock| clock.began()).map_or(Duration::ZERO, |clock| clock.load_time(core.now))
}

/// A rule against what was seen so far of the workflow it names, or of all workflows.
pub(crate) fn evaluate_now(core: &JobCore, rule: &Rule, allow_empty: bool) -> Evaluation {
    let elapsed = match workflow_of(core, rule) {
        None => load_time(core),
        Some(at) => core.record.workflows()[at].elapsed(core.now),
    };
    evaluate(rule, &totals_of(core, rule), elapsed, allow_empty)
}

/// The workflow that a rule names.
fn workflow_of(core: &JobCore, rule: &Rule) -> Option<usize> {
    let name = rule.workflow.as_ref()?;
    let at = core.plan.workflows.iter().position(|workflow| workflow.name == *name);
    Some(at.expect("the plan's reader checked the workflow of every threshold"))
}

/// What a rule is held against.
fn totals_of<'c>(core: &'c JobCore, rule: &Rule) -> Vec<&'c Totals> {
    match workflow_of(core, rule) {
        None => core.live.iter().map(|live| &live.totals).collect(),
        Some(at) => vec![&core.live[at].totals],
    }
}

/// What a reader must know about a rule on latency that holds: many calls failed and are not part of it.
fn left_out(core: &JobCore, rule: &Rule) -> Option<String> {
    let share = left_out_share(rule, &totals_of(core, rule)).filter(|share| *share > LEFT_OUT_MAX)?;
    Some(format!("{:.0} % of the calls failed and are not part of it; `latency_all` has them", share * 100.0))
}

fn thresholds(core: &JobCore, allow_empty: bool) -> Vec<ThresholdResult> {
    let evaluated = |threshold: &hyperscale_plan::model::Threshold| {
        let evaluation = evaluate_now(core, &threshold.rule, allow_empty || threshold.allow_empty);
        ThresholdResult {
            rule: threshold.rule.text.clone(),
            value: evaluation.value,
            passed: evaluation.passed,
            reason: evaluation.reason.map(str::to_owned),
            note: evaluation.passed.then(|| left_out(core, &threshold.rule)).flatten(),
        }
    };
    core.plan.thresholds.iter().map(evaluated).collect()
}

/// Calls were made, and none of them got any response; or they could not even be prepared for that reason.
fn is_unreachable(core: &JobCore) -> bool {
    let failed =
        |kind| core.record.workflows().iter().any(|record| record.failure().is_some_and(|f| f.kind == kind));
    if failed(FailureKind::Unreachable) {
        return true;
    }
    let steps = || core.live.iter().flat_map(|live| live.totals.steps());
    let tried = steps().any(|step| step.requests > 0 || network_errors(step) > 0);
    tried && !steps().any(|step| step.answered > 0)
}

/// Calls that had something to do with the network, and failed. One whose arguments could not be made had not, and a
/// limit of this machine says nothing about the target.
fn network_errors(step: &StepStats) -> u64 {
    use ErrorKind::{
        Auth, Cancelled, Closed, ConnectRefused, ConnectTimeout, Dns, Protocol, Reset, Timeout, Tls, TooLarge,
    };
    [Dns, ConnectRefused, ConnectTimeout, Tls, Auth, Timeout, Reset, Closed, Protocol, TooLarge, Cancelled]
        .into_iter()
        .fold(0, |sum, kind| sum.saturating_add(step.errors[kind.index()]))
}

fn all_errors(core: &JobCore) -> Vec<ErrorResult> {
    let mut all = Vec::new();
    for ((record, live), workflow) in core.record.workflows().iter().zip(&core.live).zip(&core.plan.workflows)
    {
        if let Some(failure) = record.failure() {
            all.push(ErrorResult {
                datacenter: None,
                workflow: workflow.name.clone(),
                step: failure.step.clone(),
                kind: failure.kind.as_str().to_owned(),
                message: failure.message.clone(),
                count: 1,
            });
        }
        all.extend(errors(&workflow.name, &live.totals));
    }
    all
}

/// Counts that do not reconcile are an error of the engine and are shown as such.
fn imbalances(core: &JobCore) -> Vec<ErrorResult> {
    let mut all = Vec::new();
    for (live, workflow) in core.live.iter().zip(&core.plan.workflows) {
        let wrong: Vec<Imbalance> = live.totals.balance().err().unwrap_or_default();
        all.extend(wrong.into_iter().map(|imbalance| ErrorResult {
            datacenter: None,
            workflow: workflow.name.clone(),
            step: imbalance.step.clone(),
            kind: Reason::Imbalance.to_string(),
            message: imbalance.to_string(),
            count: 1,
        }));
    }
    all
}
