//! Why a script has no result.

use std::fmt;
use std::time::Duration;

/// A place in a script, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a script has no result. All but [`ScriptError::Stopped`] would happen again with the same arguments, unless the script asks for the
/// time or for randomness.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It is not JavaScript.
    #[error("{}{message}", at(*.position))]
    Syntax {
        /// What the engine says.
        message: String,
        /// Where.
        position: Option<Position>,
    },
    /// It threw something and did not catch it.
    #[error("{}{message}", at(*.position))]
    Thrown {
        /// Name and message of the error, or what was thrown.
        message: String,
        /// Where.
        position: Option<Position>,
    },
    /// It used up its time.
    #[error("it ran for longer than {0:?}")]
    OutOfTime(Duration),
    /// It used up its memory.
    #[error("it needs more than {} MiB of memory", .0 >> 20)]
    OutOfMemory(usize),
    /// What it returned is no JSON, such as a function or a promise that is never kept.
    #[error("it returned {0}, which is no JSON")]
    NoJson(String),
    /// What it returned is too large.
    #[error("its result has {bytes} bytes; at most {max} are kept")]
    TooLarge {
        /// Bytes of the JSON text.
        bytes: usize,
        /// What is allowed.
        max: usize,
    },
    /// It was stopped from outside.
    #[error("it was stopped")]
    Stopped,
    /// The engine could not be set up.
    #[error("the script engine failed: {0}")]
    Engine(String),
}

fn at(position: Option<Position>) -> String {
    position.map_or_else(String::new, |position| format!("{position}: "))
}
