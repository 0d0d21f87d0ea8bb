//! The conductor: one thread that owns the state of a job.
//!
//! ```text
//! orders ───┐
//! messages ─┼─► one event ─► Job (synchronous) ─► directives, threads, events
//! clock ────┘
//! ```
//! All sources become calls of [`Job`]; it alone decides. Ready messages are taken in batches.

mod commands;
mod context;
mod held;
mod job;
mod notes;
mod result;
mod second;
mod started;
mod workflow;

use std::time::Duration;

use hyperscale_stats::result::RunResult;
use tokio::sync::mpsc;
use tokio::time::{self, MissedTickBehavior};

use crate::control::Order;
use crate::core::Message;
pub(crate) use job::Job;

/// Snapshots are made this long after a full second, when every core has sent its last window of it.
const SETTLE: Duration = Duration::from_millis(150);

/// Messages handled before the clock and orders are looked at again.
const BATCH_MAX: usize = 64;

/// Runs the job to its end.
pub(crate) async fn conduct(
    mut job: Job,
    mut orders: mpsc::Receiver<Order>,
    mut messages: mpsc::Receiver<Message>,
) -> RunResult {
    let first = time::Instant::now() + Duration::from_secs(1) + SETTLE;
    let mut second = time::interval_at(first, Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut abandoned = false;
    job.start();
    while !job.is_over() {
        let timer = job.next_timer();
        tokio::select! {
            biased;
            order = orders.recv(), if !abandoned => if let Some(order) = order {
                job.order(order);
            } else {
                abandoned = true;
                job.abandon();
            },
            _ = second.tick() => job.second(),
            _ = messages.recv_many(&mut batch, BATCH_MAX) => batch.drain(..).for_each(|message| job.message(message)),
            () = sleep_until(timer) => {}
        }
        job.schedule();
    }
    job.finish()
}

async fn sleep_until(at: Option<std::time::Instant>) {
    match at {
        Some(at) => time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
