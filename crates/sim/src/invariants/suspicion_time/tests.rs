//! The judge of suspicions, shown what no core would do.

use hyperscale_swim::{Incarnation, Witnesses};
use hyperscale_types::{BootEpoch, Role};

use super::*;
use crate::invariants::scene::Scene;
use crate::world::id_of;
use crate::world::node::peer_of;

/// The first of several nodes, who suspects the second.
struct Court {
    scene: Scene,
    judge: SuspicionTime,
}

impl Court {
    /// Everybody is known; T = 1 s, so the minimum is 3 s among up to ten.
    fn of(members: usize) -> Self {
        let (scene, judge) = (Scene::of(&vec![0; members]), SuspicionTime::default());
        let mut court = Self { scene, judge };
        court.ask(0, What::Handled).unwrap();
        court
    }

    fn ask(&mut self, second: u64, what: What<'_>) -> Verdict {
        self.scene.ask(&mut self.judge, 0, second, what)
    }

    fn changes(&mut self, second: u64, before: Claim, after: Claim, cause: Cause, accusers: u64) -> Verdict {
        let at = self.scene.clock.read(Moment::seconds(second));
        let witnesses: Witnesses = (2..2 + accusers).map(|index| id_of(index as usize)).collect();
        let entry =
            AuditEntry { at, node: id_of(1), before: Some(before), after: Some(after), cause, witnesses };
        self.ask(second, What::Transition(&entry))?;
        self.ask(second, What::Handled)
    }

    fn suspected(&mut self, second: u64, incarnation: u32) {
        let before = claim(incarnation, if incarnation > 0 { Status::Suspect } else { Status::Alive });
        self.changes(second, before, claim(incarnation, Status::Suspect), Cause::ProbeFailed, 1).unwrap();
    }

    fn dies(&mut self, second: u64, incarnation: u32, accusers: u64) -> Verdict {
        let (before, after) = (claim(incarnation, Status::Suspect), claim(incarnation, Status::Dead));
        self.changes(second, before, after, Cause::SuspicionExpired, accusers)
    }

    fn is_listed_as_dead(&mut self, second: u64, incarnation: u32) {
        let peer = peer_of(1, Role::Manager);
        let update = MemberUpdate { peer, claim: claim(incarnation, Status::Dead), accuser: id_of(2) };
        self.ask(second, What::Listed(&[update])).unwrap();
        self.ask(second, What::Handled).unwrap();
    }
}

fn claim(incarnation: u32, status: Status) -> Claim {
    Claim { boot: BootEpoch(1), incarnation: Incarnation(incarnation), status }
}

/// A suspicion among two that begins in second 1 and ends in that one; in between the clock jumps.
fn verdict(ends: u64, jump: Duration) -> Verdict {
    let mut court = Court::of(2);
    court.suspected(1, 0);
    court.scene.clock.jump(Moment::seconds(1), jump);
    court.dies(ends, 0, 1)
}

#[test]
fn death_a_second_too_early_is_objected_to() {
    assert!(verdict(3, Duration::ZERO).is_err());
    assert_eq!(verdict(4, Duration::ZERO), Ok(()));
}

#[test]
fn clock_that_jumped_may_end_a_suspicion_early() {
    assert_eq!(verdict(2, Duration::from_secs(2)), Ok(()));
    assert!(verdict(2, Duration::from_secs(1)).is_err());
}

/// When a suspicion among six that begins in second 1 may end, with so many accusers.
fn earliest(accusers: u64) -> u64 {
    let dies = |second: &u64| {
        let mut court = Court::of(6);
        court.suspected(1, 0);
        court.dies(*second, 0, accusers).is_ok()
    };
    (1..30).find(dies).unwrap()
}

#[test]
fn what_is_due_follows_from_the_confirmations_that_there_were() {
    // 18 s, 10.5 s, 6.113 s, 3 s, and whole seconds to end in.
    assert_eq!([1, 2, 3, 4].map(earliest), [19, 12, 8, 4]);
}

#[test]
fn accusation_of_a_newer_incarnation_begins_anew() {
    let mut court = Court::of(2);
    court.suspected(1, 0);
    court.suspected(3, 1);
    assert!(court.dies(4, 1, 1).is_err());
    let mut court = Court::of(2);
    court.suspected(1, 0);
    court.suspected(3, 1);
    assert_eq!(court.dies(6, 1, 1), Ok(()));
}

#[test]
fn peer_that_takes_the_same_identity_for_gone_shortens_to_the_minimum() {
    let ends_at = |second, listed| {
        let mut court = Court::of(6);
        court.suspected(1, 1);
        court.is_listed_as_dead(2, listed);
        court.dies(second, 1, 1)
    };
    assert_eq!(ends_at(4, 1), Ok(()));
    assert!(ends_at(3, 1).is_err());
    assert!(ends_at(4, 0).is_err(), "an older identity says nothing about this one");
}

#[test]
fn suspicion_that_lasts_too_long_in_calm_weather_is_objected_to() {
    let ends_at = |second| {
        let mut court = Court::of(3);
        court.suspected(1, 0);
        court.dies(second, 0, 1)
    };
    assert_eq!(ends_at(22), Ok(()));
    assert!(ends_at(23).is_err());
}
