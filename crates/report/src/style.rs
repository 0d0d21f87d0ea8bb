//! Colours, or none. Colour only repeats what words and signs say, so that plain text loses nothing.

use hyperscale_stats::result::Status;

/// How text is decorated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences: files, pipes, `NO_COLOR`.
    #[default]
    Plain,
    /// ANSI colours of the terminal's own palette, readable on light and dark backgrounds.
    Ansi,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    #[default]
    Normal,
    Title,
    Dim,
    Good,
    Warning,
    Bad,
}

impl Style {
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        let code = match role {
            Role::Normal => "",
            Role::Title => "1",
            Role::Dim => "2",
            Role::Good => "32",
            Role::Warning => "33",
            Role::Bad => "31",
        };
        if self == Style::Plain || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

impl Role {
    pub(crate) fn of_status(status: Status) -> Self {
        match status {
            Status::Completed => Role::Good,
            Status::Failed => Role::Bad,
            Status::Partial | Status::Cancelled | Status::Skipped | Status::TimedOut => Role::Warning,
            _ => Role::Normal,
        }
    }

    /// Of a number that should be zero.
    pub(crate) fn of_failures(n: u64) -> Self {
        if n == 0 { Role::Normal } else { Role::Bad }
    }
}
