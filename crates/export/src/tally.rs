//! What became of the readings of one exporter. The thread that sends writes it, everybody may look.

use std::sync::{Mutex, PoisonError};

use hyperscale_stats::result::ExportResult;

/// Bytes of a reason that are kept.
const REASON_MAX: usize = 300;

/// Counts of one exporter.
#[derive(Debug)]
pub(crate) struct Tally(Mutex<ExportResult>);

impl Tally {
    /// Nothing has happened yet.
    pub(crate) fn new(kind: &str, target: &str) -> Self {
        let (kind, target) = (kind.to_owned(), target.to_owned());
        Self(Mutex::new(ExportResult { kind, target, sent: 0, lost: 0, error: None }))
    }

    /// One more was delivered.
    pub(crate) fn sent(&self) {
        self.with(|result| result.sent += 1);
    }

    /// So many more were not, and why.
    pub(crate) fn lost(&self, count: u64, why: &str) {
        if count > 0 {
            let why: String = why.chars().map(hyperscale_types::shown).collect();
            let end = why.floor_char_boundary(REASON_MAX);
            self.with(|result| {
                result.lost += count;
                result.error = Some(why[..end].to_owned());
            });
        }
    }

    /// The counts so far.
    pub(crate) fn get(&self) -> ExportResult {
        self.with(|result| result.clone())
    }

    fn with<T>(&self, look: impl FnOnce(&mut ExportResult) -> T) -> T {
        // Whoever panicked had only counted.
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
