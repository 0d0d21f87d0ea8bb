//! What people must know about a workflow that did less than its plan says, though nothing failed.

use hyperscale_plan::model::workflow::IterationCount;
use hyperscale_plan::model::{Load, Plan, Workflow};

use crate::machine::JobCore;
use crate::segment::VuCounts;
use crate::state::WorkflowEnd;

/// Notes on a workflow; those on what was not reached only when it has ended by itself.
pub(crate) fn notes(core: &JobCore, at: usize) -> Vec<String> {
    let (workflow, record) = (core.workflow(at), &core.record.workflows()[at]);
    let mut vus = VuCounts::default();
    let results = record.attempts().filter_map(|(_, attempt)| attempt.end.as_ref());
    results.for_each(|(_, result)| vus.merge(&result.vus));
    let mut notes = out_of_rows(&core.plan, &vus.out_of_rows);
    if record.ended() == Some(WorkflowEnd::Completed) {
        let rows_ended = !notes.is_empty();
        let started = core.live[at].totals.iterations.started;
        notes.extend(count_missed(&workflow.load, started, rows_ended));
        notes.extend(vus_missed(workflow, vus.started));
        if started == 0 {
            notes.push("no iteration was started".to_owned());
        }
    }
    notes
}

fn out_of_rows(plan: &Plan, counts: &[u32]) -> Vec<String> {
    let counted = plan.data.iter().zip(counts).filter(|(_, count)| **count > 0);
    let note = |name, count: &u32| match count {
        1 => format!("the rows of data `{name}` ran out: 1 virtual user ended before its time"),
        n => format!("the rows of data `{name}` ran out: {n} virtual users ended before their time"),
    };
    counted.map(|(source, count)| note(&source.name, count)).collect()
}

/// A number of iterations that was not reached.
fn count_missed(load: &Load, started: u64, rows_ended: bool) -> Option<String> {
    let Load::Iterations { vus, count, max_duration } = load else { return None };
    let wanted = match count {
        IterationCount::Shared(count) => *count,
        IterationCount::PerVu(each) => each.saturating_mul(u64::from(*vus)),
    };
    let why = match max_duration {
        _ if rows_ended => String::new(),
        Some(span) => format!(": `max_duration` of {span} was over"),
        None => ": virtual users ended early".to_owned(),
    };
    (started < wanted).then(|| format!("{started} of {wanted} iterations were started{why}"))
}

/// Virtual users whose turn in the ramp never came.
fn vus_missed(workflow: &Workflow, started: u32) -> Option<String> {
    let is_longer = workflow.planned().is_some_and(|planned| workflow.timing.ramp > planned);
    let wanted = workflow.vus_max();
    let missed = is_longer && started < wanted && !matches!(workflow.load, Load::Open { .. });
    missed.then(|| {
        format!("{started} of {wanted} virtual users were started: the load was over before the ramp")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_was_not_reached_is_told_with_its_reason() {
        let load = |count, max| Load::Iterations { vus: 4, count, max_duration: max };
        let max = Some("2s".parse().expect("a span"));
        for (load, started, rows_ended, wanted) in [
            (load(IterationCount::Shared(100), max), 100, false, None),
            (
                load(IterationCount::Shared(100), max),
                40,
                false,
                Some("40 of 100 iterations were started: `max_duration` of 2s was over"),
            ),
            (
                load(IterationCount::PerVu(10), max),
                39,
                false,
                Some("39 of 40 iterations were started: `max_duration` of 2s was over"),
            ),
            (load(IterationCount::Shared(100), max), 3, true, Some("3 of 100 iterations were started")),
            (
                load(IterationCount::PerVu(10), None),
                31,
                false,
                Some("31 of 40 iterations were started: virtual users ended early"),
            ),
        ] {
            assert_eq!(count_missed(&load, started, rows_ended).as_deref(), wanted, "{load:?}");
        }
    }
}
