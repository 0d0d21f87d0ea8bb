//! What somebody who watches a run may want of it.

use serde::{Deserialize, Serialize};

use crate::{Name, Rate};

/// A wish of the person or program that watches a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Start no further iteration, let the running ones finish, report. The first Ctrl-C.
    Finish,
    /// Start no further step, give calls in flight a moment, report.
    Cancel {
        /// Why, in words; shown in the result.
        reason: String,
    },
    /// Cancel one workflow: pending ones never start, running ones stop as with [`Command::Cancel`].
    CancelWorkflow {
        /// Its name.
        workflow: Name,
        /// Cancel all workflows that depend on it too; else they end `skipped`.
        dependents: bool,
        /// Why, in words; shown in the result.
        reason: String,
    },
    /// Cut everything off now, report. The second Ctrl-C.
    Abort,
    /// Start nothing for a while; the load curve stands still.
    Pause,
    /// Go on.
    Resume,
    /// Run this many virtual users from now on (closed models).
    SetVus {
        /// Which workflow; all that run if `None`.
        workflow: Option<Name>,
        /// How many.
        vus: u32,
    },
    /// Start at this rate from now on (open models).
    SetRate {
        /// Which workflow; all that run if `None`.
        workflow: Option<Name>,
        /// How many per second.
        rate: Rate,
    },
}
