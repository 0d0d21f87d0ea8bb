//! Deliberate bugs, to prove that the simulator has teeth. Compiled only with the feature `bugs`, which no product uses.
//!
//! A set of them is part of the configuration; nothing is global. Each stands for a rule of this crate that is broken, and
//! must be caught by an invariant of the simulator.

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Bug {
    /// Every accusation that is heard again restarts the suspicion's timer.
    RestartSuspicion,
    /// A member is dead as soon as it is suspected.
    ShortSuspicion,
    /// An accusation of an older incarnation is believed.
    AcceptStaleIncarnation,
    /// A death of an older incarnation beats a newer life.
    DeadBeatsNewerAlive,
    /// A newer death of somebody already dead is not recorded.
    DeadNotRaised,
    /// A contradiction does not end a suspicion.
    IgnoreRefutation,
    /// The suspicion of a member that leaves is kept.
    KeepSuspicionOfLeft,
    /// A contradiction does not raise the incarnation.
    RefuteWithoutRaising,
    /// A failed probe makes the node think itself ill though helpers nacked: it counts the nacks as missing.
    NacksRaiseHealth,
    /// Helpers never nack.
    NoNacks,
    /// Hearsay confirms a peer.
    GossipConfirms,
    /// Probes do not carry the accusation against their target.
    ForgetBuddy,
    /// Updates are gossiped only once.
    TransmitOnce,
    /// Views are never compared.
    NoAntiEntropy,
    /// Who died is not remembered once forgotten.
    ForgottenTombs,
    /// A leave fires the event of a death.
    LeftFiresDied,
    /// Deaths learned by gossip fire no event.
    SilentGossipDeath,
    /// Old versions of embedded state are accepted.
    StaleEmbedded,
    /// Old versions of worker state are accepted.
    StaleWorkerVersion,
    /// A manager is active before it has the worker lists of its peers.
    ActiveBeforeLists,
    /// Updates that wait to be gossiped are never dropped.
    UpdatesWithoutLimit,
    /// Clusters are given up while judgement is held.
    JudgeWhileHeld,
    /// A cluster that was given up stays so, whatever it answers.
    UnreachableForEver,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 23] = [
        Bug::RestartSuspicion,
        Bug::ShortSuspicion,
        Bug::AcceptStaleIncarnation,
        Bug::DeadBeatsNewerAlive,
        Bug::DeadNotRaised,
        Bug::IgnoreRefutation,
        Bug::KeepSuspicionOfLeft,
        Bug::RefuteWithoutRaising,
        Bug::NacksRaiseHealth,
        Bug::NoNacks,
        Bug::GossipConfirms,
        Bug::ForgetBuddy,
        Bug::TransmitOnce,
        Bug::NoAntiEntropy,
        Bug::ForgottenTombs,
        Bug::LeftFiresDied,
        Bug::SilentGossipDeath,
        Bug::StaleEmbedded,
        Bug::StaleWorkerVersion,
        Bug::ActiveBeforeLists,
        Bug::UpdatesWithoutLimit,
        Bug::JudgeWhileHeld,
        Bug::UnreachableForEver,
    ];
}

/// A set of deliberate bugs; empty unless somebody puts one in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bugs(u32);

impl Bugs {
    /// No bug.
    pub const NONE: Bugs = Bugs(0);

    /// This one alone.
    pub fn one(bug: Bug) -> Self {
        Self(1 << bug as u8)
    }

    /// Whether it is in.
    pub fn has(self, bug: Bug) -> bool {
        self.0 & (1 << bug as u8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        for bug in Bug::ALL {
            assert!(Bug::ALL.iter().all(|other| Bugs::one(bug).has(*other) == (bug == *other)));
            assert!(!Bugs::NONE.has(bug));
        }
    }
}
