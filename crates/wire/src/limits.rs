//! Every limit of the wire in one place. What goes beyond one of them is refused and counted, never stored.

use std::time::Duration;

/// Bytes of one frame: what a Noise message may have at most.
pub const FRAME_MAX: usize = 65_535;
/// Payload of one chunk; with chunk header and seal it fits a frame.
pub const CHUNK_MAX: usize = 60 << 10;
/// A message as it travels (compressed if it is). Larger things are transfers.
pub const MESSAGE_MAX: usize = 1 << 20;
/// A message of the bulk plane after decompression. Decoded it takes several times as much, hence less than a blob.
pub const MESSAGE_PLAIN_MAX: usize = 4 << 20;
/// What decoding one message may take, whatever its plane. Lists of entries as nodes write them take about ten times
/// their bytes while they grow; lists of empty entries would take 600 times theirs.
pub const DECODED_MAX: usize = 16 * MESSAGE_PLAIN_MAX;
/// Bytes of one transfer: a blob or a snapshot.
pub const TRANSFER_MAX: u64 = 64 << 20;
/// What a sender may have under way on one stream before the receiver took some of it.
pub const STREAM_CREDIT: u32 = 256 << 10;
/// What a peer may have under way on both lanes together.
pub const PEER_CREDIT: u32 = CONTROL_CREDIT + BULK_CREDIT;
/// The control lane's part of [`PEER_CREDIT`].
pub const CONTROL_CREDIT: u32 = 3 << 20;
/// The bulk lane's part of [`PEER_CREDIT`].
pub const BULK_CREDIT: u32 = 5 << 20;
/// Credit that every chunk of data costs beside its payload: what the events of a chunk take in memory. Without it empty
/// messages and pieces of one byte would be free.
pub const CHUNK_COST: u32 = 256;
/// Credit that the largest message costs.
pub const MESSAGE_COST_MAX: u32 = MESSAGE_MAX as u32 + MESSAGE_MAX.div_ceil(CHUNK_MAX) as u32 * CHUNK_COST;
/// Credit that only messages of class `control` may use, so that they never wait for a slow reader of something else:
/// the largest message, beside what was released but not given back yet.
pub const CONTROL_HEADROOM: u32 = MESSAGE_COST_MAX + CREDIT_PORTION;
/// Credit is given back in portions of at least this, to send few credit chunks.
pub const CREDIT_PORTION: u32 = 64 << 10;
/// Streams in progress per connection and direction.
pub const STREAMS_MAX: usize = 256;
/// Messages of one class that wait for their first chunk.
pub const QUEUE_MESSAGES_MAX: usize = 1_024;
/// Bytes of the messages of one class that were not sent yet.
pub const QUEUE_BYTES_MAX: usize = 4 << 20;
/// Bytes of one transfer that wait at the sender.
pub const TRANSFER_BUFFER_MAX: usize = STREAM_CREDIT as usize;

/// Frames under one key.
pub const REKEY_FRAMES: u64 = 1 << 20;
/// Time under one key.
pub const REKEY_AFTER: Duration = Duration::from_hours(1);
/// A peer that did not change its key by this many frames is cut off; more than [`REKEY_FRAMES`] only to be generous
/// with an off-by-one of another version.
pub const REKEY_OVERDUE_FRAMES: u64 = REKEY_FRAMES + 1_024;
/// A peer whose key is older than this is cut off; more than [`REKEY_AFTER`] for frames that were under way when the key
/// should have changed, and for clocks that run apart.
pub const REKEY_OVERDUE_AFTER: Duration = Duration::from_mins(65);

/// One datagram with header and seal: fits every path without being fragmented.
pub const DATAGRAM_MAX: usize = 1_400;
/// Counters behind the newest one that are still accepted, each once.
pub const REPLAY_WINDOW: u64 = 128;
/// Senders of datagrams that are remembered; the one not heard for the longest time must answer a challenge again.
pub const DATAGRAM_PEERS_MAX: usize = 8_192;
/// New boots that have not answered their challenge yet. Each may hold one datagram.
pub const CHALLENGES_MAX: usize = 1_024;
/// A challenge must be answered by then; a later answer may have been kept back by somebody while its boot ended.
pub const CHALLENGE_TTL: Duration = Duration::from_secs(5);
/// So many datagrams for a node that is not heard are sealed under the secret it used last; from then on, while keys
/// rotate, both secrets are tried in turn. Many more than gossip sends to a member between two of its own datagrams, as
/// every other one is lost then.
pub const UNHEARD_MAX: u32 = 64;
/// Challenges to the same boot are not repeated faster than this.
pub const CHALLENGE_REPEAT: Duration = Duration::from_millis(100);

/// Decompressed bytes, whatever the input.
pub const DECOMPRESSED_MAX: u64 = 50_000_000;
/// Decompressed bytes per byte of input.
pub const DECOMPRESSED_RATIO_MAX: u64 = 100;
/// Window that a compressed frame may ask the decoder to keep; ours use 128 KiB.
pub const COMPRESSION_WINDOW_MAX: u64 = 1 << 20;
/// Below this many bytes compression is not tried.
pub const COMPRESS_FROM: usize = 512;

/// Handshakes in progress at once.
pub const HANDSHAKES_MAX: usize = 256;
/// Handshakes in progress from one source.
pub const HANDSHAKES_PER_SOURCE_MAX: usize = 16;
/// A handshake that is not finished by then is dropped.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Source addresses with a token bucket of their own.
pub const SOURCES_MAX: usize = 4_096;
/// Authenticated peers with token buckets of their own.
pub const RATED_PEERS_MAX: usize = DATAGRAM_PEERS_MAX;

/// Features one hello may name.
pub const FEATURES_MAX: usize = 64;
/// Bytes of a feature's name, of a build, of a cluster's or an environment's name.
pub const WORD_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that nodes of one version must agree on.
    #[test]
    fn limits_are_those_of_the_wire() {
        assert_eq!((FRAME_MAX, CHUNK_MAX), (65_535, 60 * 1024));
        assert_eq!((MESSAGE_MAX, TRANSFER_MAX), (1024 * 1024, 64 * 1024 * 1024));
        assert_eq!((STREAM_CREDIT, PEER_CREDIT), (256 * 1024, 8 * 1024 * 1024));
        assert_eq!((CHUNK_COST, MESSAGE_COST_MAX), (256, 1024 * 1024 + 18 * 256));
        assert_eq!((REKEY_FRAMES, REKEY_AFTER), (1 << 20, Duration::from_hours(1)));
        assert_eq!((DATAGRAM_MAX, REPLAY_WINDOW), (1_400, 128));
        assert_eq!((DECOMPRESSED_MAX, DECOMPRESSED_RATIO_MAX), (50_000_000, 100));
    }
}
