//! Sealed datagrams: AES-256-GCM, a key per sender and boot, a replay window, and a challenge for every new boot.
//!
//! The key of a sender is derived (HKDF) from secret, cluster, environment, node id and boot id; the nonce is a counter of
//! that boot. The receiver is authenticated, so that a datagram for one node cannot be shown to another. A boot that the
//! receiver does not know changes nothing until it has answered a challenge: recordings of an earlier boot stay without
//! effect. The newest datagram of such a boot is held back and delivered with the answer, so that a first probe is not
//! lost. Whatever else it sealed before the answer is refused: a receiver that restarted or had forgotten the sender cannot
//! know whether it was delivered once before. Datagrams of one burst may be lost by that, as datagrams may. Of the held one
//! it cannot be known either; it is the only one that can be shown twice, once per life of the receiver or time that it
//! forgot the sender, and the cores bear it as they bear any datagram that the network doubled.
//!
//! | state of (sender, boot) | datagram | effect |
//! | --- | --- | --- |
//! | unknown | data, hail | challenge sent, data held, → challenged |
//! | challenged | data | newest held; challenge repeated at most every 100 ms |
//! | challenged | answer with our nonce within 5 s | → known, held data delivered, other data from before the answer refused from now on; other boots of the sender → unknown |
//! | challenged | answer after 5 s | refused |
//! | challenged | data, hail after 5 s | as unknown: a new challenge |
//! | known | data, counter new and within the window | delivered |
//! | known | data, counter seen or too old | refused |
//! | known | hail | challenge sent (the sender has forgotten us), stays known |
//! | any | challenge for our boot | answered |
//! | any | anything that does not open | refused |
//!
//! With certificates, what managers and gates seal is sealed for one pair of nodes: see `pairs`.
//!
//! All tables are bounded: a sender that is forgotten to make room has to answer a challenge again.

mod header;
mod node;
mod pairs;
mod replay;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;

use hyperscale_types::{NodeId, Role};

pub use self::header::{DATAGRAM_OVERHEAD, DATAGRAM_PAYLOAD_MAX};
pub use self::node::Datagrams;
use crate::counters::Refusal;
use crate::entropy::{Entropy, draw};
use crate::secret::SecretChoice;

/// Drawn at random by every process when it starts. Only tells boots apart; which one is newer is the business of
/// [`BootEpoch`](hyperscale_types::BootEpoch).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootId(pub [u8; 16]);

impl BootId {
    /// A fresh one.
    pub fn draw(entropy: &mut dyn Entropy) -> Self {
        Self(draw(entropy))
    }
}

/// Why a datagram was dropped. Beside its counter nothing was changed by it: who is known and what was asked stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramError {
    /// Too short, too long, of another version or kind.
    #[error("a datagram is malformed")]
    Malformed,
    /// Not sealed by its sender, for us, in our cluster, with our secret.
    #[error("a datagram is forged or foreign")]
    Forged,
    /// Received before, or sealed before its boot was met, which may be the same.
    #[error("a datagram was received before")]
    Replayed,
    /// From before the window.
    #[error("a datagram is too old")]
    TooOld,
    /// An answer to no challenge of ours, or to one that is over.
    #[error("nobody asked for this answer")]
    UnexpectedAnswer,
    /// A challenge for another boot of this node.
    #[error("a challenge is for another boot")]
    MisdirectedChallenge,
}

impl DatagramError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            DatagramError::Malformed => Refusal::DatagramMalformed,
            DatagramError::Forged => Refusal::DatagramForged,
            DatagramError::Replayed => Refusal::DatagramReplayed,
            DatagramError::TooOld => Refusal::DatagramTooOld,
            DatagramError::UnexpectedAnswer => Refusal::ChallengeUnexpected,
            DatagramError::MisdirectedChallenge => Refusal::ChallengeMisdirected,
        }
    }
}

/// A payload that does not fit a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payload of {0} bytes does not fit a datagram")]
pub struct PayloadTooLarge(pub usize);

/// What became of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// From a boot that is known.
    Payload {
        /// The node whose key sealed it.
        from: NodeId,
        /// In which life.
        boot: BootId,
        /// Under which secret; the previous one is counted, and worth a line in the host's log.
        secret: SecretChoice,
        /// The role that its certificate proves; `None` without certificates.
        proven: Option<Role>,
        /// The opened bytes, not decoded yet.
        data: Vec<u8>,
    },
    /// A new boot answered its challenge.
    Confirmed {
        /// The node that answered.
        from: NodeId,
        /// In which life.
        boot: BootId,
        /// Under which secret it answered; the previous one is counted as with payloads.
        secret: SecretChoice,
        /// The role that its certificate proves; `None` without certificates.
        proven: Option<Role>,
        /// Its newest datagram from before, which counts now.
        held: Option<Vec<u8>>,
    },
    /// To be sent back to where the datagram came from: a challenge or the answer to one.
    Reply {
        /// For whom it is sealed.
        to: NodeId,
        /// The whole datagram, as it is to be sent.
        datagram: Vec<u8>,
    },
    /// Held back until an earlier challenge is answered.
    Held,
}
