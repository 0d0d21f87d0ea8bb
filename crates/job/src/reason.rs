//! Why a job or a workflow did not complete. What decides is typed; texts are for people only.

use std::fmt;

use hyperscale_types::Name;

use crate::state::WorkflowEnd;

/// Why something ended other than planned. Its text is the word in results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Ctrl-C, a signal, or nobody left who follows the run.
    Interrupted,
    /// A caller asked for it and said why.
    Asked(String),
    /// A threshold with `abort` failed.
    Threshold,
    /// A check with `stop: test` failed.
    Check,
    /// No call got any response.
    Unreachable,
    /// A workflow that it depends on did not complete.
    Dependency {
        /// The workflow it depends on.
        name: Name,
        /// How that one ended.
        end: WorkflowEnd,
    },
    /// A workflow could not run, or not to its end.
    Failed(FailureKind),
    /// The time of the job or the workflow was over.
    Timeout,
    /// Nothing was heard of it for too long.
    Stuck,
    /// Its workers are gone for good.
    WorkerLost,
    /// There was no worker at all for too long.
    NoWorker,
    /// The counts of its statistics do not reconcile.
    Imbalance,
}

/// What kind of failure ended a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The target could not be reached while preparing.
    Unreachable,
    /// The arguments of a step cannot be prepared.
    Prepare,
    /// The set-up failed.
    Setup,
    /// `vu_setup` failed for every virtual user.
    VuSetup,
    /// The tear-down failed; the load's result is not touched by it.
    Teardown,
    /// A check with `stop: test` failed.
    Check,
    /// A value that it uses was never provided.
    ContextMissing,
    /// The values it provides are too large.
    ContextTooLarge,
    /// The engine could not go on.
    Engine,
    /// No worker took a segment of it.
    Refused,
    /// It is larger than what a cluster can decide about.
    Limit,
}

/// A failure with what people need to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is; decides what follows.
    pub kind: FailureKind,
    /// A sentence for people.
    pub message: String,
    /// The step it happened in.
    pub step: Option<Name>,
}

impl Failure {
    /// A failure that belongs to no step.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Failure { kind, message: message.into(), step: None }
    }
}

impl FailureKind {
    /// The word used in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            FailureKind::Unreachable => "unreachable",
            FailureKind::Prepare => "prepare",
            FailureKind::Setup => "setup",
            FailureKind::VuSetup => "vu_setup",
            FailureKind::Teardown => "teardown",
            FailureKind::Check => "check",
            FailureKind::ContextMissing => "context_missing",
            FailureKind::ContextTooLarge => "context_too_large",
            FailureKind::Engine => "engine",
            FailureKind::Refused => "refused",
            FailureKind::Limit => "limit",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Interrupted => "interrupted",
            Reason::Asked(text) => text,
            Reason::Threshold => "threshold",
            Reason::Check => "check",
            Reason::Unreachable => "unreachable",
            Reason::Dependency { name, end } => return write!(f, "{name} {}", end.status().as_str()),
            Reason::Failed(kind) => kind.as_str(),
            Reason::Timeout => "timeout",
            Reason::Stuck => "stuck",
            Reason::WorkerLost => "worker_lost",
            Reason::NoWorker => "no_worker",
            Reason::Imbalance => "books",
        })
    }
}
