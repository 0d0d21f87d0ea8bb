//! Who we say we are: basic, digest (RFC 7616), OAuth 2.

pub(crate) mod basic;
pub mod digest;
pub mod oauth2;
pub(crate) mod token;
