//! A node's processor: how long it takes for an input, and when it does nothing at all.

use std::time::Duration;

use crate::moment::Moment;

/// What dealing with one input costs on an idle machine.
pub const INPUT_COST: Duration = Duration::from_micros(20);
/// Datagrams that wait for a node that is busy or frozen; the rest is lost, as in a socket's buffer.
pub const SOCKET_DATAGRAMS_MAX: u32 = 512;

/// What becomes of an input that arrives at a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is dealt with at once.
    Now,
    /// It waits until then.
    Later(Moment),
    /// Too many wait already.
    Lost,
}

/// The processor of one node: one input after the other.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// How many times slower than an idle machine.
    slowdown: u32,
    slow_until: Moment,
    frozen_until: Moment,
    /// The machine sleeps: what is sent to it meanwhile is lost.
    asleep_until: Moment,
    /// When everything that waits is dealt with.
    busy_until: Moment,
}

impl Default for Cpu {
    fn default() -> Self {
        let zero = Moment::ZERO;
        Self { slowdown: 1, slow_until: zero, frozen_until: zero, asleep_until: zero, busy_until: zero }
    }
}

impl Cpu {
    /// Takes up an input, or gives it a place in the queue. Only what `may_be_lost` can be turned away.
    pub fn admit(&mut self, now: Moment, may_be_lost: bool) -> Admission {
        let is_slow = self.slow_until > now;
        let start = now.max(self.frozen_until).max(self.busy_until);
        if start == now && !is_slow {
            return Admission::Now;
        }
        let cost = if is_slow { INPUT_COST * self.slowdown } else { INPUT_COST };
        let waiting = start.since(now.max(self.frozen_until));
        if may_be_lost && waiting >= cost * SOCKET_DATAGRAMS_MAX {
            return Admission::Lost;
        }
        self.busy_until = start.plus(cost);
        if start == now { Admission::Now } else { Admission::Later(start) }
    }

    /// Whether nothing is dealt with now.
    pub fn is_frozen(&self, now: Moment) -> bool {
        self.frozen_until > now
    }

    /// The process is stopped: nothing happens until then, and everything that waited happens after.
    pub fn freeze(&mut self, until: Moment) {
        self.frozen_until = self.frozen_until.max(until);
    }

    /// The machine sleeps: the process is stopped and nothing that is sent to it waits.
    pub fn sleep(&mut self, until: Moment) {
        self.freeze(until);
        self.asleep_until = self.asleep_until.max(until);
    }

    /// Everything takes `factor` times as long until then.
    pub fn slow_down(&mut self, factor: u32, until: Moment) {
        (self.slowdown, self.slow_until) = (factor.max(1), until);
    }

    /// Whether what is sent to the machine is lost.
    pub fn is_asleep(&self, now: Moment) -> bool {
        self.asleep_until > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frozen_processor_puts_everything_off_in_order() {
        let mut cpu = Cpu::default();
        cpu.freeze(Moment(100));
        assert_eq!(cpu.admit(Moment(5), true), Admission::Later(Moment(100)));
        assert_eq!(cpu.admit(Moment(6), true), Admission::Later(Moment(20_100)));
        assert_eq!(cpu.admit(Moment(200), true), Admission::Later(Moment(40_100)));
        assert_eq!(cpu.admit(Moment(60_100), true), Admission::Now);
        assert!(!cpu.is_asleep(Moment(5)));
    }

    #[test]
    fn slow_processor_deals_with_one_input_after_the_other() {
        let mut cpu = Cpu::default();
        cpu.slow_down(10, Moment::seconds(1));
        assert_eq!(cpu.admit(Moment(0), true), Admission::Now);
        assert_eq!(cpu.admit(Moment(1), true), Admission::Later(Moment(200_000)));
        assert_eq!(cpu.admit(Moment(2), true), Admission::Later(Moment(400_000)));
        assert_eq!(cpu.admit(Moment::seconds(1), true), Admission::Now);
        assert_eq!(cpu.admit(Moment::seconds(1), true), Admission::Now);
    }

    #[test]
    fn full_socket_loses_datagrams_but_no_timers() {
        let mut cpu = Cpu::default();
        cpu.freeze(Moment::seconds(1));
        let admitted = (0..2000).filter(|_| cpu.admit(Moment(0), true) != Admission::Lost).count();
        assert_eq!(admitted, SOCKET_DATAGRAMS_MAX as usize);
        assert!(matches!(cpu.admit(Moment(0), false), Admission::Later(_)));
    }

    #[test]
    fn sleeping_machine_loses_what_is_sent_to_it_until_it_wakes() {
        let mut cpu = Cpu::default();
        cpu.sleep(Moment(50));
        assert!(cpu.is_asleep(Moment(49)) && !cpu.is_asleep(Moment(50)));
    }
}
