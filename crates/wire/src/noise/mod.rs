//! Sealed connections with the shared secret: `Noise_NNpsk0_25519_AESGCM_SHA256`.
//!
//! A connection begins with one frame of each side ([`Initiator`], [`answer`]) and goes on as a [`Session`], in which every
//! frame is sealed with keys of its own direction and a counter: a frame that was changed, repeated, left out, moved or
//! sent by somebody without the secret does not open, and the session is over.
//!
//! Bytes in, bytes out: no socket, no clock; the ephemeral key comes from the [`Entropy`](crate::entropy::Entropy)
//! handed in, so a simulated handshake is the same for the same seed.

pub(crate) mod crypto;
mod handshake;
mod session;

#[cfg(test)]
mod tests;

pub use self::handshake::{Answer, HandshakeError, Initiator, answer};
pub use self::session::{OpenError, Opened, Session};
