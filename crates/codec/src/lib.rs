//! What the cores say, as messages of the wire, and back.
//!
//! Cores speak types of their own and know nothing of encodings; `wire` knows encodings and nothing of cores. This crate
//! maps one to the other, field by field and without loss, so that node and simulator do it alike. It is also where bytes
//! from outside become values that cores rely on: ids that are not zero, addresses that are addresses, known words,
//! names of bounded length. What it must never do: decide anything, keep state, or repair what is wrong.
//!
//! | module     | core type                                | message                       |
//! | ---------- | ---------------------------------------- | ----------------------------- |
//! | [`gossip`] | `swim::Datagram`, federated probes       | `Gossip`, one per datagram    |
//! | [`stream`] | `swim::StreamMessage`, federated probes  | `Membership` in a `Control`   |
//! | [`worker_load`] | `swim::WorkerLoad`                  | `WorkerLoad` in a renewal     |
//! | [`log`]    | `consensus::replica::ReplicaMessage`     | `Control`, or a transfer of `Bulk` |
//!
//! A message that names a word of a newer version in a list of updates loses that update only; anywhere else it is
//! refused.

mod field;
pub mod gossip;
pub mod log;
mod state;
pub mod stream;
mod update;
mod version;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;

use hyperscale_consensus::record::RecordError;
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::speak::NotPermitted;

pub use self::state::{worker_load, worker_load_out};
pub use self::version::Versions;

/// Why a message is not something a core can be told. Nothing of it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not the encoding of any message.
    #[error("the message is malformed")]
    Malformed,
    /// A field that every sender fills is not there.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A word of a newer version, or none.
    #[error("`{0}` is a word that this version does not know")]
    Unknown(&'static str),
    /// A number or a text beyond what the field can hold.
    #[error("`{0}` is out of range")]
    OutOfRange(&'static str),
    /// Not an address.
    #[error("`{0}` is not an address with a port")]
    BadAddress(&'static str),
    /// Something of the log that cannot be.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Something of another log group.
    #[error("the message is of another group")]
    OtherGroup,
    /// The message is in the name of another node than the one that sealed it.
    #[error("the message is in another node's name")]
    Impersonated,
    /// The sender says that it has another role than its certificate proves.
    #[error("the certificate of the sender is of another role")]
    OtherRole,
    /// Written in a version of the protocol that is not among ours.
    #[error("the message is of protocol version {0}")]
    Version(u32),
    /// The role of its sender may not say this to ours.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
}

impl Unreadable {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            Unreadable::Malformed
            | Unreadable::Missing(_)
            | Unreadable::OutOfRange(_)
            | Unreadable::BadAddress(_)
            | Unreadable::Record(_)
            | Unreadable::OtherGroup => Refusal::MessageMalformed,
            Unreadable::Unknown(_) => Refusal::MessageUnknown,
            Unreadable::Impersonated => Refusal::DatagramForged,
            Unreadable::OtherRole => Refusal::NotPermitted,
            Unreadable::Version(_) => Refusal::VersionMismatch,
            Unreadable::NotPermitted(refused) => refused.refusal(),
        }
    }
}
