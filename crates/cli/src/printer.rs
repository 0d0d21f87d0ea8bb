//! Where words go: data to stdout, everything else to stderr.
//!
//! Commands hand whole texts over; nobody else in this crate writes to the standard streams. A reader that closed
//! stdout has what it wanted, so a broken pipe is no error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::settings::Output;

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const RESET: &str = "\x1b[0m";

/// Prints for one invocation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    quiet: bool,
    color_out: bool,
    color_err: bool,
}

impl Printer {
    /// Colours only where a terminal shows them.
    pub(crate) fn new(output: Output) -> Self {
        Self {
            quiet: output.quiet,
            color_out: output.color && io::stdout().is_terminal(),
            color_err: output.color && io::stderr().is_terminal(),
        }
    }

    /// Before any settings are known.
    pub(crate) fn plain() -> Self {
        Self { quiet: false, color_out: false, color_err: false }
    }

    /// Whether texts for stdout may have colours.
    pub(crate) fn color_out(self) -> bool {
        self.color_out
    }

    /// Data: exactly this text, which ends its own lines.
    #[expect(clippy::unused_self, reason = "printing goes through a printer, whatever it needs for it")]
    pub(crate) fn data(self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Data as one line of JSON.
    pub(crate) fn json(self, value: &impl Serialize) -> io::Result<()> {
        self.data(&format!("{}\n", serde_json::to_string(value)?))
    }

    /// Progress and notes; silent when asked to be quiet.
    pub(crate) fn note(self, text: impl Display) {
        if !self.quiet {
            Self::to_stderr(&format!("{text}\n"));
        }
    }

    /// Something the person should know before trusting a number.
    pub(crate) fn warning(self, text: impl Display) {
        let (on, off) = self.paint(YELLOW);
        Self::to_stderr(&format!("{on}warning:{off} {text}\n"));
    }

    /// Why the command failed: what, why, what to do.
    pub(crate) fn error(self, what: impl Display, why: impl Display, fix: impl Display) {
        let (on, off) = self.paint(RED);
        Self::to_stderr(&format!("{on}error:{off} {what}\n  why: {why}\n  fix: {fix}\n"));
    }

    /// A text that is laid out already, such as the problems of a plan.
    #[expect(clippy::unused_self, reason = "printing goes through a printer, whatever it needs for it")]
    pub(crate) fn verbatim(self, text: &str) {
        Self::to_stderr(text);
    }

    fn paint(self, color: &'static str) -> (&'static str, &'static str) {
        if self.color_err { (color, RESET) } else { ("", "") }
    }

    fn to_stderr(text: &str) {
        // Nobody is left to be told that stderr is closed.
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }
}
