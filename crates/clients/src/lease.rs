//! Hot: compared immediately before every request leaves.
//!
//! A process may be stopped, starved or put to sleep with its machine for longer than the lease that allows it to send
//! load. When it wakes up nobody has told its cores anything yet; the clock has. So the clients compare the moment they
//! have just read with the lease's deadline themselves, in the poll that writes, and refuse the call. Frozen between
//! this comparison and the write a core can still emit that one write, and no other.
//!
//! The deadline is a moment of [`clock::now`], which goes on while the machine sleeps. A lease is a duration: what
//! grants or renews it says how long it lasts from a moment that it has read on this machine.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use hyperscale_types::{ErrorKind, Now};

use crate::clock;
use crate::outcome::CallError;

/// How often a waiter looks at the clock: timers of the runtime stand still while the machine sleeps.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Until when requests may leave. Clones share one deadline, so that renewing it reaches all cores at once.
#[derive(Clone, Debug)]
pub struct LeaseDeadline(Arc<AtomicU64>);

/// The lease is over; nothing may be sent until it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease is over")]
pub struct LeaseOver;

impl From<LeaseOver> for CallError {
    #[cold]
    fn from(over: LeaseOver) -> Self {
        CallError::new(ErrorKind::Cancelled, over.to_string())
    }
}

impl Default for LeaseDeadline {
    fn default() -> Self {
        Self::none()
    }
}

impl LeaseDeadline {
    /// No lease: a local run sends until its own end.
    pub fn none() -> Self {
        Self::at(Now::NEVER)
    }

    /// A lease that is over at a moment of [`clock::now`].
    pub fn at(moment: Now) -> Self {
        LeaseDeadline(Arc::new(AtomicU64::new(moment.0)))
    }

    /// A lease that lasts this long from now.
    pub fn lasting(time: Duration) -> Self {
        Self::at(clock::now().plus(time))
    }

    /// Moves the deadline: later when the lease is renewed, earlier when it is taken back. Calls that compare after
    /// this see it.
    pub fn set(&self, moment: Now) {
        self.0.store(moment.0, Ordering::Relaxed);
    }

    /// When it is over.
    pub fn moment(&self) -> Now {
        Now(self.0.load(Ordering::Relaxed))
    }

    /// Refuses if it is over at `now`, which must have been read in the poll that writes.
    #[inline]
    pub fn check(&self, now: Now) -> Result<(), LeaseOver> {
        if now.0 < self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(LeaseOver) }
    }

    /// Refuses if it is over by now. Reads the clock, unless there is no lease.
    #[inline]
    pub fn check_now(&self) -> Result<(), LeaseOver> {
        match self.0.load(Ordering::Relaxed) {
            u64::MAX => Ok(()),
            moment if clock::now().0 < moment => Ok(()),
            _ => Err(LeaseOver),
        }
    }

    /// Polls a future as long as the lease lasts: for what sends bytes that are no request, like handshakes.
    pub async fn guard<T>(&self, work: impl Future<Output = T>) -> Result<T, LeaseOver> {
        let mut work = pin!(work);
        poll_fn(|cx| match self.check_now() {
            Ok(()) => work.as_mut().poll(cx).map(Ok),
            Err(over) => Poll::Ready(Err(over)),
        })
        .await
    }

    /// Waits until it has been over for `grace`, renewals included. Never returns without a lease.
    pub async fn over_for(&self, grace: Duration) {
        loop {
            let left = self.moment().plus(grace).since(clock::now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LOOK_EVERY)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[test]
    fn a_lease_lasts_until_its_deadline_and_not_at_it() {
        let lease = LeaseDeadline::at(Now(10));
        assert_eq!(lease.check(Now(9)), Ok(()));
        assert_eq!(lease.check(Now(10)), Err(LeaseOver));
        let renewed = lease.clone();
        renewed.set(Now(20));
        assert_eq!((lease.check(Now(19)), lease.moment()), (Ok(()), Now(20)));
    }

    #[test]
    fn without_a_lease_nothing_is_refused() {
        let none = LeaseDeadline::none();
        assert_eq!((none.check(clock::now()), none.check_now()), (Ok(()), Ok(())));
        assert_eq!(CallError::from(LeaseOver).kind, ErrorKind::Cancelled);
    }

    #[tokio::test]
    async fn guarded_work_is_polled_only_within_the_lease() {
        let lease = LeaseDeadline::at(Now(1));
        let never = async { panic!("it is polled") };
        assert_eq!(lease.guard::<()>(never).await, Err(LeaseOver));
        assert_eq!(LeaseDeadline::none().guard(async { 7 }).await, Ok(7));
    }

    #[tokio::test]
    async fn a_waiter_follows_renewals() {
        let lease = LeaseDeadline::lasting(Duration::from_millis(5));
        let begin = clock::now();
        let later = begin.plus(Duration::from_millis(60));
        lease.set(later);
        tokio::select! {
            () = lease.over_for(Duration::from_millis(10)) => {}
            () = pending() => {}
        }
        assert!(clock::now() >= later.plus(Duration::from_millis(10)));
    }
}
