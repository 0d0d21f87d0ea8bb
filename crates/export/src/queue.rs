//! What waits for one exporter: the newest readings, and finally the last one.
//!
//! A newer reading says everything that an older one says, so the oldest makes room, and the final one clears the queue:
//! a receiver that is slow gets fresh numbers instead of old ones.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::reading::Reading;

/// Readings that wait for one exporter: a receiver may be this many seconds behind before it misses one.
pub(crate) const WAITING_MAX: usize = 4;

/// A reading to be delivered.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    /// What.
    pub(crate) reading: Arc<Reading>,
    /// Until when, if that is not left to the sender.
    pub(crate) until: Option<Instant>,
}

/// The queue of one exporter. One pushes, one takes.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Notify,
    idle: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    parcels: VecDeque<Parcel>,
    /// Whether one was taken and not yet dealt with.
    in_hand: bool,
    closed: bool,
}

impl Queue {
    /// Adds a reading; returns how many had to go. Never waits.
    pub(crate) fn push(&self, parcel: Parcel) -> u64 {
        let mut waiting = self.lock();
        let room = if parcel.reading.is_final { 0 } else { WAITING_MAX - 1 };
        let gone = waiting.parcels.len().saturating_sub(room);
        waiting.parcels.drain(..gone);
        waiting.parcels.push_back(parcel);
        self.changed.notify_one();
        gone as u64
    }

    /// Nothing will follow.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Waits until everything was dealt with, but not longer than this.
    pub(crate) fn wait_until_idle(&self, limit: Duration) {
        let is_busy = |waiting: &mut Waiting| waiting.in_hand || !waiting.parcels.is_empty();
        // Whether it is idle or too late is the same to whoever waits.
        drop(self.idle.wait_timeout_while(self.lock(), limit, is_busy));
    }

    /// The oldest reading that waits; `None` when the queue is closed and empty. Asking means that the one before was
    /// dealt with.
    pub(crate) async fn next(&self) -> Option<Parcel> {
        loop {
            {
                let mut waiting = self.lock();
                let parcel = waiting.parcels.pop_front();
                waiting.in_hand = parcel.is_some();
                if parcel.is_none() {
                    self.idle.notify_all();
                }
                if parcel.is_some() || waiting.closed {
                    return parcel;
                }
            }
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing that holds it can panic half-way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Moment;

    fn parcel(unix_ms: i64, is_final: bool) -> Parcel {
        let reading = Reading {
            began: Moment::default(),
            at: Moment { unix_ms },
            elapsed_s: 0.0,
            is_final,
            common: [("job", "".into()), ("name", "".into())],
            families: Vec::new(),
        };
        Parcel { reading: Arc::new(reading), until: None }
    }

    async fn rest(queue: &Queue) -> Vec<i64> {
        queue.close();
        let mut rest = Vec::new();
        while let Some(parcel) = queue.next().await {
            rest.push(parcel.reading.at.unix_ms);
        }
        rest
    }

    #[tokio::test]
    async fn oldest_readings_make_room_and_are_counted() {
        let queue = Queue::default();
        let gone: u64 = (0..10).map(|at| queue.push(parcel(at, false))).sum();
        assert_eq!(gone, 10 - WAITING_MAX as u64);
        assert_eq!(rest(&queue).await, [6, 7, 8, 9]);
    }

    #[tokio::test]
    async fn final_reading_goes_before_all_that_wait() {
        let queue = Queue::default();
        (0..3).for_each(|at| assert_eq!(queue.push(parcel(at, false)), 0));
        assert_eq!(queue.push(parcel(3, true)), 3);
        assert_eq!(rest(&queue).await, [3]);
    }
}
