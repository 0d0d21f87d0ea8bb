//! Hot: polled whenever a call waits. No clock read, no allocation.
//!
//! The time limit of a call without a timer per call. A virtual user keeps one armed timer; a call only notes its
//! deadline. A timer that fires for an earlier call is armed again for the current one, so that the timer wheel is
//! touched once per time-out period and not once per request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that outlives the calls it bounds.
pub(crate) struct Deadline {
    at: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    /// A new timer for a call that must end at `at`.
    pub(crate) fn new(at: Instant) -> Self {
        Deadline { at, timer: Box::pin(sleep_until(at)) }
    }

    /// When the call must end.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// Takes the timer over for a call that must end at `at`. Only an earlier end touches the timer.
    pub(crate) fn set(&mut self, at: Instant) {
        self.at = at;
        if at < self.timer.deadline() {
            self.timer.as_mut().reset(at);
        }
    }

    /// Whether the call's time is over; otherwise the task is woken when it is.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(()) = self.timer.as_mut().poll(cx) {
            if self.timer.deadline() >= self.at {
                return true;
            }
            self.timer.as_mut().reset(self.at);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    async fn over(deadline: &mut Deadline) {
        poll_fn(|cx| if deadline.poll_over(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_armed_for_an_earlier_call_does_not_end_a_later_one() {
        let start = Instant::now();
        let mut deadline = Deadline::new(start + Duration::from_secs(1));
        poll_fn(|cx| Poll::Ready(deadline.poll_over(cx))).await;
        deadline.set(start + Duration::from_secs(5));
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_deadline_moves_the_timer() {
        let start = Instant::now();
        let mut deadline = Deadline::new(start + Duration::from_secs(30));
        poll_fn(|cx| Poll::Ready(deadline.poll_over(cx))).await;
        deadline.set(start + Duration::from_secs(2));
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }
}
