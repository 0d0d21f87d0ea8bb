//! The server on a real socket, asked by our client and by bytes that no client of ours would send.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod server;
