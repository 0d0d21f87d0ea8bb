//! The start of a replica: with an empty directory it asks the configured peers what they are until it knows what it is;
//! with a founding that it acknowledged it asks until all founders have.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::apply::{Machine, RestoreError, roster_of};
use crate::bootstrap::{
    Bootstrap, BootstrapError, Decision, FOUNDERS_MAX, Founding, PeerState, Report, WaitReason,
    acknowledgement, opening,
};
use crate::id::{RaftId, Ticket};
use crate::message::Founder;
use crate::replica::{Input, Options, Output, Replica, ReplicaMessage, Stage, WireOutcome};
use crate::storage::{Batch, Loaded};

/// How often a peer that was reached is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// Of what is written before the group opens; the group's own batches begin above it.
const FOUNDING_TICKET: Ticket = Ticket(0);

/// A replica that does not take part yet.
pub(super) struct Starting<M> {
    step: Step,
    /// Peers that can be asked; bounded, as there are that many founders at most.
    reached: BTreeSet<NodeId>,
    ask_at: Now,
    /// What the host was told that this replica waits for.
    waits: Option<(NodeId, WaitReason)>,
    machine: M,
}

/// How far a start has come.
enum Step {
    /// It does not know yet what it is.
    Asking(Bootstrap),
    /// Its place in the group is on its way to the disk.
    Writing(Place),
    /// What it acknowledged is durable; others have to acknowledge it too.
    Confirming(Place, Founding),
}

/// A place in a group.
#[derive(Clone)]
struct Place {
    id: RaftId,
    /// What the disk holds of it.
    loaded: Loaded,
}

/// What follows from an input.
enum Wish {
    Nothing,
    Wait(NodeId, WaitReason),
    Write(RaftId, Box<Batch>),
    Open,
    Fail(BootstrapError),
}

impl<M: Machine> Replica<M>
where
    M::Outcome: WireOutcome,
{
    /// Begins with an empty directory.
    pub(super) fn ask_peers(&mut self, now: Now, machine: M, out: &mut Vec<Output<M::Outcome>>) {
        let Options { node, directory, addresses, peers, .. } = self.options;
        let bootstrap = match Bootstrap::new(node, Founder { directory, addresses }, peers) {
            Ok(bootstrap) => bootstrap,
            Err(error) => return out.push(Output::Failed(error.into())),
        };
        #[cfg(feature = "bugs")]
        let bootstrap = bootstrap.with_bugs(self.options.config.bugs.clone());
        let starting = Starting::new(now, Step::Asking(bootstrap), machine);
        let wish = starting.decide(now);
        self.stage = Stage::Starting(Box::new(starting));
        self.grant(now, wish, out);
    }

    /// Continues with a founding that was acknowledged in a former life.
    pub(super) fn confirm(
        &mut self,
        now: Now,
        id: RaftId,
        loaded: Loaded,
        machine: M,
        out: &mut Vec<Output<M::Outcome>>,
    ) -> Result<(), RestoreError> {
        let founding = Founding::new(self.options.node, &roster_of(loaded.snapshot.state.clone())?);
        let wish = if founding.is_complete() { Wish::Open } else { Wish::Nothing };
        let step = Step::Confirming(Place { id, loaded }, founding);
        self.stage = Stage::Starting(Box::new(Starting::new(now, step, machine)));
        self.grant(now, wish, out);
        Ok(())
    }

    /// Takes an input of a replica that does not take part yet.
    pub(super) fn start_on(&mut self, now: Now, input: Input, out: &mut Vec<Output<M::Outcome>>) {
        if let Stage::Starting(starting) = &mut self.stage {
            let wish = starting.handle(now, input, &self.options, out);
            self.grant(now, wish, out);
        }
    }

    fn grant(&mut self, now: Now, wish: Wish, out: &mut Vec<Output<M::Outcome>>) {
        match wish {
            Wish::Nothing => {}
            Wish::Wait(known_by, reason) => {
                let Stage::Starting(starting) = &mut self.stage else { return };
                if starting.waits.replace((known_by, reason)) != Some((known_by, reason)) {
                    out.push(Output::Waiting { known_by, reason });
                }
            }
            Wish::Fail(error) => {
                self.stage = Stage::Failed;
                out.push(Output::Failed(error.into()));
            }
            Wish::Write(id, batch) => {
                let Stage::Starting(starting) = &mut self.stage else { return };
                let batch = Batch { ticket: FOUNDING_TICKET, raft_id: Some(id), ..*batch };
                starting.step = Step::Writing(Place::written(id, &batch));
                out.push(Output::Persist(batch));
            }
            Wish::Open => {
                let Stage::Starting(starting) = std::mem::replace(&mut self.stage, Stage::Failed) else {
                    return;
                };
                match starting.step {
                    Step::Asking(_) => {}
                    Step::Writing(Place { id, loaded }) => {
                        self.open(now, id, loaded, starting.machine, starting.reached, out);
                    }
                    Step::Confirming(Place { id, loaded }, _) => {
                        out.push(Output::Persist(Batch { ticket: FOUNDING_TICKET, ..opening() }));
                        self.open(now, id, loaded, starting.machine, starting.reached, out);
                    }
                }
            }
        }
    }
}

