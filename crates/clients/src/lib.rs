//! Protocol clients: one module each, prepared once, called per request.
//!
//! A client is prepared per core, called by virtual users on that core, and reports what happened as an outcome. It
//! records no statistics, logs nothing and knows neither load models nor step graphs. Everything is `!Send`: nothing
//! here is shared between cores.

pub mod clock;
pub mod http;
pub mod network;
