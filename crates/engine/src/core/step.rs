//! HOT: running one step of a graph for one virtual user.

use hyperscale_clients::{Outcome, Progress};
use hyperscale_job::StopPhase;
use hyperscale_plan::model::Part;
use hyperscale_plan::model::step::{Action, MetricStep, Stop};
use hyperscale_plan::model::{Step, StepKind};
use hyperscale_stats::CallSample;
use hyperscale_types::{ErrorKind, Now, Span};
use minijinja::Value;

use super::Core;
use super::bounded;
use super::examine::{self, Subject, Verdict};
use super::flight::Flight;
use super::scope::VuScope;
use super::vu::{Vu, think};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEnd {
    /// Done.
    Ok,
    /// Failed: its dependents are skipped.
    Failed,
    /// Its `when` was false: its dependents run without it.
    Skipped,
    /// A check with `stop` failed.
    Stop(Stop),
    /// The run was cancelled before it could run.
    Cut,
}

impl From<&Verdict> for StepEnd {
    fn from(verdict: &Verdict) -> Self {
        match (verdict.stop, verdict.error) {
            (Some(stop), _) => StepEnd::Stop(stop),
            (None, Some(_)) => StepEnd::Failed,
            (None, None) => StepEnd::Ok,
        }
    }
}

/// A step of a graph, and where it stands in plan and statistics.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) step: &'a Step,
    pub(crate) part: Part,
    /// Position in the part's graph.
    pub(crate) at: usize,
    /// Number in the statistics.
    pub(crate) number: usize,
}

impl<'a> Place<'a> {
    pub(super) fn new(core: &'a Core, part: Part, at: usize) -> Self {
        let step = &part.graph(core.workflow()).steps[at];
        Place { step, part, at, number: core.slice.bases[part as usize].step + at }
    }

    /// Whether running it means to call once, and nothing else.
    pub(super) fn is_one_call(&self) -> bool {
        let Step { when, repeat, think, kind, .. } = self.step;
        *repeat == 1 && when.is_none() && think.is_none() && matches!(kind, StepKind::Call(_))
    }
}

/// Runs a step as often as it says. Its first call takes `intended`, from which its latency counts; one that sleeps
/// clears it, for what follows is no longer meant to begin then.
pub(crate) async fn run(core: &Core, vu: &Vu, place: Place<'_>, intended: &mut Option<Now>) -> StepEnd {
    let step = place.step;
    if step.when.is_some()
        && let Some(end) = skip_unless(core, vu, place)
    {
        return rest(core, vu, place, end, false, intended).await;
    }
    if let Some(limit) = bounded::limit(step) {
        return Box::pin(bounded::run(core, vu, place, intended, limit)).await;
    }
    for left in (0..step.repeat).rev() {
        if core.phase.get() >= StopPhase::Cancelling {
            return StepEnd::Cut;
        }
        let end = once(core, vu, place, intended).await;
        let end = rest(core, vu, place, end, left > 0, intended).await;
        if end != StepEnd::Ok {
            return end;
        }
    }
    StepEnd::Ok
}

/// Runs a step one time.
pub(super) async fn once(core: &Core, vu: &Vu, place: Place<'_>, intended: &mut Option<Now>) -> StepEnd {
    match &place.step.kind {
        StepKind::Call(_) => call(core, vu, place, intended.take()).await,
        StepKind::Action(Action::Sleep(pause)) => {
            *intended = None;
            if !think(core, vu, *pause, StopPhase::Cancelling).await {
                return StepEnd::Cut;
            }
            land_local(core, place, &Verdict::default())
        }
        StepKind::Check | StepKind::Metric(_) | StepKind::Action(Action::Set(_)) => {
            let verdict = run_local(core, vu, place);
            land_local(core, place, &verdict)
        }
    }
}

/// Waits for the step's think time, also when it failed: a target in trouble must not be hit harder than a healthy one.
/// Once no iteration starts any more nobody waits for a pause after which nothing follows.
pub(super) async fn rest(
    core: &Core,
    vu: &Vu,
    place: Place<'_>,
    end: StepEnd,
    repeats: bool,
    intended: &mut Option<Now>,
) -> StepEnd {
    let goes_on = matches!(end, StepEnd::Ok | StepEnd::Failed | StepEnd::Stop(Stop::Iteration));
    let Some(pause) = place.step.think.filter(|_| goes_on) else { return end };
    *intended = None;
    let followed = end == StepEnd::Ok && (repeats || core.parts[place.part as usize].followed[place.at]);
    let until = if followed { StopPhase::Cancelling } else { StopPhase::Finishing };
    let rested = think(core, vu, pause, until).await;
    if followed && !rested { StepEnd::Cut } else { end }
}

/// `Some` if the step is not to run: its `when` is false or failed.
fn skip_unless(core: &Core, vu: &Vu, place: Place<'_>) -> Option<StepEnd> {
    match place.step.when.as_ref()?.is_true(&VuScope { core, vu }) {
        Ok(true) => None,
        Ok(false) => {
            core.window.borrow_mut().skipped(place.number, 1);
            Some(StepEnd::Skipped)
        }
        Err(error) => Some(land_local(core, place, &Verdict::failed(ErrorKind::Expr, error.to_string()))),
    }
}

