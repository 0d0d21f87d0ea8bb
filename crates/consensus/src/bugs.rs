//! Deliberate bugs, for the simulator's teeth: each must be caught by an invariant. Compiled only with the feature `bugs`.

use std::collections::BTreeSet;

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bug {
    /// Messages leave before the term, vote and entries they depend on are on disk.
    SkipSyncBeforeVote,
}

/// The bugs that are switched on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bugs(BTreeSet<Bug>);

impl Bugs {
    /// Whether this one is.
    pub fn has(&self, bug: Bug) -> bool {
        self.0.contains(&bug)
    }
}

impl FromIterator<Bug> for Bugs {
    fn from_iter<I: IntoIterator<Item = Bug>>(bugs: I) -> Self {
        Self(bugs.into_iter().collect())
    }
}
