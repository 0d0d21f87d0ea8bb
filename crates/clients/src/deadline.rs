//! Hot: polled whenever a call waits. No clock read, no allocation, and the timer itself is not touched.
//!
//! The time limit of a call without a timer per call. A virtual user keeps one armed timer; a call only notes its
//! deadline. A timer that fires for an earlier call is armed again for the current one, so that the timer wheel is
//! touched once per time-out period and not once per request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use hyperscale_types::Now;
use tokio::time::{Instant, Sleep, sleep};

/// A timer that outlives the calls it bounds.
pub(crate) struct Deadline {
    at: Now,
    /// When the timer fires; its own deadline is the same moment on the runtime's clock.
    armed: Now,
    timer: Pin<Box<Sleep>>,
    /// Whom the timer wakes, once it has been asked to.
    waker: Option<Waker>,
}

impl Deadline {
    /// A new timer for a call that starts `now` and must end at `at`.
    pub(crate) fn new(now: Now, at: Now) -> Self {
        Deadline { at, armed: at, timer: Box::pin(sleep(at.since(now))), waker: None }
    }

    /// When the call must end, on the runtime's clock.
    pub(crate) fn instant(&self) -> Instant {
        if self.at < self.armed {
            self.timer.deadline() - self.armed.since(self.at)
        } else {
            self.timer.deadline() + self.at.since(self.armed)
        }
    }

    /// Takes the timer over for a call that must end at `at`. Only an earlier end touches the timer.
    pub(crate) fn set(&mut self, at: Now) {
        self.at = at;
        if at < self.armed {
            self.arm();
        }
    }

    /// Whether the call's time is over; otherwise the task is woken when it is.
    #[inline]
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> bool {
        let waits = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if waits && !self.timer.is_elapsed() { false } else { self.poll_timer(cx) }
    }

    #[cold]
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(()) = self.timer.as_mut().poll(cx) {
            self.waker = None;
            if self.armed >= self.at {
                return true;
            }
            self.arm();
        }
        self.waker = Some(cx.waker().clone());
        false
    }

    fn arm(&mut self) {
        let instant = self.instant();
        self.timer.as_mut().reset(instant);
        self.armed = self.at;
        self.waker = None;
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    const START: Now = Now(7);

    fn after(seconds: u64) -> Now {
        START.plus(Duration::from_secs(seconds))
    }

    async fn begin(deadline: &mut Deadline) {
        assert!(!poll_fn(|cx| Poll::Ready(deadline.poll_over(cx))).await);
    }

    async fn over(deadline: &mut Deadline) {
        poll_fn(|cx| if deadline.poll_over(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_armed_for_an_earlier_call_does_not_end_a_later_one() {
        let start = Instant::now();
        let mut deadline = Deadline::new(START, after(1));
        begin(&mut deadline).await;
        deadline.set(after(5));
        assert_eq!(deadline.instant() - start, Duration::from_secs(5));
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_deadline_moves_the_timer() {
        let start = Instant::now();
        let mut deadline = Deadline::new(START, after(30));
        begin(&mut deadline).await;
        deadline.set(after(2));
        begin(&mut deadline).await;
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_last_is_woken() {
        let start = Instant::now();
        let mut deadline = Deadline::new(START, after(3));
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(!deadline.poll_over(&mut nobody));
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(3));
    }
}
