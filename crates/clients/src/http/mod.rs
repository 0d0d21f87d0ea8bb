//! HTTP: the parts of the client that need no connection (URLs, cookies, authentication, bodies) and the client itself.

pub mod cookies;
#[cfg(test)]
mod fuzz;
pub mod h2;
pub mod stream;
pub mod url;
