//! Why something was refused, and how often. One counter per reason; the shell exports them.
//!
//! Whatever refuses something also counts it: it owns its [`Counters`] or is handed some, so that no caller can forget to.

use std::fmt;

macro_rules! refusals {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A reason to refuse bytes, a message or a peer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Refusal {
            $($(#[$doc])* $variant,)*
        }

        impl Refusal {
            /// Every reason.
            pub const ALL: &[Refusal] = &[$(Refusal::$variant,)*];

            /// Its name in metrics and logs.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Refusal::$variant => $name,)*
                }
            }
        }
    };
}

refusals! {
    /// A frame announced more bytes than a frame may have.
    FrameTooLarge = "frame_too_large",
    /// A frame without content.
    FrameEmpty = "frame_empty",
    /// The connection ended in the middle of a frame.
    FrameTruncated = "frame_truncated",
    /// The first bytes are not those of our protocol.
    NotOurProtocol = "not_our_protocol",
    /// Another cluster.
    ForeignCluster = "foreign_cluster",
    /// Another environment.
    ForeignEnvironment = "foreign_environment",
    /// The two sides mean different lanes.
    WrongLane = "wrong_lane",
    /// The handshake was not made with our secret, or was changed under way.
    HandshakeForged = "handshake_forged",
    /// The handshake took too long.
    HandshakeTimeout = "handshake_timeout",
    /// Too many handshakes in progress.
    HandshakesFull = "handshakes_full",
    /// A frame was changed, repeated, left out or sent by somebody else.
    FrameForged = "frame_forged",
    /// The peer does not change its keys.
    RekeyOverdue = "rekey_overdue",
    /// A chunk that makes no sense.
    ChunkMalformed = "chunk_malformed",
    /// A chunk of a stream that was not begun.
    StreamUnknown = "stream_unknown",
    /// A stream number was used twice.
    StreamReused = "stream_reused",
    /// Too many streams in progress.
    StreamsFull = "streams_full",
    /// More was sent than there was credit for.
    CreditExceeded = "credit_exceeded",
    /// More credit was given than can be owed.
    CreditOverflow = "credit_overflow",
    /// A message grew beyond its limit.
    MessageTooLarge = "message_too_large",
    /// A transfer grew beyond its limit.
    TransferTooLarge = "transfer_too_large",
    /// A transfer where there must be none.
    TransferForbidden = "transfer_forbidden",
    /// Compression where there must be none.
    CompressionForbidden = "compression_forbidden",
    /// Compressed bytes that would grow beyond the limit.
    CompressionBomb = "compression_bomb",
    /// Bytes that do not decompress.
    CompressionBroken = "compression_broken",
    /// Bytes that are no message.
    MessageMalformed = "message_malformed",
    /// A message that would take too much memory once it is decoded.
    MessageBloated = "message_bloated",
    /// A message of a kind that this version does not know.
    MessageUnknown = "message_unknown",
    /// A message in another class than that of its kind.
    WrongClass = "wrong_class",
    /// This role may not say this.
    NotPermitted = "not_permitted",
    /// A message before the hello, or a second hello.
    HelloOutOfOrder = "hello_out_of_order",
    /// A hello that contradicts itself or the certificate.
    HelloInvalid = "hello_invalid",
    /// The hello was meant for another node.
    HelloMisdirected = "hello_misdirected",
    /// No protocol version in common.
    VersionMismatch = "version_mismatch",
    /// A peer sent more than its share.
    RateLimitedPeer = "rate_limited_peer",
    /// A source address sent more than its share.
    RateLimitedSource = "rate_limited_source",
    /// A datagram that is too short, too long or of an unknown kind.
    DatagramMalformed = "datagram_malformed",
    /// A datagram that was not sealed by its sender, for us, with our secret.
    DatagramForged = "datagram_forged",
    /// A datagram that was received before.
    DatagramReplayed = "datagram_replayed",
    /// A datagram from before the replay window.
    DatagramTooOld = "datagram_too_old",
    /// A datagram of a boot that has not answered its challenge yet; held back.
    DatagramUnconfirmed = "datagram_unconfirmed",
    /// An answer to no challenge of ours.
    ChallengeUnexpected = "challenge_unexpected",
    /// A challenge for another boot than ours.
    ChallengeMisdirected = "challenge_misdirected",
    /// A new boot was forgotten because too many waited.
    ChallengesFull = "challenges_full",
    /// A remembered sender was forgotten because there are too many.
    PeersFull = "peers_full",
    /// A role or node in a certificate that is not one of ours.
    CertificateInvalid = "certificate_invalid",
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often each refusal happened, and how often the previous secret was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    refusals: Vec<u64>,
    previous_secret: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { refusals: vec![0; Refusal::ALL.len()], previous_secret: 0 }
    }
}

impl Counters {
    /// Counts one refusal.
    pub fn refuse(&mut self, refusal: Refusal) {
        self.refusals[refusal as usize] += 1;
    }

    /// Counts one use of the previous secret: the rotation is not finished yet.
    pub fn use_previous_secret(&mut self) {
        self.previous_secret += 1;
    }

    /// Times this refusal happened.
    pub fn refused(&self, refusal: Refusal) -> u64 {
        self.refusals[refusal as usize]
    }

    /// Times the previous secret was used.
    pub fn previous_secret(&self) -> u64 {
        self.previous_secret
    }

    /// Every reason with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Refusal, u64)> {
        Refusal::ALL.iter().map(|&refusal| (refusal, self.refused(refusal)))
    }

    /// Adds what another owner counted.
    pub fn merge(&mut self, other: &Counters) {
        for (mine, theirs) in self.refusals.iter_mut().zip(&other.refusals) {
            *mine += theirs;
        }
        self.previous_secret += other.previous_secret;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_counter_and_a_name_of_its_own() {
        let mut counters = Counters::default();
        for &refusal in Refusal::ALL {
            counters.refuse(refusal);
        }
        counters.use_previous_secret();
        assert!(counters.iter().all(|(_, count)| count == 1));
        let names: std::collections::BTreeSet<_> = Refusal::ALL.iter().map(|r| r.name()).collect();
        assert_eq!(names.len(), Refusal::ALL.len());
        let mut sum = Counters::default();
        sum.merge(&counters);
        sum.merge(&counters);
        assert_eq!((sum.refused(Refusal::FrameForged), sum.previous_secret()), (2, 2));
    }
}
