//! Deliberate bugs of merging: claims that are believed, or not, against the order of claims, and what is kept of earlier ones.

use crate::claim::{Claim, Status};
use crate::machine::Swim;
use crate::suspicion::Suspicion;
use crate::table::Slot;

impl Swim {
    /// Whether a claim is believed that the order of claims would believe, or not.
    pub(super) fn believes_with_bugs(&self, heard: Claim, stored: Claim, is_newer: bool) -> bool {
        (is_newer || self.believes_older(heard, stored)) && !self.ignores(heard, stored)
    }

    /// Puts the suspicion of a member back that leaves.
    pub(super) fn keep_suspicion_of_left(&mut self, slot: Slot, former: Option<&Suspicion>, now: Status) {
        if let Some(former) = former.filter(|_| now == Status::Left && bug!(self.config, KeepSuspicionOfLeft))
        {
            self.suspicions.insert(slot, former.clone());
        }
    }

    fn believes_older(&self, heard: Claim, stored: Claim) -> bool {
        let is_older = heard.boot == stored.boot && heard.incarnation < stored.incarnation;
        let accused = heard.status == Status::Suspect && stored.status == Status::Alive;
        let killed = heard.status == Status::Dead && stored.status.is_live();
        is_older
            && (accused && bug!(self.config, AcceptStaleIncarnation)
                || killed && bug!(self.config, DeadBeatsNewerAlive))
    }

    fn ignores(&self, heard: Claim, stored: Claim) -> bool {
        let same_life = heard.boot == stored.boot;
        let refuted = heard.status == Status::Alive && stored.status == Status::Suspect;
        let dead_again = heard.status == Status::Dead && stored.status == Status::Dead;
        same_life
            && (refuted && bug!(self.config, IgnoreRefutation)
                || dead_again && bug!(self.config, DeadNotRaised))
    }
}
