//! A node's processor: how long it takes for an input, and when it does nothing at all.

use std::time::Duration;

use crate::moment::Moment;

/// What dealing with one input costs on an idle machine.
pub const INPUT_COST: Duration = Duration::from_micros(20);
/// Datagrams that wait for a node that is busy or frozen; the rest is lost, as in a socket's buffer.
pub const SOCKET_DATAGRAMS_MAX: u32 = 512;

/// A process that was stopped looks at its timers before it looks at its sockets: so much later.
const SOCKETS_AFTER: Duration = Duration::from_millis(1);

/// How an input reaches a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Through its socket, which may be full.
    Datagram,
    /// Through a connection; it waits as long as it has to.
    Stream,
    /// From within: timers and commands.
    Own,
}

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
    /// Datagrams that wait.
    datagrams: u32,
}

impl Default for Cpu {
    fn default() -> Self {
        let zero = Moment::ZERO;
        Self {
            slowdown: 1,
            slow_until: zero,
            frozen_until: zero,
            asleep_until: zero,
            busy_until: zero,
            datagrams: 0,
        }
    }
}

impl Cpu {
    /// Takes up an input, or gives it a place in the queue.
    pub fn admit(&mut self, now: Moment, arrival: Arrival) -> Admission {
        if self.is_frozen(now) && arrival == Arrival::Own {
            return Admission::Later(self.frozen_until);
        }
        let awake = if self.is_frozen(now) { self.frozen_until.plus(SOCKETS_AFTER) } else { now };
        let start = awake.max(self.busy_until);
        // What counts is how fast the machine is when the input's turn comes: a queue from a slow time is soon worked off.
        let is_slow = self.slow_until > start;
        if start == now && !is_slow {
            return Admission::Now;
        }
        if arrival == Arrival::Datagram && self.datagrams >= SOCKET_DATAGRAMS_MAX {
            return Admission::Lost;
        }
        self.busy_until = start.plus(if is_slow { INPUT_COST * self.slowdown } else { INPUT_COST });
        if start == now {
            return Admission::Now;
        }
        self.datagrams += u32::from(arrival == Arrival::Datagram);
        Admission::Later(start)
    }

    /// An input that waited has its turn, or another place in the queue: its present one is free. Those that waited for an
    /// earlier life of the node have none here.
    pub fn release(&mut self, arrival: Arrival) {
        self.datagrams = self.datagrams.saturating_sub(u32::from(arrival == Arrival::Datagram));
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
    fn frozen_processor_puts_everything_off_in_order_and_timers_come_first() {
        let mut cpu = Cpu::default();
        cpu.freeze(Moment(100));
        assert_eq!(cpu.admit(Moment(5), Arrival::Datagram), Admission::Later(Moment(1_000_100)));
        assert_eq!(cpu.admit(Moment(6), Arrival::Stream), Admission::Later(Moment(1_020_100)));
        assert_eq!(cpu.admit(Moment(7), Arrival::Own), Admission::Later(Moment(100)));
        assert_eq!(cpu.admit(Moment(200), Arrival::Datagram), Admission::Later(Moment(1_040_100)));
        assert_eq!(cpu.admit(Moment(1_060_100), Arrival::Datagram), Admission::Now);
        assert!(!cpu.is_asleep(Moment(5)));
    }

    #[test]
    fn slow_processor_deals_with_one_input_after_the_other() {
        let mut cpu = Cpu::default();
        cpu.slow_down(10, Moment::seconds(1));
        assert_eq!(cpu.admit(Moment(0), Arrival::Datagram), Admission::Now);
        assert_eq!(cpu.admit(Moment(1), Arrival::Datagram), Admission::Later(Moment(200_000)));
        assert_eq!(cpu.admit(Moment(2), Arrival::Datagram), Admission::Later(Moment(400_000)));
        assert_eq!(cpu.admit(Moment::seconds(1), Arrival::Datagram), Admission::Now);
        assert_eq!(cpu.admit(Moment::seconds(1), Arrival::Datagram), Admission::Now);
    }

    #[test]
    fn full_socket_loses_datagrams_but_no_timers() {
        let mut cpu = Cpu::default();
        cpu.freeze(Moment::seconds(1));
        let admitted =
            (0..2000).filter(|_| cpu.admit(Moment(0), Arrival::Datagram) != Admission::Lost).count();
        assert_eq!(admitted, SOCKET_DATAGRAMS_MAX as usize);
        assert!(matches!(cpu.admit(Moment(0), Arrival::Stream), Admission::Later(_)));
        cpu.release(Arrival::Datagram);
        assert!(matches!(cpu.admit(Moment(0), Arrival::Datagram), Admission::Later(_)));
        assert_eq!(cpu.admit(Moment(0), Arrival::Datagram), Admission::Lost);
    }

    #[test]
    fn queue_of_a_slow_time_is_worked_off_at_full_speed_after_it() {
        let mut cpu = Cpu::default();
        cpu.slow_down(5000, Moment::seconds(1));
        for _ in 0..400 {
            cpu.admit(Moment(0), Arrival::Datagram);
        }
        // Ten in the slow second, one every 20 µs from then on.
        let Admission::Later(last) = cpu.admit(Moment(0), Arrival::Datagram) else { panic!("it waits") };
        assert_eq!(last, Moment::seconds(1).plus(390 * INPUT_COST));
    }

    #[test]
    fn sleeping_machine_loses_what_is_sent_to_it_until_it_wakes() {
        let mut cpu = Cpu::default();
        cpu.sleep(Moment(50));
        assert!(cpu.is_asleep(Moment(49)) && !cpu.is_asleep(Moment(50)));
    }
}
