//! What people and other programs read of a run: the summary at the end, the line of progress, and files in several
//! formats ([`ReportFormat`]).
//!
//! Everything here turns a [`RunResult`](hyperscale_stats::result::RunResult) or a [`Progress`] into text. It must never
//! print, open a file, look at a terminal or compute a statistic: numbers are shown as they are in the result.

mod chart;
pub mod compare;
pub mod csv;
mod escape;
pub mod format;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod progress;
pub mod schema;
pub mod style;
pub mod summary;
mod table;
mod words;

pub use compare::{CompareFormat, Compared};
pub use format::ReportFormat;
pub use hyperscale_stats::human;
pub use json::{ReadError, read_result, to_json};
pub use progress::{Progress, progress_line};
pub use schema::{event_schema, result_schema};
pub use style::Style;
pub use summary::{TextOptions, summary};
pub use words::threshold_value;
