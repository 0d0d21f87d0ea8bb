//! Who is there, asked by a new cluster leader: the jobs of every manager that does not answer in time are granted anew.
//!
//! Job leadership is fenced, so nobody waits for its lease: two who believe to lead a job have different tokens. The new
//! leader's predecessor is asked like everybody else.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

/// How long managers may take to answer, from the leader's first commit.
pub const ROLL_CALL: Duration = Duration::from_millis(500);

/// One roll call.
#[derive(Clone, Debug)]
pub struct RollCall {
    ends: Now,
    silent: BTreeSet<NodeId>,
}

impl RollCall {
    /// Begins at the leader's first commit, with everybody who leads a job.
    pub fn begin(now: Now, managers: impl IntoIterator<Item = NodeId>) -> Self {
        Self { ends: now.plus(ROLL_CALL), silent: managers.into_iter().collect() }
    }

    /// A manager answered.
    pub fn answered(&mut self, manager: NodeId) {
        self.silent.remove(&manager);
    }

    /// When it ends.
    pub fn ends(&self) -> Now {
        self.ends
    }

    /// Whose jobs are granted anew; `None` while it is not over.
    pub fn silent(&self, now: Now) -> Option<&BTreeSet<NodeId>> {
        (now >= self.ends).then_some(&self.silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_that_do_not_answer_within_half_a_second_are_named() {
        let node = |number| NodeId::new(number).unwrap();
        let at = |ms| Now::after_start(Duration::from_millis(ms));
        let mut call = RollCall::begin(at(1000), [node(1), node(2), node(3)]);
        call.answered(node(2));
        assert_eq!(call.silent(at(1499)), None);
        assert_eq!(call.silent(at(1500)), Some(&BTreeSet::from([node(1), node(3)])));
    }
}
