//! The clear part of a datagram.
//!
//! ```text
//! version(1) kind(1) sender(8) boot(16) counter(8) | sealed payload | tag(16)
//! ```
//! Header and receiver are authenticated with the payload. Numbers are big-endian.

use hyperscale_types::NodeId;

use super::{BootId, DatagramError};
use crate::limits::DATAGRAM_MAX;

const VERSION: u8 = 1;
pub(super) const HEADER: usize = 34;
pub(super) const TAG: usize = 16;

/// Bytes that header and tag take.
pub const DATAGRAM_OVERHEAD: usize = HEADER + TAG;
/// Payload of one datagram.
pub const DATAGRAM_PAYLOAD_MAX: usize = DATAGRAM_MAX - DATAGRAM_OVERHEAD;

/// What a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatagramKind {
    Data,
    Challenge,
    Answer,
    Hail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: DatagramKind,
    pub(super) sender: NodeId,
    pub(super) boot: BootId,
    pub(super) counter: u64,
}

impl Header {
    pub(super) fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = VERSION;
        bytes[1] = match self.kind {
            DatagramKind::Data => 1,
            DatagramKind::Challenge => 2,
            DatagramKind::Answer => 3,
            DatagramKind::Hail => 4,
        };
        bytes[2..10].copy_from_slice(&self.sender.get().to_be_bytes());
        bytes[10..26].copy_from_slice(&self.boot.0);
        bytes[26..].copy_from_slice(&self.counter.to_be_bytes());
        bytes
    }

    /// Splits a datagram into header and sealed payload (with its tag).
    pub(super) fn decode(datagram: &[u8]) -> Result<(Self, &[u8; HEADER], &[u8]), DatagramError> {
        if datagram.len() > DATAGRAM_MAX || datagram.len() < DATAGRAM_OVERHEAD {
            return Err(DatagramError::Malformed);
        }
        let (header, sealed) = datagram.split_first_chunk::<HEADER>().ok_or(DatagramError::Malformed)?;
        let [version, kind, rest @ ..] = header;
        let kind = match kind {
            1 => DatagramKind::Data,
            2 => DatagramKind::Challenge,
            3 => DatagramKind::Answer,
            4 => DatagramKind::Hail,
            _ => return Err(DatagramError::Malformed),
        };
        let number = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&rest[from..from + 8]);
            u64::from_be_bytes(bytes)
        };
        let mut boot = BootId([0; 16]);
        boot.0.copy_from_slice(&rest[8..24]);
        let sender = NodeId::new(number(0)).ok_or(DatagramError::Malformed)?;
        let counter = number(24);
        if *version != VERSION || counter == 0 {
            return Err(DatagramError::Malformed);
        }
        Ok((Self { kind, sender, boot, counter }, header, sealed))
    }
}
