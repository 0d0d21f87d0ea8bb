//! The start of a replica with an empty directory: it asks the configured peers what they are until it knows what it is.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::apply::Machine;
use crate::bootstrap::{Bootstrap, BootstrapError, Decision, FOUNDERS_MAX, Report, founding};
use crate::id::{RaftId, Ticket};
use crate::message::Member;
use crate::replica::{Input, Options, Output, Replica, ReplicaMessage, Stage, WireOutcome};
use crate::storage::{Batch, Loaded};

/// How often a peer that was reached is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// The one batch that is written before the group opens; the group's own begin above it.
pub(super) const FOUNDING_TICKET: Ticket = Ticket(0);

/// A replica that does not know yet what it is.
pub(super) struct Starting<M> {
    bootstrap: Bootstrap,
    /// Peers that can be asked; bounded, as there are that many founders at most.
    reached: BTreeSet<NodeId>,
    ask_at: Now,
    machine: Option<M>,
}

/// What a replica that starts has found out.
pub(super) enum Wish {
    /// Nothing yet.
    Nothing,
    /// It has a place in a group, once this is durable.
    Write { id: RaftId, batch: Box<Batch> },
    /// It must not start.
    Fail(BootstrapError),
}

/// A replica whose place in the group is on its way to the disk.
pub(super) struct Founding<M> {
    id: RaftId,
    loaded: Loaded,
    machine: M,
}

impl<M: Machine> Replica<M>
where
    M::Outcome: WireOutcome,
{
    pub(super) fn ask_peers(&mut self, now: Now, machine: M, out: &mut Vec<Output<M::Outcome>>) {
        let Options { node, directory, peers, .. } = self.options;
        let bootstrap = match Bootstrap::new(node, directory, &Loaded::default(), peers) {
            Ok(bootstrap) => bootstrap,
            Err(error) => return out.push(Output::Failed(error.into())),
        };
        #[cfg(feature = "bugs")]
        let bootstrap = bootstrap.with_bugs(self.options.config.bugs.clone());
        let starting = Starting {
            bootstrap,
            reached: BTreeSet::new(),
            ask_at: now.plus(ASK_AGAIN),
            machine: Some(machine),
        };
        let wish = starting.decide(None);
        self.stage = Stage::Starting(starting);
        self.begin(wish, out);
    }

    /// Writes down what was found out.
    pub(super) fn begin(&mut self, wish: Wish, out: &mut Vec<Output<M::Outcome>>) {
        let Stage::Starting(starting) = &mut self.stage else { return };
        match wish {
            Wish::Nothing => {}
            Wish::Fail(error) => {
                self.stage = Stage::Failed;
                out.push(Output::Failed(error.into()));
            }
            Wish::Write { id, batch } => {
                let batch = Batch { ticket: FOUNDING_TICKET, raft_id: Some(id), ..*batch };
                let Some(machine) = starting.machine.take() else { return };
                let loaded = Loaded {
                    raft_id: Some(id),
                    hard_state: batch.hard_state.unwrap_or_default(),
                    snapshot: batch.snapshot.clone().map(|write| write.snapshot).unwrap_or_default(),
                    entries: Vec::new(),
                };
                self.stage = Stage::Founding(Founding { id, loaded, machine });
                out.push(Output::Persist(batch));
            }
        }
    }
}

impl<M> Starting<M> {
    /// When the peers are asked again.
    pub(super) fn next(&self) -> Now {
        self.ask_at
    }

    pub(super) fn handle<O>(
        &mut self,
        now: Now,
        input: Input,
        options: &Options,
        out: &mut Vec<Output<O>>,
    ) -> Wish {
        match input {
            Input::PeerReached(peer) if peer != options.node && self.reached.len() < FOUNDERS_MAX => {
                if self.reached.insert(peer) {
                    ask(peer, options, out);
                }
                Wish::Nothing
            }
            Input::PeerReached(peer) if peer == options.node => Wish::Fail(BootstrapError::SamePeerTwice),
            Input::Timer => {
                self.ask_at = now.plus(ASK_AGAIN);
                for peer in &self.reached {
                    ask(*peer, options, out);
                }
                Wish::Nothing
            }
            Input::Message { from, message: ReplicaMessage::BootstrapReport(report) }
                if report.node == from && self.reached.contains(&from) =>
            {
                self.heard(report, options)
            }
            _ => Wish::Nothing,
        }
    }

    fn heard(&mut self, report: Report, options: &Options) -> Wish {
        let own = |member: &&Member| member.directory == options.directory;
        let added = report.members.iter().flatten().find(own).map(|member| member.raft_id);
        match self.bootstrap.heard(report) {
            Ok(()) => self.decide(added),
            Err(error) => Wish::Fail(error),
        }
    }

    /// `added`: the id under which a peer's log knows this directory.
    fn decide(&self, added: Option<RaftId>) -> Wish {
        match (self.bootstrap.decide(), added) {
            (Decision::Found { founders, raft_id }, _) => {
                Wish::Write { id: raft_id, batch: Box::new(founding(&founders)) }
            }
            // An operator has added it: it begins with nothing and gets the log from the leader.
            (_, Some(id)) => Wish::Write { id, batch: Box::default() },
            (Decision::Ask { .. } | Decision::Wait { .. } | Decision::Resume, None) => Wish::Nothing,
        }
    }
}

fn ask<O>(to: NodeId, options: &Options, out: &mut Vec<Output<O>>) {
    let message = ReplicaMessage::BootstrapQuery { directory: options.directory };
    out.push(Output::Send { to, lane: message.lane(), message });
}

impl<M> Founding<M> {
    /// Its place is on disk: id, what the disk holds, machine.
    pub(super) fn durable(self) -> (RaftId, Loaded, M) {
        (self.id, self.loaded, self.machine)
    }
}
