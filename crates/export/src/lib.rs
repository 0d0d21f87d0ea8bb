//! The numbers of a run for other systems, while it runs and at its end.
//!
//! ```text
//! snapshot, result ─► Readings ─► Reading ─┬─ 4 ─► thread ─► encode ─► POST
//!                     (once)               ├─ 4 ─► thread ─► encode ─► datagrams
//!                                          ├─ 4 ─► thread ─► encode ─► file
//!                                          └─ 4 ─► thread ─► encode ─► whoever scrapes
//! ```
//! A [`reading::Reading`] is one state of the run, made once for all exporters; the names of its numbers stand in
//! [`names`]. The encoders in [`encode`] are pure: a reading in, bytes out. Every exporter has a thread and a short queue
//! of its own ([`Exporters`]), so that a receiver that is slow, dead or hostile costs readings, which are counted, and
//! nothing else.
//!
//! Nothing here computes a statistic: numbers are sent as they are in the result. Nothing secret leaves through an error
//! or a result: places are only ever shown without credentials, query and header fields.

pub mod encode;
mod exporter;
#[cfg(test)]
mod fuzz;
mod gather;
pub mod names;
pub mod place;
mod queue;
pub mod reading;
mod send;
mod tally;

pub use exporter::{Exporters, FLUSH_TIME};
pub use gather::Readings;
pub use place::{Place, PlaceError};
pub use send::OpenError;
