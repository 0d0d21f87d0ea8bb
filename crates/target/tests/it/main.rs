//! The target seen from outside: real sockets on loopback, raw bytes.

mod auth;
mod counting;
mod faults;
mod http2;
mod injection;
mod life;
mod protocol;
mod routes;
mod tls;
mod wire;
