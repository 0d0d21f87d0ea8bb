//! Why a job rejects a command. Nothing was changed; each refusal says what would be accepted.

use hyperscale_types::{Name, limits};

/// Why a command was rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The run has ended.
    #[error("the run is over")]
    Over,
    /// The run is stopping, and that cannot be taken back.
    #[error("the run is stopping")]
    Stopping,
    /// Too many commands are waiting. The same one may be sent again.
    #[error("the run has too many commands to carry out")]
    Busy,
    /// The plan has no such workflow.
    #[error("the run has no workflow `{name}`")]
    UnknownWorkflow {
        /// As it was named.
        name: Name,
        /// Those it has, in the order of the plan.
        known: Vec<Name>,
    },
    /// The load of the workflow does not run: not yet, or not any more.
    #[error("the load of {name} does not run: it is {status}")]
    NotRunning {
        /// Its name.
        name: Name,
        /// Its status.
        status: &'static str,
    },
    /// No workflow of the run has a load that runs now.
    #[error("no workflow of the run has load at this moment")]
    NoLoad,
    /// The load model has no such thing.
    #[error("{name} is {model} and has no {wanted} to change")]
    WrongModel {
        /// Its name.
        name: Name,
        /// Its load model, in words.
        model: &'static str,
        /// What was to be changed.
        wanted: Quantity,
        /// What can be changed instead.
        has: Quantity,
    },
    /// More virtual users than a workflow may have.
    #[error("{vus} virtual users are more than the {max} that a workflow may have", max = limits::VUS_MAX)]
    TooManyVus {
        /// How many were wanted.
        vus: u32,
    },
    /// Every row of a data file belongs to one of the planned virtual users; further ones would have none.
    #[error(
        "the rows of data `{data}` are divided among the {vus} virtual users that {name} has in its plan"
    )]
    NoRows {
        /// Its name.
        name: Name,
        /// The data file.
        data: Name,
        /// How many virtual users its plan has.
        vus: u32,
    },
    /// Its iterations are divided among its cores; a core without a virtual user would keep its share for ever.
    #[error("the iterations of {name} are counted per core, and each of its {cores} needs a virtual user")]
    TooFewVus {
        /// Its name.
        name: Name,
        /// How many it needs at least.
        cores: u32,
    },
}

/// What can be changed about a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Virtual users.
    Vus,
    /// Starts per second.
    Rate,
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Quantity::Vus => "virtual users",
            Quantity::Rate => "rate",
        })
    }
}

impl Refusal {
    /// A word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            Refusal::Over => "over",
            Refusal::Stopping => "stopping",
            Refusal::Busy => "busy",
            Refusal::UnknownWorkflow { .. } => "unknown_workflow",
            Refusal::NotRunning { .. } | Refusal::NoLoad => "not_running",
            Refusal::WrongModel { .. } => "wrong_model",
            Refusal::TooManyVus { .. } | Refusal::NoRows { .. } | Refusal::TooFewVus { .. } => "limit",
        }
    }

    /// What to do about it.
    pub fn fix(&self) -> String {
        match self {
            Refusal::Over | Refusal::Stopping => "start another run".to_owned(),
            Refusal::Busy => "send it again".to_owned(),
            Refusal::UnknownWorkflow { known, .. } => format!("name one of {}", listed(known)),
            Refusal::NotRunning { .. } | Refusal::NoLoad => {
                "wait until its load runs, or name another workflow".to_owned()
            }
            Refusal::WrongModel { has: Quantity::Vus, .. } => "change its virtual users instead".to_owned(),
            Refusal::WrongModel { has: Quantity::Rate, .. } => "change its rate instead".to_owned(),
            Refusal::TooManyVus { .. } => format!("ask for at most {}", limits::VUS_MAX),
            Refusal::NoRows { vus, .. } => {
                format!("ask for at most {vus}, or start another run whose data has `order: sequential`")
            }
            Refusal::TooFewVus { cores, .. } => {
                format!("ask for at least {cores}, or pause the run")
            }
        }
    }
}

fn listed(names: &[Name]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
