//! What must hold whatever happens, one file each. Judges look on after every event and remember what they need.
//!
//! An invariant sees what a core did ([`Seen`]) and what is really so ([`Truth`]); it never changes anything. The first one
//! that is broken ends the seed.

mod active_after_lists;
mod buddy;
mod confirmed_by_contact;
mod cross_judgement;
mod dead_stays_dead;
mod death_events;
mod embedded_versions;
mod false_deaths;
mod health;
mod log;
mod merge_keeps_newest;
mod queues;
#[cfg(test)]
mod scene;
mod spread;
mod suspects_counted;
mod suspicion_time;
mod views_converge;
mod worker_versions;

use hyperscale_swim::federation::FederationEvent;
use hyperscale_swim::{AuditEntry, Datagram, Event, MemberUpdate, Swim};
use hyperscale_types::{BootEpoch, NodeId};

pub use cross_judgement::cut_off;
pub use log::{
    Logged, LostKnown, blobs_differ, draining, drains_open, jobs_incomplete, jobs_open, replicas_differ,
};
pub use views_converge::{ghosts, strangers, workers_differ};

use crate::clock::Clock;
use crate::moment::Moment;
use crate::world::Truth;

/// What a node did or learned, with what is needed to judge it.
#[derive(Debug)]
pub struct Seen<'a> {
    /// True time, which no node knows.
    pub at: Moment,
    /// Index of the node in the world.
    pub node: usize,
    /// Its own clock.
    pub clock: &'a Clock,
    /// Its core, after it dealt with the input.
    pub swim: &'a Swim,
    /// What is really so.
    pub truth: &'a Truth,
    /// The input or action that is judged.
    pub what: What<'a>,
}

impl Seen<'_> {
    /// The cluster of the node, and of its log.
    pub fn cluster(&self) -> u8 {
        self.truth.nodes[self.node].cluster
    }
}

/// What can be seen.
#[derive(Debug)]
pub enum What<'a> {
    /// A new life begins.
    Started,
    /// A life ends.
    Ended,
    /// A message arrives; the core has not seen it yet.
    Heard {
        /// The sender, as the message says.
        from: NodeId,
        /// In which life.
        boot: BootEpoch,
    },
    /// The core has dealt with a message that carried these updates.
    Merged {
        /// Whose message it was.
        from: NodeId,
        /// In which life.
        boot: BootEpoch,
        /// What it said of members, before the core merged it.
        members: &'a [MemberUpdate],
        /// It was a view in anti-entropy, not news.
        is_list: bool,
    },
    /// Another node's view arrives in anti-entropy; the core has not seen it yet.
    Listed(&'a [MemberUpdate]),
    /// The core sends a datagram.
    Sent {
        /// The member that it is sent to.
        to: NodeId,
        /// The datagram, before it is encoded.
        datagram: &'a Datagram,
    },
    /// The core tells the layers above.
    Event(&'a Event),
    /// The core recorded a transition.
    Transition(&'a AuditEntry),
    /// The core has dealt with an input.
    Handled,
    /// The core for probes between clusters tells the layers above.
    Cross(&'a FederationEvent),
    /// Something happened in the log's world.
    Log(Logged<'a>),
}

/// Invariants that look inside: at messages, disks, timers, queues and hashes that nobody outside of a core knows.
const WHITE_BOX: [&str; 15] = [
    "buddy",
    "committed_is_durable",
    "committed_prefix",
    "confirmed_by_contact",
    "embedded_versions",
    "health",
    "learners_caught_up",
    "log_queues",
    "merge_keeps_newest",
    "queues",
    "spread",
    "state_hash",
    "suspicion_time",
    "sync_before_send",
    "vote_kept",
];

/// What an invariant says: nothing, or what is broken.
pub type Verdict = Result<(), String>;

/// A promise that is watched.
pub trait Invariant: std::fmt::Debug {
    /// Its name, as in the file.
    fn name(&self) -> &'static str;

    /// Looks at what happened.
    fn see(&mut self, seen: &Seen<'_>) -> Verdict;
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the invariant, as in its file.
    pub invariant: &'static str,
    /// True time, which no node knows.
    pub at: Moment,
    /// At which node, if at one.
    pub node: Option<usize>,
    /// What happened.
    pub what: String,
}

/// Everybody who watches.
#[derive(Debug, Default)]
pub struct Judges {
    watching: Vec<Box<dyn Invariant>>,
    is_thorough: bool,
    violation: Option<Violation>,
}

impl Judges {
    /// Nobody.
    pub fn none() -> Self {
        Self::default()
    }

    /// All invariants.
    pub fn all() -> Self {
        let mut judges = Self::of(vec![
            Box::new(active_after_lists::ActiveAfterLists::default()),
            Box::new(buddy::Buddy),
            Box::new(confirmed_by_contact::ConfirmedByContact::default()),
            Box::new(cross_judgement::CrossJudgement::default()),
            Box::new(dead_stays_dead::DeadStaysDead::default()),
            Box::new(death_events::DeathEvents::default()),
            Box::new(embedded_versions::EmbeddedVersions::default()),
            Box::new(false_deaths::FalseDeaths),
            Box::new(health::Health),
            Box::new(merge_keeps_newest::MergeKeepsNewest),
            Box::new(queues::Queues),
            Box::new(spread::Spread::default()),
            Box::new(suspects_counted::SuspectsCounted::default()),
            Box::new(suspicion_time::SuspicionTime::default()),
            Box::new(worker_versions::WorkerVersions::default()),
        ]);
        judges.watching.extend(log::judges());
        judges.is_thorough = true;
        judges
    }

    /// Only those who judge what can be seen from outside: what clients, workers and the layers above are told, and what is
    /// decided. What is inside of cores, on disks and in datagrams is hidden from them.
    pub fn black_box() -> Self {
        let mut judges = Self::all();
        judges.watching.retain(|invariant| !WHITE_BOX.contains(&invariant.name()));
        judges
    }

    /// These, who need to see events only.
    pub fn of(watching: Vec<Box<dyn Invariant>>) -> Self {
        Self { watching, is_thorough: false, violation: None }
    }

    /// Whether updates and transitions are worth collecting.
    pub fn is_thorough(&self) -> bool {
        self.is_thorough
    }

    /// Shows everybody what happened; the first objection is kept.
    pub fn see(&mut self, seen: &Seen<'_>) {
        if self.violation.is_some() {
            return;
        }
        let objection = self
            .watching
            .iter_mut()
            .find_map(|invariant| invariant.see(seen).err().map(|what| (invariant.name(), what)));
        if let Some((invariant, what)) = objection {
            self.object(invariant, seen.at, Some(seen.node), what);
        }
    }

    /// Somebody objects for a reason of their own.
    pub fn object(&mut self, invariant: &'static str, at: Moment, node: Option<usize>, what: String) {
        self.violation.get_or_insert(Violation { invariant, at, node, what });
    }

    /// The first objection.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }
}

#[cfg(test)]
mod tests;
