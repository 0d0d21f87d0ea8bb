//! Faults that target the current leader of a group, at a random moment or right after an event such as its election.

use std::time::Duration;

use super::{Draw, Fault};
use crate::moment::Moment;
use crate::process::Crash;

/// At which moment of its leadership a leader is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderMoment {
    /// When the fault comes, whatever it does then.
    Any,
    /// At the next election.
    Elected,
    /// The next time that the leader has entered a joint configuration.
    JointChange,
    /// The next time that the leader sends a snapshot.
    Snapshot,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderTrouble {
    /// It dies, and is started again after this time.
    Crash {
        /// Process or machine.
        how: Crash,
        /// When it comes back.
        back: Duration,
    },
    /// Its process is stopped for so long.
    Pause(Duration),
    /// Its disk does not answer for so long.
    Stall(Duration),
    /// It is cut off from all others for so long.
    CutOff {
        /// Under this number among the cuts.
        number: u32,
        /// For so long.
        span: Duration,
    },
}

const MOMENTS: [LeaderMoment; 4] =
    [LeaderMoment::Any, LeaderMoment::Elected, LeaderMoment::JointChange, LeaderMoment::Snapshot];

impl Draw<'_> {
    /// Every group is hit a few times; a moment that never comes hits nobody.
    pub(super) fn leader_faults(&mut self) {
        let clusters = self.voter_sets().into_iter().map(|set| self.roles[set[0]].1).collect::<Vec<_>>();
        for cluster in clusters {
            for _ in 0..self.rng.usize(2..=5) {
                let (at, when) = (self.moment(), MOMENTS[self.rng.usize(..MOMENTS.len())]);
                let (trouble, until) = (self.leader_trouble(), Moment::ZERO.plus(self.until));
                self.add(at, Fault::HitLeader { cluster, when, trouble, until });
            }
        }
    }

    fn leader_trouble(&mut self) -> LeaderTrouble {
        match self.rng.u8(..4) {
            0 => {
                let how = if self.rng.bool() { Crash::Process } else { Crash::Machine };
                LeaderTrouble::Crash { how, back: self.seconds(0.2, 10.0) }
            }
            1 => LeaderTrouble::Pause(self.seconds(0.5, 20.0)),
            2 => LeaderTrouble::Stall(self.seconds(0.2, 8.0)),
            _ => {
                self.cuts += 1;
                LeaderTrouble::CutOff { number: self.cuts, span: self.seconds(1.0, 30.0) }
            }
        }
    }
}
