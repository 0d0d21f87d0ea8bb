//! The parts of a node on real sockets and real disks, on loopback.

mod host;
mod membership;
mod replicas;
mod support;
mod transport;
