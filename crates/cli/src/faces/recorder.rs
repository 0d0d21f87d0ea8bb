//! The face behind `--record FILE`: every event becomes a line of a file, see [`crate::recording`].

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use hyperscale_engine::Event;

use super::Face;
use crate::errors::CommandError;
use crate::recording::{self, Header};

/// Writes the recording of one run.
pub(crate) struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
    began: Instant,
    failed: Option<io::Error>,
}

impl Recorder {
    /// Opens the file before any load is made; what was in it is gone.
    pub(crate) fn create(path: &Path) -> Result<Self, CommandError> {
        let unwritable = |source| CommandError::Unwritable { path: path.to_owned(), source };
        let file = BufWriter::new(File::create(path).map_err(unwritable)?);
        Ok(Self { path: path.to_owned(), file, began: Instant::now(), failed: None })
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        if let Event::Started(started) = event {
            recording::write_header(&mut self.file, &Header::of(started))?;
        }
        recording::write_event(&mut self.file, self.began.elapsed().as_secs_f64(), event)?;
        // Whoever reads along, or after a crash, sees whole seconds.
        self.file.flush()
    }
}

impl Face for Recorder {
    fn event(&mut self, event: &Event) {
        if self.failed.is_none() {
            self.failed = self.write(event).err();
        }
    }

    fn close(self: Box<Self>) -> Result<(), CommandError> {
        match self.failed {
            None => Ok(()),
            Some(source) => Err(CommandError::Unwritable { path: self.path, source }),
        }
    }
}
