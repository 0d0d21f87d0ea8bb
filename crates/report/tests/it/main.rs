//! Summaries, progress lines and JSON as people and scripts see them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod browser;
mod compare;
mod formats;
mod fuzz;
mod guide;
mod html;
mod json;
mod progress;
mod runs;
mod schema;
mod summary;
