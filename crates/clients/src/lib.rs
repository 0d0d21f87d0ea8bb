//! Protocol clients: one module each, prepared once, called per request.

pub mod http;
