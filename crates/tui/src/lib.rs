//! The live screen of a run.
//!
//! ```text
//! events of the run ─┐
//! keys, resizes ─────┼─► one queue ─► State ─► render ─► terminal
//!                    │                  └─► wishes ─► whoever owns the run
//! ```
//! [`State`] knows what is shown and takes events and keys; [`render`](fn@render) draws it and changes nothing;
//! [`Screen`] owns the terminal and gives it back whatever happens. The screen must never compute a statistic: numbers
//! are shown as they are in the snapshot. It never acts on a run by itself: it only hands out [`Wish`]es.

mod history;
mod input;
mod keys;
mod render;
mod screen;
mod state;
mod terminal;
mod theme;

pub use input::{Key, Wish};
pub use render::render;
pub use screen::{Screen, ScreenOptions};
pub use state::{Mode, State};
pub use theme::Theme;
