//! A run on this machine: a job core with itself as its only worker, and a log that applies at once.
//!
//! ```text
//! orders ────┐
//! messages ──┼─► one Input ─► JobCore ─► Actions: entries (applied at once), segments, directives, events
//! clock ─────┘
//! ```
//! Nothing is decided here. Ready messages are taken in batches.

mod cpus;
mod host;

use std::time::Duration;

use hyperscale_job::Input;
use hyperscale_stats::result::RunResult;
use tokio::sync::mpsc;
use tokio::time::{self, MissedTickBehavior};

use crate::control::Order;
use crate::machine;
use crate::segment::CoreMessage;
pub(crate) use host::Host;

/// Snapshots are made this long after a full second, when every core has sent its last window of it.
const SETTLE: Duration = Duration::from_millis(150);

/// Messages handled before the clock and orders are looked at again.
const BATCH_MAX: usize = 64;

/// Runs the job to its end.
pub(crate) async fn run(
    mut host: Host,
    mut orders: mpsc::Receiver<Order>,
    mut messages: mpsc::Receiver<CoreMessage>,
) -> RunResult {
    let first = time::Instant::now() + Duration::from_secs(1) + SETTLE;
    let mut second = time::interval_at(first, Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut abandoned = false;
    host.start();
    while !host.is_over() {
        let timer = host.next_timer();
        tokio::select! {
            biased;
            order = orders.recv(), if !abandoned => if let Some(order) = order {
                host.order(order);
            } else {
                abandoned = true;
                host.abandon();
            },
            _ = second.tick() => host.input(Input::Second { memory_bytes: machine::memory_bytes() }),
            _ = messages.recv_many(&mut batch, BATCH_MAX) => batch.drain(..).for_each(|message| host.message(message)),
            () = sleep_until(timer) => host.input(Input::Timer),
        }
    }
    host.finish().await
}

async fn sleep_until(at: Option<std::time::Instant>) {
    match at {
        Some(at) => time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
