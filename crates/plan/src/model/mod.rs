//! The validated plan: what the engine runs. Wrong plans cannot be represented here as far as types can say so; what
//! types cannot say (names resolve, no cycles, both sides of a context name each other) is established by the reader.
//!
//! Indexes ([`WorkflowIndex`], step positions, …) are positions in the vectors of this model and always valid.

pub mod connection;
#[cfg(feature = "test-protocol")]
mod echo;
pub mod http;
pub mod mix;
mod part;
pub mod step;
pub mod workflow;

use std::path::PathBuf;

use hyperscale_types::{Name, Span, rule::Rule};
use minijinja::Value;

#[cfg(feature = "test-protocol")]
pub use echo::Echo;
pub use http::HttpRequest;
pub use mix::{Mix, MixMember};
pub use part::Part;
pub use step::{Call, Step, StepGraph, StepKind};
pub use workflow::{Load, Workflow};

/// Position of a workflow in [`Plan::workflows`].
pub type WorkflowIndex = usize;

/// A validated plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The plan's name; by default the file's stem.
    pub name: String,
    /// Variables with their resolved values, in file order. Visible under their names everywhere.
    pub vars: Vec<(Name, Value)>,
    /// Data files, in file order. A row is visible as `data.<name>.<column>`.
    pub data: Vec<DataSource>,
    /// Workflows, in file order.
    pub workflows: Vec<Workflow>,
    /// The load that workflows without one of their own share; their [`Workflow::load`] is their part of it.
    pub mix: Option<Mix>,
    /// Thresholds over the whole job, in file order.
    pub thresholds: Vec<Threshold>,
    /// What it was read from; `None` if no person wrote it.
    pub source: Option<SourceText>,
}

/// The text of a plan as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// What problems call it: the file.
    pub name: String,
    /// Its content, with the secrets that are written in it masked.
    pub text: String,
}

/// A data file whose rows are handed to iterations.
#[derive(Clone, Debug)]
pub struct DataSource {
    /// Its name under `data`.
    pub name: Name,
    /// Where it is, resolved against the plan's folder.
    pub path: PathBuf,
    /// How its bytes are read.
    pub format: DataFormat,
    /// Which row comes next.
    pub order: DataOrder,
    /// What happens when the rows run out (`sequential` and `unique`).
    pub on_end: DataEnd,
}

/// How a data file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    /// Comma-separated values with a header line (RFC 4180), with this delimiter.
    Csv {
        /// The byte between fields.
        delimiter: u8,
    },
    /// One JSON object per line.
    JsonLines,
}

/// Which row an iteration gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataOrder {
    /// Row after row, shared by the VUs of a core's share of the file.
    #[default]
    Sequential,
    /// Any row, by the VU's random generator.
    Random,
    /// Each row goes to one VU only, in the whole job.
    Unique,
}

/// What happens when rows run out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataEnd {
    /// Begin again.
    #[default]
    Recycle,
    /// The VU that finds no row stops.
    Stop,
}

/// A rule over the job's statistics and what follows from it.
#[derive(Clone, Debug)]
pub struct Threshold {
    /// The rule; its workflow and step exist.
    pub rule: Rule,
    /// Cancel the job when it fails.
    pub abort: bool,
    /// Do not abort earlier than this after the job's start.
    pub after: Span,
    /// A rule without samples passes.
    pub allow_empty: bool,
}
