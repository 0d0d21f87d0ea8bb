//! What a client tells the recorder about one call.

use hyperscale_types::ErrorKind;
use hyperscale_types::rule::Phase;

/// One call of a test step, as it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSample {
    /// From the intended start (open models) or the actual start to the end.
    pub latency_ns: u64,
    /// From the actual start to the end.
    pub service_ns: u64,
    /// Parts of the service time.
    pub phases: Phases,
    /// Why it failed, or `None` if it was ok.
    pub error: Option<ErrorKind>,
    /// The protocol's status; 0 when there was none.
    pub status: u16,
    /// Requests whose last byte was handed to the kernel: redirect hops and authentication round trips included.
    pub requests: u32,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
}

/// Parts of a call's service time. Only those named in `present` happened: a reused connection has no connect phase,
/// which is not the same as one of 0 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Opening the connection.
    pub connect_ns: u64,
    /// The TLS handshake.
    pub tls_ns: u64,
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
    /// The request was written.
    pub const WRITE: u8 = 1 << Phase::Write as u8;
    /// The answer was waited for.
    pub const WAIT: u8 = 1 << Phase::Wait as u8;
    /// The answer was read.
    pub const READ: u8 = 1 << Phase::Read as u8;

    /// Notes that a phase happened and how long it took.
    #[inline]
    pub fn set(&mut self, phase: Phase, ns: u64) {
        self.present |= 1 << phase as u8;
        match phase {
            Phase::Connect => self.connect_ns = ns,
            Phase::Tls => self.tls_ns = ns,
            Phase::Write => self.write_ns = ns,
            Phase::Wait => self.wait_ns = ns,
            Phase::Read => self.read_ns = ns,
        }
    }

    /// How long a phase took, if it happened.
    #[inline]
    pub fn ns(&self, phase: Phase) -> Option<u64> {
        let ns = match phase {
            Phase::Connect => self.connect_ns,
            Phase::Tls => self.tls_ns,
            Phase::Write => self.write_ns,
            Phase::Wait => self.wait_ns,
            Phase::Read => self.read_ns,
        };
        (self.present & 1 << phase as u8 != 0).then_some(ns)
    }
}

/// One event of a streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The first one, this long after the call began.
    First(u64),
    /// A later one, this long after the one before.
    Next(u64),
}
