//! The load clock of a core, read from the runtime's clock: a model in tests, the machine's else.

use std::cell::Cell;
use std::time::Duration;

use hyperscale_job::LoadClock;
use tokio::time::Instant;

/// Leads from the load curve to the clock that timers use, and back.
pub(crate) struct LoadTime {
    /// Zero of the job clock.
    epoch: Instant,
    clock: Cell<LoadClock>,
    pauses: Cell<u32>,
}

impl LoadTime {
    /// A clock that shows `offset` now, until [`LoadTime::begin`].
    pub(crate) fn new(epoch: std::time::Instant, offset: Duration) -> Self {
        let epoch = Instant::from_std(epoch);
        let clock = Cell::new(LoadClock::new(epoch.elapsed(), offset));
        LoadTime { epoch, clock, pauses: Cell::new(0) }
    }

    /// The load begins at this time of the job clock.
    pub(crate) fn begin(&self, at: Duration, offset: Duration) {
        let is_paused = self.is_paused();
        let mut clock = LoadClock::new(at, offset);
        clock.pause(at, is_paused);
        self.clock.set(clock);
    }

    /// The job clock.
    pub(crate) fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// When a time of the job clock is on the runtime's.
    pub(crate) fn at(&self, job_time: Duration) -> Instant {
        self.epoch + job_time
    }

    /// Stops the load clock, or lets it run again.
    pub(crate) fn pause(&self, paused: bool) {
        let mut clock = self.clock.get();
        if paused && !clock.is_paused() {
            self.pauses.set(self.pauses.get().wrapping_add(1));
        }
        clock.pause(self.now(), paused);
        self.clock.set(clock);
    }

    /// How often it was stopped: moments of the load curve lie elsewhere on other clocks after each pause.
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses.get()
    }

    /// Whether nothing starts.
    pub(crate) fn is_paused(&self) -> bool {
        self.clock.get().is_paused()
    }

    /// How far the load curve has come.
    pub(crate) fn load_ns(&self) -> u64 {
        self.clock.get().load_time(self.now()).as_nanos() as u64
    }

    /// When a moment of the load curve is on the runtime's clock, as things stand.
    pub(crate) fn wall(&self, load_ns: u64) -> Instant {
        self.at(self.clock.get().job_time(Duration::from_nanos(load_ns)))
    }
}
