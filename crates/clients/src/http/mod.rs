//! HTTP: the parts of the client that need no connection (URLs, cookies, authentication, bodies) and the client itself.

#[cfg(test)]
mod fuzz;
pub mod url;
