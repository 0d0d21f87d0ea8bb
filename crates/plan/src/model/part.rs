//! The graphs of a workflow by name.

use super::{StepGraph, Workflow};

/// Which of a workflow's graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The measured steps.
    Steps,
    /// Once before the load.
    Setup,
    /// Once per VU before its first iteration.
    VuSetup,
    /// Once per VU after its last iteration.
    VuTeardown,
    /// Once after the load.
    Teardown,
}

impl Part {
    /// All parts in the order in which their steps are numbered: the measured ones first.
    pub const ALL: [Part; 5] = [Part::Steps, Part::Setup, Part::VuSetup, Part::VuTeardown, Part::Teardown];

    /// The graph in a workflow.
    pub fn graph(self, workflow: &Workflow) -> &StepGraph {
        match self {
            Part::Steps => &workflow.steps,
            Part::Setup => &workflow.setup,
            Part::VuSetup => &workflow.vu_setup,
            Part::VuTeardown => &workflow.vu_teardown,
            Part::Teardown => &workflow.teardown,
        }
    }

    /// Its key in a plan.
    pub const fn key(self) -> &'static str {
        match self {
            Part::Steps => "steps",
            Part::Setup => "setup",
            Part::VuSetup => "vu_setup",
            Part::VuTeardown => "vu_teardown",
            Part::Teardown => "teardown",
        }
    }

    /// Whether it runs for a VU, not once for the workflow.
    pub const fn has_vu(self) -> bool {
        !matches!(self, Part::Setup | Part::Teardown)
    }
}
