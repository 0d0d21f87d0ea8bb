//! What applying said, on its way back from the leader to whoever asked for it.

use bytes::Bytes;

/// An outcome that can cross the wire. Written and read by builds of two versions, so an outcome that only the newer one
/// knows is read as none.
pub trait WireOutcome: Clone {
    /// Its bytes.
    fn to_bytes(&self) -> Bytes;

    /// The outcome of these bytes; `None` if this build does not know it.
    fn from_bytes(bytes: &Bytes) -> Option<Self>;
}
