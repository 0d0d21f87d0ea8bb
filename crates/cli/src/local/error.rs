//! Why a local run cannot be found, asked or changed.

use std::io;
use std::path::PathBuf;

use hyperscale_api::{CallError, FolderError};
use hyperscale_types::ExitCode;

/// Why a command about a local run did nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LocalError {
    /// The folder of runs is not one that can be trusted.
    #[error("the runs of this machine cannot be looked for")]
    Folder(#[from] FolderError),
    /// The folder of runs cannot be read.
    #[error("the runs of this machine cannot be looked for")]
    Unreadable(#[from] io::Error),
    /// Nothing runs.
    #[error("there is no run")]
    NoRun {
        /// Where runs would listen.
        folder: PathBuf,
    },
    /// Several runs, and nobody said which is meant.
    #[error("there are {} runs", .0.len())]
    Several(Vec<String>),
    /// No run has an id that begins like this.
    #[error("there is no run `{job}`")]
    Unknown {
        /// As it was written.
        job: String,
        /// Those there are.
        runs: Vec<String>,
    },
    /// Several runs have ids that begin like this.
    #[error("`{job}` could be {} runs", runs.len())]
    Ambiguous {
        /// As it was written.
        job: String,
        /// Those it could be.
        runs: Vec<String>,
    },
    /// The run was found but did not do it.
    #[error("{job} did not do it")]
    Call {
        /// Which.
        job: String,
        /// Why.
        source: CallError,
    },
}

impl LocalError {
    /// Whether the run was found but has ended meanwhile.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Call { source: CallError::Unreachable { .. }, .. } => true,
            Self::Call { source: CallError::Refused(error), .. } => error.detail("reason") == Some("over"),
            _ => false,
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Folder(_) | Self::Unreadable(_) => ExitCode::Error,
            Self::Several(_) | Self::Ambiguous { .. } => ExitCode::Usage,
            Self::NoRun { .. } | Self::Unknown { .. } => ExitCode::Unreachable,
            _ if self.is_over() => ExitCode::Unreachable,
            Self::Call { source, .. } => match source {
                CallError::Refused(_) => ExitCode::Refused,
                other => other.exit_code(),
            },
        }
    }

    pub(crate) fn why(&self) -> String {
        match self {
            Self::Folder(error) => error.to_string(),
            Self::Unreadable(error) => error.to_string(),
            Self::NoRun { folder } => {
                format!("runs of this user listen in {}, and nobody does", folder.display())
            }
            Self::Several(_) => "nobody said which one is meant".to_owned(),
            Self::Unknown { runs, .. } if runs.is_empty() => "nothing runs here; it may be over".to_owned(),
            Self::Unknown { .. } => "it may be over".to_owned(),
            Self::Ambiguous { .. } => "their ids begin alike".to_owned(),
            Self::Call { source: CallError::Unreachable { .. }, .. } => "the run is over".to_owned(),
            Self::Call { source, .. } => source.to_string(),
        }
    }

    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Folder(_) => "remove it, or give it to yourself alone: chmod 700".to_owned(),
            Self::Unreadable(_) => "check the folder and its permissions".to_owned(),
            Self::NoRun { .. } => {
                "start one with `hyperscale run`; those with --no-control cannot be found".to_owned()
            }
            Self::Unknown { runs, .. } if runs.is_empty() => "start one with `hyperscale run`".to_owned(),
            Self::Several(runs) | Self::Unknown { runs, .. } | Self::Ambiguous { runs, .. } => {
                format!("name one of {}", runs.join(", "))
            }
            Self::Call { source, .. } => call_fix(source),
        }
    }
}

fn call_fix(error: &CallError) -> String {
    match error {
        CallError::Unreachable { .. } => "see what runs with `hyperscale jobs`".to_owned(),
        CallError::Lost(_) => "see with `hyperscale status` whether it was done".to_owned(),
        CallError::Malformed(_) => "use the version of hyperscale that the run was started with".to_owned(),
        CallError::Refused(error) => error.detail("fix").unwrap_or("see --help").to_owned(),
        other => other.fix(),
    }
}
