//! Steering a run from outside: commands in, directives to the cores out.
//!
//! Orders go through a bounded channel to the conductor, which answers those who ask; what they mean for the cores of a
//! workflow is written into a watched [`Directive`], so that a core always sees the newest word and never a backlog.

mod refusal;

use std::time::Instant;

use hyperscale_stats::event::Target;
use hyperscale_stats::result::{Change, ChangedBy, RunResult};
pub use hyperscale_types::Command;
use hyperscale_types::Rate;
pub use refusal::{Quantity, Refusal};
use tokio::sync::{mpsc, oneshot};

/// Orders waiting for the conductor. A person cannot press keys faster than it reads them.
const ORDERS_MAX: usize = 64;

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

/// What became of a command: the changes it made, one per workflow. None, where everything was as wanted before.
pub type Answer = Result<Vec<Change>, Refusal>;

/// What the conductor is asked for.
#[derive(Debug)]
pub(crate) enum Order {
    /// Do something.
    Do {
        command: Command,
        by: ChangedBy,
        /// Who waits for the outcome; without anybody, a refusal is told to the faces.
        answer: Option<oneshot::Sender<Answer>>,
    },
    /// Say how things are.
    Look(oneshot::Sender<View>),
}

/// A run at one moment, as seen by somebody who asks.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Whether the load stands still because somebody paused it.
    pub paused: bool,
    /// The result so far, `final: false`, with the newest points of its series only.
    pub result: RunResult,
    /// What the load of each workflow is meant to be now, while it runs; in the order of the result's.
    pub targets: Vec<Option<Target>>,
}

/// Sends commands to a run. Cheap to clone; commands to a run that is over are dropped.
#[derive(Clone, Debug)]
pub struct Control {
    orders: mpsc::Sender<Order>,
}

impl Control {
    pub(crate) fn new() -> (Control, mpsc::Receiver<Order>) {
        let (orders, received) = mpsc::channel(ORDERS_MAX);
        (Control { orders }, received)
    }

    /// Hands a command of the person at the screen over. Returns whether the run took it: not when it is over, or when
    /// too many are waiting.
    pub fn send(&self, command: Command) -> bool {
        self.orders.try_send(Order::Do { command, by: ChangedBy::Screen, answer: None }).is_ok()
    }

    /// Hands a command over and waits until the run has taken it or refused.
    pub async fn ask(&self, command: Command, by: ChangedBy) -> Answer {
        let (answer, outcome) = oneshot::channel();
        self.order(Order::Do { command, by, answer: Some(answer) })?;
        outcome.await.unwrap_or(Err(Refusal::Over))
    }

    /// How the run is at this moment.
    pub async fn look(&self) -> Result<View, Refusal> {
        let (answer, view) = oneshot::channel();
        self.order(Order::Look(answer))?;
        view.await.map_err(|_| Refusal::Over)
    }

    fn order(&self, order: Order) -> Result<(), Refusal> {
        self.orders.try_send(order).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Refusal::Busy,
            mpsc::error::TrySendError::Closed(_) => Refusal::Over,
        })
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
