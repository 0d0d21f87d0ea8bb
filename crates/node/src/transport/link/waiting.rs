//! What a link was given and its connection does not take yet: a burst of the host, or more transfers than go at a time.

use std::collections::VecDeque;

use hyperscale_wire::class::Class;
use hyperscale_wire::connection::{Connection, Outgoing};
use hyperscale_wire::kind::{Envelope, Kind};
use hyperscale_wire::mux::SendError;
use hyperscale_wire::speak::class_of;

/// Messages that wait: as many as a replica may have proposals open.
const MESSAGES_MAX: usize = 16_384;
/// Their bytes, beside what the connection itself keeps.
const BYTES_MAX: usize = 16 << 20;
/// Transfers that wait; the connection takes four at a time. Their bytes belong to the host anyway.
const TRANSFERS_MAX: usize = 64;

/// Messages by class. Those of one class keep their order; none waits for another class.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_class: [VecDeque<(Outgoing, usize)>; Class::ALL.len()],
    bytes: usize,
}

impl Waiting {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_class.iter().map(VecDeque::len).sum()
    }

    /// Whether messages of its class wait already.
    pub(super) fn is_behind(&self, message: &Outgoing) -> bool {
        !self.by_class[class(message) as usize].is_empty()
    }

    /// Keeps a message; `false`: there is no room.
    pub(super) fn push(&mut self, message: Outgoing) -> bool {
        let (bytes, count_max) = match &message {
            Outgoing::Control(message) => (size(message), MESSAGES_MAX),
            Outgoing::Bulk(message) => (size(message), MESSAGES_MAX),
            Outgoing::Transfer(..) => (0, TRANSFERS_MAX),
        };
        if self.len() >= count_max || self.bytes + bytes > BYTES_MAX {
            return false;
        }
        self.bytes += bytes;
        self.by_class[class(&message) as usize].push_back((message, bytes));
        true
    }

    /// Gives the connection what it takes now; whether it took anything.
    pub(super) fn offer(&mut self, connection: &mut Connection) -> bool {
        let mut has_taken = false;
        for queue in &mut self.by_class {
            while let Some((message, bytes)) = queue.front() {
                if connection.send(message) == Err(SendError::Full) {
                    break;
                }
                has_taken = true;
                self.bytes -= bytes;
                queue.pop_front();
            }
        }
        has_taken
    }
}

fn class(message: &Outgoing) -> Class {
    let kind: Option<Kind> = match message {
        Outgoing::Control(message) => message.kind(),
        Outgoing::Bulk(message) | Outgoing::Transfer(message, _) => message.kind(),
    };
    kind.map_or(Class::Telemetry, class_of)
}

fn size<M: Envelope>(message: &M) -> usize {
    message.encoded_len()
}
