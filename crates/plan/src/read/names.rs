//! The names of a plan and of its workflows, with the tally of who refers to which part of which answer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use hyperscale_types::{Name, rule::RESERVED_STEP_NAMES};
use minijinja::Value;

use super::Reader;
use super::protocol::Protocol;
use crate::document::Place;
use crate::model::Part;
use crate::model::step::Needs;

/// Words with a meaning of their own in templates and expressions: nothing of a plan can be called so.
pub const RESERVED_WORDS: [&str; 27] = [
    "data",
    "vu",
    "worker",
    "job",
    "run",
    "stats",
    "env",
    "now_ms",
    "uuid",
    "random",
    "true",
    "false",
    "none",
    "not",
    "and",
    "or",
    "in",
    "is",
    "if",
    "else",
    "range",
    "dict",
    "namespace",
    "debug",
    "self",
    "loop",
    "super",
];

/// Unknown names of a workflow that get a hint: finding the nearest of a thousand names takes its time.
const HINTS_MAX: usize = 50;

/// Names that results have: no extraction can be called so, whatever the protocol.
pub(super) const RESERVED_FIELDS: [&str; 5] = ["status", "json", "body", "headers", "latency_ms"];

/// Names of the whole plan.
#[derive(Clone, Copy)]
pub(super) struct PlanNames<'p> {
    pub(super) vars: &'p [(Name, Value)],
    pub(super) data: &'p [DataNames],
}

/// A data file's names.
pub(super) struct DataNames {
    pub(super) name: Name,
    /// `None`: not known before it is read.
    pub(super) columns: Option<Vec<String>>,
}

/// What a step leaves behind for others.
pub(super) enum Gives {
    /// The response of a client call, and these extractions.
    Answer(Protocol, Vec<String>),
    /// A JSON value.
    Value,
    /// Nothing; what kind of step it is.
    Nothing(&'static str),
}

/// A step as others see it.
pub(super) struct StepNames {
    pub(super) name: Name,
    pub(super) gives: Gives,
}

/// Names of one workflow.
pub(super) struct WorkflowNames {
    pub(super) uses: Vec<Name>,
    pub(super) keep: Vec<Name>,
    /// By [`Part`].
    pub(super) parts: [Vec<StepNames>; 5],
    /// By [`Part`] and step.
    needs: [RefCell<Vec<Needs>>; 5],
    data: RefCell<BTreeSet<usize>>,
    hints_left: Cell<usize>,
}

impl WorkflowNames {
    /// Nobody refers to anything yet.
    pub(super) fn new(uses: Vec<Name>, keep: Vec<Name>, parts: [Vec<StepNames>; 5]) -> Self {
        WorkflowNames {
            uses,
            keep,
            parts,
            needs: Default::default(),
            data: RefCell::default(),
            hints_left: Cell::new(HINTS_MAX),
        }
    }

    /// What others need of a step's answer, so far.
    pub(super) fn needs(&self, part: Part, step: usize) -> Needs {
        self.needs[part as usize].borrow().get(step).copied().unwrap_or_default()
    }

    /// Whether one more unknown name gets a hint.
    pub(super) fn takes_hint(&self) -> bool {
        let left = self.hints_left.get();
        self.hints_left.set(left.saturating_sub(1));
        left > 0
    }

    /// Somebody refers to a row of a data file.
    pub(super) fn need_data(&self, at: usize) {
        self.data.borrow_mut().insert(at);
    }

    /// The data files that its templates refer to, so far.
    pub(super) fn data(&self) -> Vec<usize> {
        self.data.borrow().iter().copied().collect()
    }

    /// Somebody refers to a step's answer; without a field, to all of it.
    pub(super) fn need(&self, part: Part, step: usize, field: Option<&str>) {
        let mut needs = self.needs[part as usize].borrow_mut();
        if needs.len() <= step {
            needs.resize(step + 1, Needs::default());
        }
        let asked = match &self.parts[part as usize][step].gives {
            Gives::Answer(protocol, _) => protocol.needs(field),
            Gives::Value | Gives::Nothing(_) => Needs { result: true, ..Needs::default() },
        };
        needs[step] = needs[step].and(asked);
    }
}

impl Reader<'_> {
    /// A name that has a meaning of its own in templates is refused.
    pub(super) fn not_reserved(&self, name: &Name, place: Place, what: &str) {
        if RESERVED_WORDS.contains(&name.as_str()) {
            self.problems.error(
                place,
                format!("`{name}` is a word of the template language and no name for a {what}"),
            );
        }
    }

    /// A step's name must not be a word of thresholds either.
    pub(super) fn not_reserved_step(&self, name: &Name, place: Place) {
        self.not_reserved(name, place, "step");
        if RESERVED_STEP_NAMES.contains(&name.as_str()) {
            self.problems
                .error(place, format!("`{name}` is a word of threshold rules and no name for a step"));
        }
    }
}
