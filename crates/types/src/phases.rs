//! Where the time of a call went.

use crate::rule::Phase;

/// Parts of a call's service time. Only those named in `present` happened: a reused connection has no connect phase,
/// which is not the same as one of 0 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Opening the connection.
    pub connect_ns: u64,
    /// The TLS handshake.
    pub tls_ns: u64,
    /// Authentication before the first operation.
    pub auth_ns: u64,
    /// Handing the request to the kernel.
    pub write_ns: u64,
    /// From the last byte written to the first byte read.
    pub wait_ns: u64,
    /// From the first to the last byte read.
    pub read_ns: u64,
    /// Bit set of the phases that happened: [`Phases::CONNECT`] and so on.
    pub present: u8,
}

impl Phases {
    /// A connection was opened.
    pub const CONNECT: u8 = 1 << Phase::Connect as u8;
    /// A TLS handshake was made.
    pub const TLS: u8 = 1 << Phase::Tls as u8;
    /// The connection was authenticated.
    pub const AUTH: u8 = 1 << Phase::Auth as u8;
    /// The request was written.
    pub const WRITE: u8 = 1 << Phase::Write as u8;
    /// The response was waited for.
    pub const WAIT: u8 = 1 << Phase::Wait as u8;
    /// The response was read.
    pub const READ: u8 = 1 << Phase::Read as u8;

    /// Adds to a phase, which has happened with it: the hops of one call are summed up.
    #[inline]
    pub fn add(&mut self, phase: Phase, ns: u64) {
        self.present |= 1 << phase as u8;
        match phase {
            Phase::Connect => self.connect_ns += ns,
            Phase::Tls => self.tls_ns += ns,
            Phase::Auth => self.auth_ns += ns,
            Phase::Write => self.write_ns += ns,
            Phase::Wait => self.wait_ns += ns,
            Phase::Read => self.read_ns += ns,
        }
    }

    /// How long a phase took, if it happened.
    #[inline]
    pub fn ns(&self, phase: Phase) -> Option<u64> {
        let ns = match phase {
            Phase::Connect => self.connect_ns,
            Phase::Tls => self.tls_ns,
            Phase::Auth => self.auth_ns,
            Phase::Write => self.write_ns,
            Phase::Wait => self.wait_ns,
            Phase::Read => self.read_ns,
        };
        (self.present & 1 << phase as u8 != 0).then_some(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_of_no_time_has_happened() {
        let mut phases = Phases::default();
        assert_eq!(Phase::ALL.map(|phase| phases.ns(phase)), [None; 6]);
        phases.add(Phase::Read, 0);
        phases.add(Phase::Wait, 3);
        phases.add(Phase::Wait, 4);
        assert_eq!(Phase::ALL.map(|phase| phases.ns(phase)), [None, None, None, None, Some(7), Some(0)]);
    }
}
