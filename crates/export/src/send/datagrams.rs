//! Readings as datagrams. Sent means handed to the kernel: nobody acknowledges datagrams.
//!
//! On the same machine and often beyond, the kernel learns that nobody listens and says so with the next datagram; that
//! reading counts as lost.

use std::net::UdpSocket;

use crate::encode::datagrams::pack;
use crate::encode::{influx, statsd};
use crate::place::LineFormat;
use crate::reading::Reading;

/// A receiver of datagrams.
pub(crate) struct DatagramSink {
    lines: Lines,
    socket: UdpSocket,
}

enum Lines {
    Influx,
    Statsd(statsd::Encoder),
}

impl DatagramSink {
    /// Sends through a connected socket.
    pub(super) fn new(format: LineFormat, socket: UdpSocket) -> Self {
        let lines = match format {
            LineFormat::Influx => Lines::Influx,
            LineFormat::Statsd(tags) => Lines::Statsd(statsd::Encoder::new(tags)),
        };
        Self { lines, socket }
    }

    /// Sends all datagrams of a reading, or says why one of them did not leave.
    pub(super) fn send(&mut self, reading: &Reading) -> Result<(), String> {
        let lines = match &mut self.lines {
            Lines::Influx => influx::encode(reading),
            Lines::Statsd(encoder) => encoder.encode(reading),
        };
        let datagrams = pack(lines);
        let mut outcome = Ok(());
        for datagram in &datagrams.packed {
            // The rest may still arrive.
            if let Err(error) = self.socket.send(datagram.as_bytes()) {
                outcome = Err(error.to_string());
            }
        }
        if datagrams.too_long > 0 {
            return Err(format!("{} lines are too long for a datagram", datagrams.too_long));
        }
        outcome
    }
}
