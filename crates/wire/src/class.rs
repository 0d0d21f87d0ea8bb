//! Classes of messages, lanes and planes: what waits for what.

use crate::limits::{BULK_CREDIT, CONTROL_CREDIT};

/// How urgent a message is. A lower class never delays a higher one by more than one chunk; under pressure the lowest is
/// shed first and `control` never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Leases, Raft, cancellation, leadership.
    Control,
    /// Work handed out.
    Dispatch,
    /// Results and blobs.
    Data,
    /// Progress; may be dropped.
    Telemetry,
}

impl Class {
    /// All of them, most urgent first.
    pub const ALL: [Class; 4] = [Class::Control, Class::Dispatch, Class::Data, Class::Telemetry];

    /// Its two bits in a chunk.
    pub(crate) const fn bits(self) -> u8 {
        self as u8
    }

    pub(crate) const fn from_bits(bits: u8) -> Class {
        Class::ALL[(bits & 3) as usize]
    }
}

/// One of the two connections between a pair of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Small messages that must not wait. Nothing on it is compressed, and there are no transfers on it.
    Control,
    /// Measurements, blobs and snapshots.
    Bulk,
}

impl Lane {
    /// Bytes that may be under way on it.
    pub const fn credit(self) -> u32 {
        match self {
            Lane::Control => CONTROL_CREDIT,
            Lane::Bulk => BULK_CREDIT,
        }
    }

    pub(crate) const fn byte(self) -> u8 {
        match self {
            Lane::Control => 1,
            Lane::Bulk => 2,
        }
    }

    pub(crate) const fn from_byte(byte: u8) -> Option<Lane> {
        match byte {
            1 => Some(Lane::Control),
            2 => Some(Lane::Bulk),
            _ => None,
        }
    }
}
