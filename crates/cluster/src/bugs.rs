//! Deliberate bugs, for the simulator's teeth: each must be caught by an invariant. Compiled only with the feature `bugs`; the set
//! is handed in with the options of a manager or a worker. A bug of the log that lives in what they use comes with it.

use std::collections::BTreeSet;

use hyperscale_consensus::bugs as consensus;

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bug {
    /// Worker: what an attempt left is forgotten once it was told, whether it is committed or not.
    DropOutboxEarly,
    /// Worker: settled attempts are forgotten at once, so that a late dispatch starts one again.
    ForgetSettled,
    /// Worker: a dispatch of another grant is taken.
    TakeAnyGrant,
    /// Worker: load may be sent for ten seconds after the lease has ended.
    OutliveLease,
    /// Manager: what an attempt left is confirmed when it is heard, before it is committed.
    ConfirmBeforeCommit,
    /// Manager: an attempt is lost when membership takes its worker for dead, before its lease has ended.
    LoseAttemptOnDeath,
    /// Manager: a leader that takes a job over does not look for cancels of the time before.
    LoseCancelAtTakeover,
    /// Manager: a leader that takes a job over restarts its clock.
    RestartTimeoutAtTakeover,
    /// Manager: a leader that takes a job over does not count what ended attempts left.
    ForgetResultsAtTakeover,
    /// Manager: every window that is told counts twice.
    CountWindowsTwice,
    /// Manager: a result does not say what is missing in it.
    HideLoss,
    /// Manager: a job whose leader is gone stays with it.
    NoTakeover,
    /// Manager: workers in the exclusion set of a segment are given it again.
    ForgetExclusion,
    /// Manager: an attempt that its worker has refused is dispatched to it for ever.
    IgnoreRefusal,
    /// Manager: what an attempt measured counts though its segment runs again from the beginning.
    KeepDiscarded,
    /// Manager: a segment that is resumed begins its load curve again.
    ResumeFromZero,
    /// Manager: a leader that takes a job over does not count what the windows of lost attempts said.
    ForgetWindowsAtTakeover,
    /// Manager: the end that an attempt says after it was lost counts beside its windows.
    CountEndOfLost,
    /// Worker: a directive that was overtaken by a newer one is obeyed.
    ObeyOvertaken,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 19] = [
        Bug::DropOutboxEarly,
        Bug::ForgetSettled,
        Bug::TakeAnyGrant,
        Bug::OutliveLease,
        Bug::ConfirmBeforeCommit,
        Bug::LoseAttemptOnDeath,
        Bug::LoseCancelAtTakeover,
        Bug::RestartTimeoutAtTakeover,
        Bug::ForgetResultsAtTakeover,
        Bug::CountWindowsTwice,
        Bug::HideLoss,
        Bug::NoTakeover,
        Bug::ForgetExclusion,
        Bug::IgnoreRefusal,
        Bug::KeepDiscarded,
        Bug::ResumeFromZero,
        Bug::ForgetWindowsAtTakeover,
        Bug::CountEndOfLost,
        Bug::ObeyOvertaken,
    ];
}

/// The bugs that are switched on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bugs {
    own: BTreeSet<Bug>,
    /// Those of the log.
    pub consensus: consensus::Bugs,
}

impl Bugs {
    /// These, and those of the log.
    pub fn new(own: impl IntoIterator<Item = Bug>, consensus: consensus::Bugs) -> Self {
        Self { own: own.into_iter().collect(), consensus }
    }

    /// Whether a job leader asks for the next attempt of a segment as soon as membership declares its worker dead. No correct leader
    /// does, so a register that assigns it while one is running would go unnoticed.
    pub fn is_impatient(&self) -> bool {
        self.consensus.has(consensus::Bug::AssignWhileRunning)
    }

    /// Whether this one is.
    pub fn has(&self, bug: Bug) -> bool {
        self.own.contains(&bug)
    }
}
