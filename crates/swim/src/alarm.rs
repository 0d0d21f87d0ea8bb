//! One pending timer of a kind, moved only forwards in urgency.
//!
//! Setting a timer costs the host an entry in its queue, so an alarm that is set already is replaced only by an earlier
//! one. The number of the latest setting tells which of the timers that come back is the wanted one.

use std::time::Duration;

use hyperscale_types::Now;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alarm {
    number: u32,
    at: Option<Now>,
}

impl Alarm {
    /// Sets the alarm unless it is set for that time or earlier; the number for the new timer.
    pub(crate) fn set(&mut self, at: Now) -> Option<u32> {
        if self.at.is_some_and(|set| set <= at) {
            return None;
        }
        self.number = self.number.wrapping_add(1);
        self.at = Some(at);
        Some(self.number)
    }

    /// A timer came back: when it was due, if it is the wanted one.
    pub(crate) fn fired(&mut self, number: u32) -> Option<Now> {
        if number != self.number {
            return None;
        }
        self.at.take()
    }

    pub(crate) fn is_set(&self) -> bool {
        self.at.is_some()
    }

    /// Time left until it fires; none if it is not set or overdue.
    pub(crate) fn left(&self, now: Now) -> Duration {
        self.at.map_or(Duration::ZERO, |at| at.since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_setting_fires_and_only_once() {
        let mut alarm = Alarm::default();
        let first = alarm.set(Now(20)).unwrap();
        assert_eq!(alarm.set(Now(30)), None);
        let second = alarm.set(Now(10)).unwrap();
        assert_eq!(alarm.fired(first), None);
        assert_eq!(alarm.left(Now(4)), Duration::from_nanos(6));
        assert_eq!(alarm.left(Now(14)), Duration::ZERO);
        assert_eq!(alarm.fired(second), Some(Now(10)));
        assert_eq!(alarm.fired(second), None);
        assert!(!alarm.is_set());
    }
}
