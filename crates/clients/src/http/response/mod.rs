//! What is kept of a response: parts that are needed, decoded bodies, events of a stream.

pub(crate) mod collect;
pub mod decode;
pub mod stream;
