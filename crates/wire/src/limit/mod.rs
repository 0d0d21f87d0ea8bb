//! How much a peer, a source address and strangers may ask of a node.
//!
//! [`bucket`] is the arithmetic, [`rates`] the tables of buckets, [`handshakes`] the cap on what is not authenticated yet.
//! Time is handed in.

pub mod bucket;
pub mod handshakes;
pub mod rates;

pub use self::bucket::{Rate, RateLimited, TokenBucket};
pub use self::handshakes::{HandshakeSlot, Handshakes, HandshakesFull};
pub use self::rates::{PeerRates, SourceRates};
