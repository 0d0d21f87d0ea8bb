//! What limits the trust in the numbers, in words.

use super::{Loss, RunResult, SaturationResult, WorkflowResult};
use crate::human;
use crate::saturation::{BUSY_MAX, LAG_MAX_NS, Measure, RUN_QUEUE_MAX};

const LESS_LOAD: &str = "use more cores or less load";
const RAISE_LIMIT: &str = "the errors say which limit and how to raise it";
const OTHERS: &str = "something else uses this machine";
const MORE_VUS: &str = "raise `max_vus` if the target is to get this load";
/// A core that is idle for more than this is not what makes starts late.
const IDLE: f64 = 0.5;
/// Above this share of dropped starts the target got noticeably less load than planned.
const DROPPED_MAX: f64 = 0.01;

/// Why the generator counts as the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// What was measured, when and for how long; unknown in results that were written without it.
    pub measure: Option<String>,
    /// What helps.
    pub advice: &'static str,
}

/// By which measure the generator of a saturated run is the bottleneck: the one that explains the others.
pub fn bottleneck(result: &RunResult) -> Bottleneck {
    let intervals = &result.validity.saturation;
    let Some(first) = intervals.iter().min_by_key(|interval| interval.measure) else {
        return Bottleneck { measure: None, advice: LESS_LOAD };
    };
    let same: Vec<&SaturationResult> = intervals
        .iter()
        .filter(|interval| (interval.measure, &interval.workflow) == (first.measure, &first.workflow))
        .collect();
    let of = if result.workflows.len() > 1 { format!("{}: ", first.workflow) } else { String::new() };
    let from = same.iter().map(|interval| interval.from_s).min().unwrap_or_default();
    let measure = format!(
        "{of}{}, {} s of {} from {from} s on",
        what(first.measure),
        covered_s(same.iter().map(|interval| interval.from_s..interval.to_s)),
        human::seconds(result.elapsed_s),
    );
    let workflow = result.workflows.iter().find(|workflow| workflow.name == first.workflow);
    Bottleneck { measure: Some(measure), advice: advice(first.measure, workflow) }
}

fn what(measure: Measure) -> String {
    match measure {
        Measure::LocalLimit => "calls hit a limit of this machine".to_owned(),
        Measure::Cpu => format!("a core above {:.0} % CPU", BUSY_MAX * 100.0),
        Measure::RunQueue => {
            format!("a core waited for its CPU over {:.0} % of the time", RUN_QUEUE_MAX * 100.0)
        }
        Measure::Lag => format!("start lag p99 above {}", human::micros(LAG_MAX_NS as f64 / 1e3)),
        Measure::Vus => "starts waited for a free VU".to_owned(),
    }
}

fn advice(measure: Measure, workflow: Option<&WorkflowResult>) -> &'static str {
    let is_idle =
        || workflow.and_then(|workflow| workflow.generator.busiest_core).is_some_and(|busy| busy < IDLE);
    match measure {
        Measure::LocalLimit => RAISE_LIMIT,
        Measure::RunQueue => OTHERS,
        Measure::Lag if is_idle() => OTHERS,
        Measure::Cpu | Measure::Lag => LESS_LOAD,
        Measure::Vus => MORE_VUS,
    }
}

/// How many seconds lie in any of the intervals.
pub(crate) fn covered_s(intervals: impl Iterator<Item = std::ops::Range<u64>>) -> u64 {
    let mut sorted: Vec<_> = intervals.collect();
    sorted.sort_unstable_by_key(|interval| interval.start);
    let (mut covered, mut until) = (0, 0);
    for interval in sorted {
        covered += interval.end.saturating_sub(interval.start.max(until));
        until = until.max(interval.end);
    }
    covered
}

/// The sentence about a generator that was the bottleneck, if it was.
pub fn saturated(result: &RunResult) -> Option<String> {
    result.validity.generator_saturated.then(|| {
        let Bottleneck { measure, advice } = bottleneck(result);
        let measure = measure.map(|measure| format!(" ({measure})")).unwrap_or_default();
        format!(
            "the load generator itself was the bottleneck{measure}: latencies are partly its own; {advice}"
        )
    })
}

/// What limits the trust in the numbers, the weightiest first.
pub fn warnings(result: &RunResult) -> Vec<String> {
    let dropped = result.workflows.iter().filter_map(dropped);
    let thresholds = result.thresholds.iter().filter_map(|threshold| {
        threshold.note.as_ref().map(|note| format!("`{}` holds, but {note}", threshold.rule))
    });
    let told = saturated(result).into_iter().chain(losses(&result.validity.loss)).chain(dropped);
    told.chain(notes(result)).chain(thresholds).collect()
}

/// Starts that never began.
fn dropped(workflow: &WorkflowResult) -> Option<String> {
    let (scheduled, dropped) = (workflow.iterations.scheduled?, workflow.iterations.dropped);
    let share = dropped as f64 / scheduled as f64;
    (dropped > 0 && share > DROPPED_MAX).then(|| {
        format!(
            "{}: {} of {} starts ({}) were dropped: the target got less load than planned",
            workflow.name,
            human::count(dropped),
            human::count(scheduled),
            human::percent(share),
        )
    })
}

/// Where workflows did less than their plan says.
fn notes(result: &RunResult) -> impl Iterator<Item = String> {
    let of = |workflow: &'_ WorkflowResult| {
        workflow.notes.iter().map(|note| format!("{}: {note}", workflow.name)).collect::<Vec<_>>()
    };
    result.workflows.iter().flat_map(of)
}

fn losses(loss: &Loss) -> Vec<String> {
    let counted = [
        (
            loss.windows_lost,
            "statistics window was lost: its samples are missing",
            "statistics windows were lost: their samples are missing",
        ),
        (
            loss.windows_late,
            "statistics window came after the loss of its worker and does not count",
            "statistics windows came after the loss of their workers and do not count",
        ),
        (loss.samples_dropped, "sample could not be kept", "samples could not be kept"),
        (loss.workers_lost, "worker was lost", "workers were lost"),
    ];
    let mut notes: Vec<String> = counted
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| format!("{} {}", human::count(n), if n == 1 { one } else { many }))
        .collect();
    notes.extend(loss.discarded.iter().map(|it| {
        format!(
            "{} requests of segment {} (attempt {}) were discarded: its worker was lost and it ran again from the beginning",
            human::count(it.requests),
            it.segment,
            it.attempt,
        )
    }));
    notes.extend(loss.unreported.iter().map(|gap| {
        format!(
            "requests of segment {} (attempt {}, {} VUs) between {} and {} are unknown",
            gap.segment,
            gap.attempt,
            human::count(gap.vus),
            human::seconds(gap.from_s),
            human::seconds(gap.to_s),
        )
    }));
    notes
}
