//! Data files: rows that are handed to iterations.
//!
//! ```text
//! DataFile (shared by all cores) ─ bytes, offset of every 1 024th row ─┐
//! Cursor (one per core) ─ Order: which row comes next ─────────────────┴─► row as a value
//! ```
//! A file is opened once, checked from end to end in one pass (so that nothing in it can surprise a run) and never
//! copied per virtual user. Between two index entries rows are found by splitting the block; a [`Cursor`] remembers
//! the blocks it has split, so that reading on costs nothing and jumping around soon does not either.
//!
//! A file must not change while a run uses it. See [`bytes`] for what happens when it does.

mod bytes;
mod csv;
mod cursor;
mod error;
mod files;
mod json_lines;
mod lines;

use std::ops::Range;
use std::sync::Arc;

use hyperscale_plan::model::{DataFormat, DataSource};
use minijinja::Value;

pub use cursor::{Cursor, share};
pub use error::{DataError, Problem};
pub(crate) use files::warnings;
pub use files::{Files, check, limit_vus, open};

use bytes::Bytes;
use csv::Columns;
use error::Fault;

/// Rows between two entries of the index.
pub const ROWS_PER_BLOCK: u64 = 1024;
/// Bytes of one row; a longer one is refused. Usually it is a quote that nobody closed.
pub const ROW_BYTES_MAX: usize = 1 << 20;
/// The mark that some programs put in front of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// Columns of a CSV file.
pub const COLUMNS_MAX: usize = 1024;

/// A checked data file.
#[derive(Debug)]
pub struct DataFile {
    bytes: Bytes,
    format: Format,
    index: Index,
}

#[derive(Debug)]
enum Format {
    Csv { delimiter: u8, columns: Arc<Columns> },
    JsonLines,
}

/// Where rows are.
#[derive(Debug, Default)]
struct Index {
    /// Offset of every [`ROWS_PER_BLOCK`]th row.
    blocks: Vec<usize>,
    rows: u64,
}

impl Index {
    /// Notes the next row.
    fn push(&mut self, offset: usize) {
        if self.rows.is_multiple_of(ROWS_PER_BLOCK) {
            self.blocks.push(offset);
        }
        self.rows += 1;
    }
}

impl DataFile {
    /// Opens a file and checks all of it.
    pub fn open(source: &DataSource) -> Result<DataFile, DataError> {
        let bytes = Bytes::open(&source.path)
            .map_err(|error| DataError::new(&source.path, None, Problem::Io(error.to_string())))?;
        DataFile::check(bytes, source.format)
            .map_err(|(bytes, fault)| DataError::new(&source.path, fault.line(&bytes), fault.problem))
    }

    fn check(bytes: Bytes, format: DataFormat) -> Result<DataFile, (Bytes, Fault)> {
        let scanned = check_text(&bytes).and_then(|()| match format {
            DataFormat::Csv { delimiter } => {
                let (columns, index) = csv::scan(&bytes, delimiter)?;
                Ok((Format::Csv { delimiter, columns: Arc::new(columns) }, index))
            }
            DataFormat::JsonLines => Ok((Format::JsonLines, json_lines::scan(&bytes)?)),
        });
        match scanned {
            Err(fault) => Err((bytes, fault)),
            Ok((_, index)) if index.rows == 0 => Err((bytes, Fault::file(Problem::NoRows))),
            Ok((format, index)) => Ok(DataFile { bytes, format, index }),
        }
    }

    /// How many rows it has; at least one.
    pub fn rows(&self) -> u64 {
        self.index.rows
    }

    /// The names of the columns; none for JSON lines, where every row has its own.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let columns = match &self.format {
            Format::Csv { columns, .. } => Some(columns.names()),
            Format::JsonLines => None,
        };
        columns.into_iter().flatten()
    }

    /// The bytes of a block.
    fn block(&self, block: usize) -> Range<usize> {
        let end = self.index.blocks.get(block + 1).copied().unwrap_or(self.bytes.len());
        self.index.blocks[block]..end
    }

    /// Where the rows of a block begin, counted from its first byte.
    fn split(&self, block: usize) -> Box<[u32]> {
        let bytes = &self.bytes[self.block(block)];
        match self.format {
            Format::Csv { delimiter, .. } => csv::split(bytes, delimiter),
            Format::JsonLines => json_lines::split(bytes),
        }
    }

    /// A row from its bytes. A file that was changed after it was checked may give an undefined value.
    fn read(&self, row: &[u8]) -> Value {
        match &self.format {
            Format::Csv { delimiter, columns } => csv::read(row, *delimiter, columns),
            Format::JsonLines => json_lines::read(row),
        }
    }
}

fn check_text(bytes: &[u8]) -> Result<(), Fault> {
    if bytes.is_empty() {
        return Err(Fault::file(Problem::Empty));
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err(Fault::at(error.valid_up_to(), Problem::NotUtf8)),
    }
}

#[cfg(test)]
mod tests;
