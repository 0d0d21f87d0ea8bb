//! What leaves: texts and bytes of every format, and what happens when nobody takes them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod delivery;
mod formats;
mod guide;
mod otlp;
mod runs;
