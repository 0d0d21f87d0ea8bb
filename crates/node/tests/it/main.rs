//! The parts of a node on real sockets and real disks, on loopback.

mod support;
mod transport;
