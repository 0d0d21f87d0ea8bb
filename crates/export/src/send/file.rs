//! Readings as rows of a file. Every reading is flushed, so that whoever reads along sees whole seconds.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::encode::csv;
use crate::reading::Reading;

/// A file that grows.
pub(crate) struct FileSink {
    file: File,
}

impl FileSink {
    /// Makes the file with its first line; what was in it is gone.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(csv::HEADER.as_bytes())?;
        Ok(Self { file })
    }

    /// Appends the rows of a reading.
    pub(super) fn send(&mut self, reading: &Reading) -> Result<(), String> {
        let rows = csv::encode(reading);
        self.file
            .write_all(rows.as_bytes())
            .and_then(|()| self.file.flush())
            .map_err(|error| error.to_string())
    }
}
