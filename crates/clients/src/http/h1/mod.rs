//! HTTP/1.1: writing a request and reading its response on one connection.

pub(crate) mod chunked;
pub(crate) mod exchange;
pub(crate) mod head;
pub(crate) mod memo;
pub(crate) mod reader;
pub(crate) mod wire;
pub(crate) mod write;
