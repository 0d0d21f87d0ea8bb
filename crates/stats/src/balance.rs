//! The books of a run: laws that its counts obey once nothing is in flight any more.

use std::fmt;

use hyperscale_types::Name;

use crate::step::StepStats;
use crate::totals::Totals;

/// A law that does not hold. The run's numbers cannot be trusted, and the run must say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// The step whose books are wrong; `None` for the iterations.
    pub step: Option<Name>,
    /// The law, in words.
    pub law: &'static str,
    /// Its left side.
    pub left: u64,
    /// Its right side.
    pub right: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = &self.step {
            write!(f, "step `{step}`: ")?;
        }
        write!(f, "{} does not hold: {} against {}", self.law, self.left, self.right)
    }
}

impl std::error::Error for Imbalance {}

impl Totals {
    /// Checks the books; to be called when the run has ended. All laws that do not hold are named.
    pub fn balance(&self) -> Result<(), Vec<Imbalance>> {
        let mut wrong = Vec::new();
        self.balance_iterations(&mut wrong);
        for (layout, step) in self.layout().steps.iter().zip(self.steps()) {
            balance_step(&layout.name, step, &mut wrong);
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn balance_iterations(&self, wrong: &mut Vec<Imbalance>) {
        let i = &self.iterations;
        let mut law = |holds: bool, law, left, right| {
            if !holds {
                wrong.push(Imbalance { step: None, law, left, right });
            }
        };
        let ended = i.completed.saturating_add(i.failed).saturating_add(i.interrupted);
        law(i.started == ended, "started = completed + failed + interrupted", i.started, ended);
        if i.is_open() {
            let made = i.started.saturating_add(i.dropped);
            law(i.scheduled == made, "scheduled = started + dropped", i.scheduled, made);
        }
        law(i.late <= i.scheduled, "late ≤ scheduled", i.late, i.scheduled);
    }
}

fn balance_step(name: &Name, step: &StepStats, wrong: &mut Vec<Imbalance>) {
    let mut law = |holds: bool, law, left, right| {
        if !holds {
            wrong.push(Imbalance { step: Some(name.clone()), law, left, right });
        }
    };
    let mut equal = |text, left, right| law(left == right, text, left, right);
    equal("count = ok + failed", step.count, step.ok.saturating_add(step.failed));
    equal(
        "errors by kind = failed",
        step.errors_by_kind().fold(0, |sum, (_, n)| sum.saturating_add(n)),
        step.failed,
    );
    equal("latency samples = ok", step.latency.count(), step.ok);
    equal("service samples = ok", step.service.count(), step.ok);
    equal("failed latency samples = failed", step.failed_latency.count(), step.failed);
    let mut at_most = |text, left, right| law(left <= right, text, left, right);
    for phase in step.phases.iter().chain(step.unknown_phases().map(|(_, phase)| phase)) {
        at_most("phase samples ≤ ok", phase.count(), step.ok);
    }
    at_most("statuses ≤ count", step.statuses().map(|(_, n)| n).sum(), step.count);
    for kind in step.messages().map(|(kind, ..)| kind) {
        let errors = step.errors_by_kind().find(|(of, _)| *of == kind).map_or(0, |(_, count)| count);
        at_most("messages of a kind ≤ errors of it", step.messages_of(kind), errors);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sample::CallSample;
    use crate::window::Iterations;
    use hyperscale_types::ErrorKind;

    fn books(error: Option<ErrorKind>) -> StepStats {
        let mut step = StepStats::default();
        step.call(&CallSample { latency_ns: 5, service_ns: 3, error, status: 200, ..CallSample::default() });
        step
    }

    fn laws_broken_by(step: &StepStats) -> Vec<&'static str> {
        let mut wrong = Vec::new();
        balance_step(&"users".parse().expect("a name"), step, &mut wrong);
        wrong.into_iter().map(|imbalance| imbalance.law).collect()
    }

    #[test]
    fn iterations_that_do_not_add_up_are_noticed() {
        let laws = |iterations: Iterations| {
            let mut totals = Totals::new(&Arc::default());
            totals.iterations = iterations;
            let wrong = totals.balance().err().unwrap_or_default();
            wrong.into_iter().map(|imbalance| imbalance.law).collect::<Vec<_>>()
        };
        let right = Iterations {
            scheduled: 5,
            started: 3,
            completed: 1,
            failed: 1,
            interrupted: 1,
            dropped: 2,
            late: 5,
            missed: 0,
        };
        assert_eq!(laws(right), [""; 0]);
        assert_eq!(laws(Iterations { late: 6, ..right }), ["late ≤ scheduled"]);
        assert_eq!(laws(Iterations { failed: 0, ..right }), ["started = completed + failed + interrupted"]);
        assert_eq!(laws(Iterations { dropped: 1, ..right }), ["scheduled = started + dropped"]);
    }

    #[test]
    fn right_books_balance() {
        assert!(laws_broken_by(&books(None)).is_empty());
        assert!(laws_broken_by(&books(Some(ErrorKind::Reset))).is_empty());
    }

    #[test]
    fn every_tampering_is_noticed() {
        let tamper = |change: fn(&mut StepStats)| {
            let mut step = books(None);
            step.merge(&books(Some(ErrorKind::Reset)));
            change(&mut step);
            laws_broken_by(&step)
        };
        assert_eq!(tamper(|step| step.count += 1), ["count = ok + failed"]);
        assert_eq!(tamper(|step| step.errors[0] += 1), ["errors by kind = failed"]);
        assert_eq!(tamper(|step| step.latency.record(1)), ["latency samples = ok"]);
        assert_eq!(tamper(|step| step.service.record(1)), ["service samples = ok"]);
        assert_eq!(tamper(|step| step.failed_latency.record(1)), ["failed latency samples = failed"]);
        assert_eq!(tamper(|step| (0..2).for_each(|_| step.phases[0].record(1))), ["phase samples ≤ ok"]);
        assert_eq!(
            tamper(|step| step.call(&CallSample { status: 200, ..CallSample::default() })),
            [""; 0],
            "a call through the front door is no tampering"
        );
    }
}
