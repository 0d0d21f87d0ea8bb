//! Steering a run from outside: commands in, directives to the cores out.
//!
//! Commands go through a bounded channel to the conductor; what they mean for the cores of a workflow is written into
//! a watched [`Directive`], so that a core always sees the newest word and never a backlog.

use std::time::Instant;

pub use hyperscale_types::Command;
use hyperscale_types::Rate;
use tokio::sync::mpsc;

/// Commands waiting for the conductor. A person cannot press keys faster than it reads them.
const COMMANDS_MAX: usize = 64;

/// How far a workflow is on its way to the end. Ordered: it only ever grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopPhase {
    /// Iterations start.
    #[default]
    Running,
    /// No iteration starts; running ones finish all their steps.
    Finishing,
    /// No step starts; calls in flight may finish.
    Cancelling,
    /// Everything is cut off.
    Aborted,
}

/// Sends commands to a run. Cheap to clone; commands to a run that is over are dropped.
#[derive(Clone, Debug)]
pub struct Control {
    commands: mpsc::Sender<Command>,
}

impl Control {
    pub(crate) fn new() -> (Control, mpsc::Receiver<Command>) {
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        (Control { commands }, received)
    }

    /// Hands a command over. Returns whether the run took it: not when it is over, or when too many are waiting.
    pub fn send(&self, command: Command) -> bool {
        self.commands.try_send(command).is_ok()
    }
}

/// What the cores of one workflow are told. The newest value counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Directive {
    /// When the load begins; not before every core is prepared.
    pub(crate) go: Option<Instant>,
    /// How far to the end.
    pub(crate) phase: StopPhase,
    /// Start nothing.
    pub(crate) paused: bool,
    /// Virtual users of the whole workflow instead of the plan's.
    pub(crate) vus: Option<u32>,
    /// Rate of the whole workflow instead of the plan's.
    pub(crate) rate: Option<Rate>,
}