/// Calls once and records it; the step's latency counts from `intended`.
pub(super) async fn call(core: &Core, vu: &Vu, place: Place<'_>, intended: Option<Now>) -> StepEnd {
    let flight = Flight::begin(core, place.number, intended);
    let call = core.parts[place.part as usize].calls_of[place.at].start;
    let mut outcome = perform(&VuScope { core, vu }, place.part, call, &flight.progress).await;
    let verdict = if outcome.error.is_none() && is_plain(place.step) {
        Verdict::default()
    } else {
        examine::examine(core, vu, place, &mut outcome, intended)
    };
    let sample = flight.land(&outcome, verdict.error);
    if verdict.error == Some(ErrorKind::Cancelled) {
        core.isolate();
    }
    if verdict.error.is_some() || !place.step.tags.is_empty() || outcome.stream.is_some() {
        examine::note(core, vu, place, &outcome, &verdict, &sample);
    }
    StepEnd::from(&verdict)
}

/// Makes one of the prepared calls of a part. Nothing is recorded.
#[inline]
fn perform(
    scope: &VuScope<'_>,
    part: Part,
    call: usize,
    progress: &Progress,
) -> impl Future<Output = Outcome> {
    let VuScope { core, vu } = scope;
    core.clients.call(&vu.session, &core.parts[part as usize].calls[call], scope, progress)
}

/// Nobody looks at more than whether the call is as expected.
fn is_plain(step: &Step) -> bool {
    !step.needs.result && step.checks.is_empty() && step.extract.is_empty()
}

/// A step without a call: a check, a metric, a value.
fn run_local(core: &Core, vu: &Vu, place: Place<'_>) -> Verdict {
    let scope = VuScope { core, vu };
    let result = match &place.step.kind {
        StepKind::Metric(metric) => record_metric(core, vu, place, metric),
        StepKind::Action(Action::Set(document)) => document
            .value(&scope)
            .map(|value| vu.keep_result(place.at, value))
            .map_err(|error| Verdict::failed(ErrorKind::Template, error.to_string())),
        StepKind::Check | StepKind::Call(_) | StepKind::Action(Action::Sleep(_)) => Ok(()),
    };
    match result {
        Ok(()) => examine::check_all(core, vu, place, &Subject::default()),
        Err(verdict) => verdict,
    }
}

fn record_metric(core: &Core, vu: &Vu, place: Place<'_>, metric: &MetricStep) -> Result<(), Verdict> {
    let value = metric
        .value
        .value(&VuScope { core, vu })
        .map_err(|error| Verdict::failed(ErrorKind::Template, error.to_string()))?;
    let number = number(&value).ok_or_else(|| {
        let message = format!("`{}` gives `{value}`, which is not a finite number", metric.value.source());
        Verdict::failed(ErrorKind::Expr, message)
    })?;
    let index = core.parts[place.part as usize].metrics[place.at].expect("every metric step has a number");
    core.window.borrow_mut().metric(index, number);
    if !place.step.tags.is_empty() {
        examine::with_tags(core, vu, place, |tags| {
            core.window.borrow_mut().tagged_metric(index, tags, number);
        });
    }
    vu.keep_result(place.at, value);
    Ok(())
}

/// A value as a finite number: numbers, booleans, texts of numbers, and durations with a unit (in seconds).
fn number(value: &Value) -> Option<f64> {
    let number = match value.as_str() {
        Some(text) => match text.trim().parse::<f64>() {
            Ok(number) => number,
            Err(_) => text.parse::<Span>().ok()?.as_secs_f64(),
        },
        None if value.kind() == minijinja::value::ValueKind::Bool => f64::from(u8::from(value.is_true())),
        None => f64::try_from(value.clone()).ok()?,
    };
    number.is_finite().then_some(number)
}

/// Records the end of a step that made no call.
pub(super) fn land_local(core: &Core, place: Place<'_>, verdict: &Verdict) -> StepEnd {
    let mut window = core.window.borrow_mut();
    window.call(place.number, &CallSample { error: verdict.error, ..CallSample::default() });
    if let Some(kind) = verdict.error {
        window.error_message(place.number, kind, verdict.message.as_deref().unwrap_or_default());
    }
    StepEnd::from(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_take_numbers_booleans_and_durations() {
        assert_eq!(number(&Value::from(3)), Some(3.0));
        assert_eq!(number(&Value::from(-2.5)), Some(-2.5));
        assert_eq!(number(&Value::from(true)), Some(1.0));
        assert_eq!(number(&Value::from(" 7 ")), Some(7.0));
        assert_eq!(number(&Value::from("250ms")), Some(0.25));
        assert_eq!(number(&Value::from("many")), None);
        assert_eq!(number(&Value::from(f64::NAN)), None);
        assert_eq!(number(&Value::from(())), None);
    }
}
