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

use crate::clock;

/// A timer that outlives the calls it bounds.
pub(crate) struct Deadline {
    at: Now,
    /// When the timer fires, unless the machine sleeps meanwhile: the runtime's clock then stands still.
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
    pub(crate) fn instant(&self, now: Now) -> Instant {
        Instant::now() + self.at.since(now)
    }

    /// Takes the timer over for a call that starts `now` and must end at `at`. Only an earlier end touches the timer.
    pub(crate) fn set(&mut self, now: Now, at: Now) {
        self.at = at;
        if at < self.armed {
            self.arm(now);
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
            self.arm(clock::now().max(self.armed));
        }
        self.waker = Some(cx.waker().clone());
        false
    }

    fn arm(&mut self, now: Now) {
        let instant = self.instant(now);
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

    /// This real moment, and moments a number of seconds later; only the runtime's clock is a model here.
    fn now_and_after() -> (Now, impl Fn(u64) -> Now) {
        let now = clock::now();
        (now, move |seconds| now.plus(Duration::from_secs(seconds)))
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
        let (now, after) = now_and_after();
        let mut deadline = Deadline::new(now, after(1));
        begin(&mut deadline).await;
        deadline.set(now, after(5));
        assert_eq!(deadline.instant(now) - start, Duration::from_secs(5));
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_deadline_moves_the_timer() {
        let start = Instant::now();
        let (now, after) = now_and_after();
        let mut deadline = Deadline::new(now, after(30));
        begin(&mut deadline).await;
        deadline.set(now, after(2));
        begin(&mut deadline).await;
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_one_to_wait_is_woken() {
        let start = Instant::now();
        let (now, after) = now_and_after();
        let mut deadline = Deadline::new(now, after(3));
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(!deadline.poll_over(&mut nobody));
        over(&mut deadline).await;
        assert_eq!(start.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_sleep_of_the_machine_calls_end_when_they_should() {
        let start = Instant::now();
        let (now, after) = now_and_after();
        // Armed before an hour of sleep, of which the runtime's clock knows nothing.
        let before = Now(now.0.saturating_sub(Duration::from_hours(1).as_nanos() as u64));
        let mut deadline = Deadline::new(before, before.plus(Duration::from_secs(10)));
        deadline.set(now, after(10));
        over(&mut deadline).await;
        let late = start.elapsed().saturating_sub(Duration::from_secs(20));
        assert!(
            late < Duration::from_secs(1),
            "the first call after it waits for the old timer at most: {late:?}"
        );
        let begin = Instant::now();
        deadline.set(now, after(10));
        over(&mut deadline).await;
        assert!(begin.elapsed() <= Duration::from_secs(10));
    }
}
