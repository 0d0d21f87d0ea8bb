//! Exit codes of the command line; scripts rely on them.

/// What the process tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// All went well.
    Ok = 0,
    /// Something went wrong that has no code of its own.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The plan is invalid.
    PlanInvalid = 3,
    /// Nothing answered.
    Unreachable = 4,
    /// The server refused.
    Refused = 5,
    /// Cancelled, for example with Ctrl-C.
    Cancelled = 97,
    /// The run failed, succeeded in part, or timed out.
    Failed = 98,
    /// A threshold failed. Wins over [`ExitCode::Failed`] and [`ExitCode::Cancelled`].
    Thresholds = 99,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        std::process::ExitCode::from(code as u8)
    }
}
