//! A timer that fires within tens of microseconds, for open-model starts.
//!
//! The runtime's own timer wheel has ticks of a millisecond and rounds up, which would add half a millisecond to every
//! start. A timerfd in the same epoll does not.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// A timerfd of the core's runtime.
pub(crate) struct Ticker {
    timer: AsyncFd<OwnedFd>,
}

impl Ticker {
    /// Makes the timer; must be called on a runtime's thread.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: an `OwnedFd` is open until it is dropped, always the same descriptor, and nothing else owns it.
        #[expect(unsafe_code, reason = "the runtime has no safe way to wait for a descriptor of our own")]
        let timer = unsafe { AsyncFd::register(timer) }.map_err(io::Error::from)?;
        Ok(Ticker { timer })
    }

    /// Waits until `at`; returns at once if that is over.
    pub(crate) async fn until(&self, at: Instant) -> io::Result<()> {
        let wait = at.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return Ok(());
        }
        self.arm(wait)?;
        loop {
            let mut ready = self.timer.readable().await?;
            let mut expirations = [0u8; 8];
            let read = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut expirations)?));
            match read {
                Ok(outcome) => return outcome.map(|_| ()),
                Err(_not_yet) => {}
            }
        }
    }

    fn arm(&self, wait: Duration) -> io::Result<()> {
        let value =
            Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(
            self.timer.get_ref(),
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: once, it_value: value },
        )?;
        Ok(())
    }
}
