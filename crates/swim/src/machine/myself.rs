//! The node itself: its identity, what it says about itself, and how it contradicts what others say about it.

use std::sync::Arc;

use hyperscale_types::BootEpoch;

use super::{Swim, Turn};
use crate::claim::{Claim, Incarnation, Status};
use crate::embedded::{Embedded, EmbeddedState, Phase};
use crate::io::{Event, Timer};
use crate::message::{MemberUpdate, Peer, Sender};

/// The node that a core runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalNode {
    /// Where and what it is.
    pub peer: Peer,
    /// Its life; must be larger than that of any earlier one.
    pub boot: BootEpoch,
}

/// Where the node is in its life as a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lifecycle {
    /// Not told to join yet.
    Idle,
    /// A member.
    Active,
    /// Tells that it goes.
    Leaving,
    /// Told enough; deals with nothing any more.
    Gone,
}

#[derive(Clone, Debug)]
pub(super) struct Myself {
    identity: LocalNode,
    incarnation: Incarnation,
    lifecycle: Lifecycle,
    /// As the host set it.
    wanted: Option<EmbeddedState>,
    /// As it is sent.
    pub(super) embedded: Option<Arc<Embedded>>,
    /// How often the present claim about itself was sent.
    pub(super) transmissions: u8,
    superseded: bool,
    /// While a list is read whose news are not gossiped.
    quiet: bool,
}

impl Myself {
    pub(super) fn new(identity: LocalNode) -> Self {
        Self {
            identity,
            incarnation: Incarnation::default(),
            lifecycle: Lifecycle::Idle,
            wanted: None,
            embedded: None,
            transmissions: 0,
            superseded: false,
            quiet: false,
        }
    }

    pub(super) fn peer(&self) -> Peer {
        self.identity.peer
    }

    pub(super) fn sender(&self) -> Sender {
        Sender { peer: self.identity.peer, boot: self.identity.boot, incarnation: self.incarnation }
    }

    /// What the node says about itself.
    pub(super) fn update(&self) -> MemberUpdate {
        let alive = self.sender().alive();
        match self.lifecycle {
            Lifecycle::Idle | Lifecycle::Active => alive,
            Lifecycle::Leaving | Lifecycle::Gone => {
                MemberUpdate { claim: alive.claim.with(Status::Left), ..alive }
            }
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.lifecycle == Lifecycle::Active
    }

    pub(super) fn is_idle(&self) -> bool {
        self.lifecycle == Lifecycle::Idle
    }

    pub(super) fn is_gone(&self) -> bool {
        self.lifecycle == Lifecycle::Gone
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub(super) fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Becomes a member; false if it is one already or is going.
    pub(super) fn activate(&mut self) -> bool {
        let idle = self.lifecycle == Lifecycle::Idle;
        if idle {
            self.lifecycle = Lifecycle::Active;
        }
        idle
    }

    /// Makes the state that is sent from the one the host wants. A manager without the worker lists of its peers does
    /// not say that it is active.
    pub(super) fn embed(&mut self, may_be_active: bool) {
        let Some(mut state) = self.wanted.clone() else { return };
        if let EmbeddedState::Manager(load) = &mut state
            && load.phase == Phase::Active
            && !may_be_active
        {
            load.phase = Phase::Syncing;
        }
        if self.embedded.as_ref().is_some_and(|known| known.state == state) {
            return;
        }
        let version = self.embedded.as_ref().map_or(1, |known| known.version + 1);
        self.embedded = Some(Arc::new(Embedded { version, state }));
    }

    fn refute(&mut self, accused: Incarnation) {
        self.incarnation = accused.max(self.incarnation).next();
        self.transmissions = 0;
    }
}

impl Swim {
    pub(super) fn set_state(&mut self, state: EmbeddedState) {
        self.me.wanted = Some(state);
        self.me.embed(self.workers.intake.is_done());
    }

    /// Somebody says something about this node.
    pub(super) fn about_me(&mut self, turn: &mut Turn<'_>, claim: Claim) {
        let mine = self.me.update().claim;
        if claim.boot > mine.boot {
            if !std::mem::replace(&mut self.me.superseded, true) {
                turn.event(Event::Superseded { boot: claim.boot });
            }
            return;
        }
        // What is said about a former life, or what this node says itself, needs no answer; nor does a leaving node
        // contradict.
        if claim <= mine || claim.boot < mine.boot || mine.status == Status::Left {
            return;
        }
        if !bug!(self.config, RefuteWithoutRaising) {
            self.me.refute(claim.incarnation);
        }
        self.awareness.refuted_accusation();
        self.counters.refutations += 1;
    }

    pub(super) fn leave(&mut self, turn: &mut Turn<'_>) {
        if self.me.lifecycle != Lifecycle::Active {
            self.me.lifecycle = Lifecycle::Gone;
            turn.event(Event::Departed);
            return;
        }
        self.me.lifecycle = Lifecycle::Leaving;
        self.me.transmissions = 0;
        let grace =
            if self.members.live().is_empty() { turn.now } else { turn.now.plus(self.config.leave_grace) };
        if let Some(number) = self.alarms.depart.set(grace) {
            turn.timer(grace, Timer::Depart(number));
        }
    }

    pub(super) fn depart(&mut self, turn: &mut Turn<'_>, number: u32) {
        if self.alarms.depart.fired(number).is_some() {
            self.me.lifecycle = Lifecycle::Gone;
            turn.event(Event::Departed);
        }
    }
}
