//! The states of one probe round. Pure: who is asked and what is sent is decided outside.

use hyperscale_types::NodeId;

/// A member asked to probe the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Helper {
    pub(crate) node: NodeId,
    pub(crate) nacked: bool,
}

/// Where the round is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Nobody is being probed.
    Idle,
    /// Waiting for the target's ack.
    Direct { seq: u32, target: NodeId },
    /// Waiting for an ack from the target, a helper or the stream.
    Indirect { seq: u32, target: NodeId, helpers: Vec<Helper> },
    /// Answered in time.
    Answered,
}

/// How a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There was none.
    None,
    /// The target is there.
    Answered,
    /// Nothing came back; these helpers owe a nack.
    Failed { target: NodeId, silent: Vec<NodeId> },
}

impl Round {
    /// An ack arrived; true if it answers this round.
    pub(crate) fn ack(&mut self, acked: u32, from: NodeId) -> bool {
        let answers = match self {
            Round::Direct { seq, target } => *seq == acked && *target == from,
            Round::Indirect { seq, target, helpers } => {
                *seq == acked && (*target == from || helpers.iter().any(|helper| helper.node == from))
            }
            Round::Idle | Round::Answered => false,
        };
        if answers {
            *self = Round::Answered;
        }
        answers
    }

    /// A nack arrived.
    pub(crate) fn nack(&mut self, nacked: u32, from: NodeId) {
        if let Round::Indirect { seq, helpers, .. } = self
            && *seq == nacked
            && let Some(helper) = helpers.iter_mut().find(|helper| helper.node == from)
        {
            helper.nacked = true;
        }
    }

    /// The direct probe was not answered in time: whom to ask about, or nothing if this is no longer that round.
    pub(crate) fn timeout(&mut self, timed_out: u32) -> Option<NodeId> {
        match *self {
            Round::Direct { seq, target } if seq == timed_out => {
                *self = Round::Indirect { seq, target, helpers: Vec::new() };
                Some(target)
            }
            _ => None,
        }
    }

    /// Notes whom the question went to.
    pub(crate) fn asked(&mut self, node: NodeId) {
        if let Round::Indirect { helpers, .. } = self {
            helpers.push(Helper { node, nacked: false });
        }
    }

    /// A newer life of this node is known: if it is the target, the probe went to one that is over and says nothing.
    pub(crate) fn abandon(&mut self, reborn: NodeId) {
        if matches!(self, Round::Direct { target, .. } | Round::Indirect { target, .. } if *target == reborn)
        {
            *self = Round::Idle;
        }
    }

    /// The period is over.
    pub(crate) fn end(&mut self) -> Outcome {
        match std::mem::replace(self, Round::Idle) {
            Round::Idle => Outcome::None,
            Round::Answered => Outcome::Answered,
            Round::Direct { target, .. } => Outcome::Failed { target, silent: Vec::new() },
            Round::Indirect { target, helpers, .. } => {
                let silent =
                    helpers.iter().filter(|helper| !helper.nacked).map(|helper| helper.node).collect();
                Outcome::Failed { target, silent }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn direct() -> Round {
        Round::Direct { seq: 7, target: node(1) }
    }

    fn indirect() -> Round {
        let mut round = direct();
        round.timeout(7);
        for number in [2, 3, 4] {
            round.asked(node(number));
        }
        round
    }

    #[test]
    fn transition_table_of_the_module_holds() {
        let states = [Round::Idle, direct(), indirect(), Round::Answered];
        let after_ack = states.clone().map(|mut round| (round.ack(7, node(1)), round));
        assert_eq!(
            after_ack,
            [
                (false, Round::Idle),
                (true, Round::Answered),
                (true, Round::Answered),
                (false, Round::Answered)
            ]
        );
        let after_timeout = states.clone().map(|mut round| round.timeout(7));
        assert_eq!(after_timeout, [None, Some(node(1)), None, None]);
        let failed = |silent: &[u64]| Outcome::Failed {
            target: node(1),
            silent: silent.iter().map(|number| node(*number)).collect(),
        };
        let after_end = states.map(|mut round| round.end());
        assert_eq!(after_end, [Outcome::None, failed(&[]), failed(&[2, 3, 4]), Outcome::Answered]);
    }

    #[test]
    fn helper_that_nacks_owes_nothing() {
        let mut round = indirect();
        round.nack(7, node(3));
        round.nack(7, node(9));
        assert_eq!(round.end(), Outcome::Failed { target: node(1), silent: vec![node(2), node(4)] });
    }

    #[test]
    fn round_ends_without_a_verdict_when_its_target_lives_anew() {
        for mut round in [direct(), indirect()] {
            round.abandon(node(2));
            assert!(matches!(round.clone().end(), Outcome::Failed { .. }));
            round.abandon(node(1));
            assert_eq!(round.end(), Outcome::None);
        }
        let mut round = Round::Answered;
        round.abandon(node(1));
        assert_eq!(round, Round::Answered);
    }

    #[test]
    fn answers_of_another_round_are_ignored() {
        let mut round = indirect();
        assert!(!round.ack(6, node(1)));
        round.nack(6, node(2));
        assert_eq!(round, indirect());
        assert_eq!(direct().timeout(6), None);
    }

    #[test]
    fn ack_counts_from_target_and_helpers_only() {
        assert!(!direct().ack(7, node(2)));
        assert!(indirect().ack(7, node(2)));
        assert!(!indirect().ack(7, node(5)));
    }
}
