//! The screen from outside: frames, keys, and a real terminal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod frames;
mod image;
mod keys;
mod runs;
mod terminal;
