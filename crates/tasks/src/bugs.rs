//! Deliberate bugs: each must be caught by a test. Compiled only with the feature `bugs`; the set is handed in with the options
//! of a store.

use std::collections::BTreeSet;

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bug {
    /// A lease is consumed by its task, whatever its fence.
    FinishWithoutFence,
    /// A lease is given back by its task, whatever its fence.
    ReleaseWithoutFence,
    /// A lease is renewed beyond its deadline.
    RenewBeyondDeadline,
    /// The sweep does not ask whether its leader still leads.
    SweepWithoutEpoch,
    /// The sweep takes what looked expired, though it was renewed after the look. PostgreSQL only: SQLite has one writer.
    SweepUnlocked,
    /// A leadership is renewed by the name of its node.
    RenewLeaderByName,
    /// A schedule fires whatever its next fire is.
    FireWithoutCompare,
    /// A failed optional dependency is waited for.
    WaitForFailedOptional,
    /// An effect that was finished under another lease is begun again.
    EffectPerLease,
}

/// The deliberate bugs that are switched on.
#[derive(Clone, Debug, Default)]
pub struct Bugs(BTreeSet<Bug>);

impl Bugs {
    /// Whether a bug is on.
    pub fn has(&self, bug: Bug) -> bool {
        self.0.contains(&bug)
    }
}

impl FromIterator<Bug> for Bugs {
    fn from_iter<T: IntoIterator<Item = Bug>>(bugs: T) -> Self {
        Self(bugs.into_iter().collect())
    }
}
