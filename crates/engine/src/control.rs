//! Steering a run from outside: orders go through a bounded channel to the thread that drives the job.

pub use hyperscale_job::{Answer, Quantity, Refusal, View};
use hyperscale_stats::result::ChangedBy;
pub use hyperscale_types::Command;
use tokio::sync::{mpsc, oneshot};

/// Orders waiting for the run. A person cannot press keys faster than it reads them.
const ORDERS_MAX: usize = 64;

/// What the run is asked for.
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