impl<M> Starting<M> {
    fn new(now: Now, step: Step, machine: M) -> Self {
        Self { step, reached: BTreeSet::new(), ask_at: now.plus(ASK_AGAIN), waits: None, machine }
    }

    /// When the peers are asked again.
    pub(super) fn next(&self) -> Now {
        self.ask_at
    }

    /// What it says to others that start. What is not durable does not count.
    pub(super) fn state(&self) -> PeerState {
        match &self.step {
            Step::Asking(_) | Step::Writing(_) => PeerState::Empty,
            Step::Confirming(_, founding) => PeerState::Acknowledged(founding.members().to_vec()),
        }
    }

    fn handle<O>(&mut self, now: Now, input: Input, options: &Options, out: &mut Vec<Output<O>>) -> Wish {
        match input {
            Input::PeerReached(peer) if peer == options.node => {
                return Wish::Fail(BootstrapError::SamePeerTwice);
            }
            Input::PeerReached(peer) if self.reached.len() < FOUNDERS_MAX && self.reached.insert(peer) => {
                out.push(query(peer, options));
            }
            Input::Timer => {
                self.ask_at = now.plus(ASK_AGAIN);
                out.extend(self.reached.iter().map(|peer| query(*peer, options)));
            }
            Input::Persisted(FOUNDING_TICKET) => return self.written(options, out),
            Input::Message { from, message: ReplicaMessage::BootstrapReport(report) }
                if report.node == from && self.reached.contains(&from) =>
            {
                return self.heard(now, report);
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn heard(&mut self, now: Now, report: Report) -> Wish {
        match &mut self.step {
            Step::Asking(bootstrap) => match bootstrap.heard(now, report) {
                Ok(()) => self.decide(now),
                Err(error) => Wish::Fail(error),
            },
            Step::Writing(_) => Wish::Nothing,
            Step::Confirming(_, founding) => {
                founding.heard(&report);
                if founding.is_complete() { Wish::Open } else { Wish::Nothing }
            }
        }
    }

    fn decide(&self, now: Now) -> Wish {
        let Step::Asking(bootstrap) = &self.step else { return Wish::Nothing };
        match bootstrap.decide(now) {
            Decision::Acknowledge { founders, raft_id } => {
                Wish::Write(raft_id, Box::new(acknowledgement(&founders)))
            }
            Decision::Join(id) => Wish::Write(id, Box::default()),
            Decision::Wait { known_by, reason } => Wish::Wait(known_by, reason),
            Decision::Ask { .. } => Wish::Nothing,
        }
    }

    /// Its place is durable. Other founders are told at once, and asked, as they may have been first.
    fn written<O>(&mut self, options: &Options, out: &mut Vec<Output<O>>) -> Wish {
        let Step::Writing(place) = &self.step else { return Wish::Nothing };
        if place.loaded.is_empty() {
            return Wish::Open;
        }
        let Ok(roster) = roster_of(place.loaded.snapshot.state.clone()) else { return Wish::Nothing };
        let founding = Founding::new(options.node, &roster);
        let is_complete = founding.is_complete();
        self.step = Step::Confirming(place.clone(), founding);
        for peer in &self.reached {
            let message = ReplicaMessage::BootstrapReport(options.report(self.state()));
            out.push(Output::Send { to: *peer, lane: message.lane(), message });
            out.push(query(*peer, options));
        }
        if is_complete { Wish::Open } else { Wish::Nothing }
    }
}

impl Place {
    /// The place that this batch, the first of a directory, writes down.
    fn written(id: RaftId, batch: &Batch) -> Self {
        let loaded = Loaded {
            raft_id: Some(id),
            hard_state: batch.hard_state.unwrap_or_default(),
            snapshot: batch.snapshot.clone().map(|write| write.snapshot).unwrap_or_default(),
            entries: Vec::new(),
        };
        Self { id, loaded }
    }
}

fn query<O>(to: NodeId, options: &Options) -> Output<O> {
    let message = ReplicaMessage::BootstrapQuery { directory: options.directory };
    Output::Send { to, lane: message.lane(), message }
}
