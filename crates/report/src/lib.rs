//! What people read of a run: the summary at the end, the line of progress, the JSON.
//!
//! Everything here turns a [`RunResult`](hyperscale_stats::result::RunResult) or a [`Progress`] into text. It must never
//! print, open a file, look at a terminal or compute a statistic: numbers are shown as they are in the result.

pub mod human;
pub mod json;
pub mod progress;
pub mod style;
pub mod summary;
mod table;

pub use json::{ReadError, read_result, to_json};
pub use progress::{Progress, progress_line};
pub use style::Style;
pub use summary::{TextOptions, summary};
