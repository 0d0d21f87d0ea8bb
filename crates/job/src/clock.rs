//! How far a load curve has come: the time since the load began, without pauses.

use std::time::Duration;

/// The load clock of one workflow or segment. It reads times of the job clock (since the job was accepted) and gives
/// times of the load curve. It stands still while the load is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadClock {
    began: Duration,
    /// What the curve shows at `began`: not zero for an attempt that takes over in the middle.
    offset: Duration,
    /// Pauses that are over.
    paused_for: Duration,
    paused_at: Option<Duration>,
}

impl LoadClock {
    /// A clock that shows `offset` at the moment `began`. A pause that holds already is kept: see [`LoadClock::pause`].
    pub fn new(began: Duration, offset: Duration) -> Self {
        LoadClock { began, offset, paused_for: Duration::ZERO, paused_at: None }
    }

    /// When the load began, on the job clock.
    pub fn began(&self) -> Duration {
        self.began
    }

    /// Stops the clock, or lets it run again. Repeating changes nothing.
    pub fn pause(&mut self, now: Duration, paused: bool) {
        match (paused, self.paused_at) {
            (true, None) => self.paused_at = Some(now.max(self.began)),
            (false, Some(at)) => {
                self.paused_for += now.saturating_sub(at);
                self.paused_at = None;
            }
            _ => {}
        }
    }

    /// Whether it stands still.
    pub fn is_paused(&self) -> bool {
        self.paused_at.is_some()
    }

    /// How far the curve has come.
    pub fn load_time(&self, now: Duration) -> Duration {
        let now = self.paused_at.map_or(now, |at| at.min(now));
        now.saturating_sub(self.began + self.paused_for) + self.offset
    }

    /// When the curve will be at `load_time`, on the job clock, unless it is paused before.
    pub fn job_time(&self, load_time: Duration) -> Duration {
        self.began + self.paused_for + load_time.saturating_sub(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_clock_stands_still_while_paused() {
        let mut clock = LoadClock::new(s(10), s(0));
        assert_eq!(clock.load_time(s(9)), s(0), "before it begins");
        assert_eq!(clock.load_time(s(13)), s(3));
        clock.pause(s(13), true);
        clock.pause(s(14), true);
        assert_eq!(clock.load_time(s(20)), s(3));
        clock.pause(s(20), false);
        assert_eq!(clock.load_time(s(21)), s(4));
        assert_eq!(clock.job_time(s(4)), s(21));
    }

    #[test]
    fn a_pause_before_the_begin_counts_from_the_begin() {
        let mut clock = LoadClock::new(s(10), s(0));
        clock.pause(s(7), true);
        clock.pause(s(12), false);
        assert_eq!(clock.load_time(s(13)), s(1));
    }

    #[test]
    fn a_clock_that_takes_over_begins_in_the_middle() {
        let clock = LoadClock::new(s(100), s(30));
        assert_eq!(clock.load_time(s(101)), s(31));
        assert_eq!(clock.job_time(s(31)), s(101));
        assert_eq!(clock.job_time(s(10)), s(100), "what is over was due at the begin");
    }
}
