//! Why a data file cannot be used.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{COLUMNS_MAX, ROW_BYTES_MAX};

/// A data file that cannot be used. The file must change; nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct DataError {
    /// Which file.
    pub file: PathBuf,
    /// In which line, from 1, if it is about one.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
}

impl DataError {
    pub(super) fn new(file: &Path, line: Option<u64>, problem: Problem) -> Self {
        DataError { file: file.to_owned(), line, problem }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.problem)
    }
}

/// What is wrong with a data file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// It cannot be read.
    #[error("{0}")]
    Io(String),
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// There is a header but no row, or nothing but empty lines.
    #[error("the file has no rows")]
    NoRows,
    /// A byte that is not text.
    #[error("not UTF-8")]
    NotUtf8,
    /// A row with more or fewer fields than the header.
    #[error("{found} fields, but the header has {expected}")]
    Ragged {
        /// In the header.
        expected: usize,
        /// In the row.
        found: usize,
    },
    /// A quoted field that goes on to the end of the file.
    #[error("a quoted field that begins here never ends")]
    UnclosedQuote,
    /// A column without a name.
    #[error("column {0} has no name")]
    UnnamedColumn(usize),
    /// Two columns of the same name.
    #[error("two columns are named `{0}`")]
    DuplicateColumn(String),
    /// More columns than are allowed.
    #[error("more than {COLUMNS_MAX} columns")]
    TooManyColumns,
    /// A longer row than is allowed.
    #[error("a row longer than {ROW_BYTES_MAX} bytes (is a quote not closed?)")]
    RowTooLong,
    /// A line that is not JSON.
    #[error("{0}")]
    Json(String),
    /// A line of JSON that is not an object.
    #[error("not a JSON object")]
    NotAnObject,
}

/// A problem at an offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    offset: Option<usize>,
    pub(super) problem: Problem,
}

impl Fault {
    /// About the row or byte at an offset. Line ends in front of it still count to the line before.
    pub(super) fn at(offset: usize, problem: Problem) -> Self {
        Fault { offset: Some(offset), problem }
    }

    /// About the file as a whole.
    pub(super) fn file(problem: Problem) -> Self {
        Fault { offset: None, problem }
    }

    /// The line in the file, from 1.
    pub(super) fn line(&self, bytes: &[u8]) -> Option<u64> {
        let offset = self.offset?;
        let ends = bytes[offset..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        Some(1 + memchr::memchr_iter(b'\n', &bytes[..offset + ends]).count() as u64)
    }
}
