//! One replica as its host sees it: node and simulator drive this same object.
//!
//! [`RaftGroup`] is the protocol; this is what a host would otherwise have to do around it, once and free of I/O: find out
//! at the start whether it founds, joins or resumes, know which node a raft id belongs to, take proposals and reads to the
//! leader and their outcome back, report what could not be sent. [`Replica::handle`] takes one [`Input`] and appends
//! [`Output`]s, to be done in their order. Time is handed in, nothing is drawn, and equal inputs give equal outputs.
//!
//! | stage    | input                                       | next     | outputs                                        |
//! | -------- | ------------------------------------------- | -------- | ---------------------------------------------- |
//! | –        | `start`, the directory has a log            | running  | `Opened`                                       |
//! | –        | `start`, empty, bound to a raft id          | running  | `Opened`: it was added before its first message |
//! | –        | `start`, empty                              | starting | `Timer`; founds at once if it is the only peer |
//! | starting | `PeerReached`, `Timer`                      | starting | `Send` of a query to every peer reached        |
//! | starting | report: all peers are empty, or acknowledged a founding with this directory | starting | `Persist` of the same |
//! | starting | `Persisted` of that                         | starting | `Send` of its own report to every peer reached |
//! | starting | report: all founders acknowledged it, or one takes part | running | `Persist` that it is open, `Opened`, `Timer` |
//! | starting | report: somebody has a log without this directory, or with another one of this node | starting | `Waiting` |
//! | starting | report: this directory was added; `Persisted` of its raft id | running | `Opened`, `Timer`             |
//! | running  | `Message`, `Timer`, `Persisted`             | running  | what the protocol wants                        |
//! | running  | `Call` of a proposal or a read, not leading | running  | `Send` to the leader; `Reply` when it answers  |
//! | running  | `Undelivered`                               | running  | the protocol stops streaming to that peer; a snapshot is sent again |
//! | running  | `Call` of `StoreBlob`                       | running  | `PutBlob`, `Send` to the voters; `Reply` when a quorum has it |
//! | running  | `Timer`, a blob that the state names is missing | running | `Send` of a question to one member after the other |
//! | running  | `Timer`, a blob that nothing names          | running  | `RemoveBlob` after the grace                   |
//! | running  | the state lists a sealed part that was not read | running | `ReadBlob`, from wherever it is; nothing is applied before |
//! | running  | a snapshot of the own state is due          | running  | `MakeSnapshot`; `Persist` after `SnapshotMade` |
//! | running  | the group halts                             | running  | `Event`; calls fail, nothing more is sent      |
//! | any but failed | `BootstrapQuery`                      | same     | `Send` of a report                             |
//! | any      | what is on disk cannot be used              | failed   | `Failed`; everything else is ignored           |
//!
//! What a raft id belongs to is said by the log. A replica that is behind or joins does not know newer members, and has to
//! listen to them: it asks the members it knows and its configured peers, and believes what they say. Messages of anybody else
//! are refused and counted.
//!
//! It must never touch a disk, a socket or a clock, nor reply twice to a call.

mod blob_pass;
mod blobs;
mod calls;
mod io;
mod outcome;
mod peers;
mod requests;
mod running;
mod sealed;
mod starting;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Now};
use hyperscale_wire::class::Lane;

use crate::action::ProposeError;
use crate::apply::Machine;
use crate::blob::BlobId;
use crate::bootstrap::{BootstrapError, PeerState, Report, is_acknowledged_only};
use crate::config::Config;
use crate::group::{OpenError, RaftGroup};
use crate::id::{DirectoryId, RaftId};
use crate::message::Addresses;
use crate::storage::Loaded;

pub use blob_pass::BLOBS_PER_SLICE;
pub use blobs::{FETCHES_MAX, MISSING_MAX, PASS_EVERY, UPLOADS_MAX, WRITES_MAX};
pub use io::{CallId, Input, Output, ReplicaMessage, Reply, Request};
pub use outcome::WireOutcome;

use running::Running;
use starting::Starting;

/// Who a replica is in this life.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node it runs on.
    pub node: NodeId,
    /// The data directory, by which a member that lost its disk is recognised.
    pub directory: DirectoryId,
    /// Where it is reached; part of the membership once it founds.
    pub addresses: Addresses,
    /// This life of the node: orders what it says about its addresses.
    pub boot: BootEpoch,
    /// How many peers are configured to found the group, itself included.
    pub peers: usize,
    /// Questions to other nodes are numbered from here; above every number of its former lives, so that a late answer to
    /// one of those is not taken for one of this.
    pub first_number: u64,
    /// The newest version of commands that this build understands.
    pub version: u32,
    /// Blobs that are on its disk.
    pub blobs: BTreeSet<BlobId>,
    /// How long a blob that nothing names is kept: the time a caller has to propose what names it. Long enough for a
    /// proposal that is tried again, short enough that what was given up does not fill the disk.
    pub blob_grace: Duration,
    /// Settings of the group.
    pub config: Config,
}

impl Options {
    /// What this node says about itself.
    fn report(&self, state: PeerState) -> Report {
        Report { node: self.node, directory: self.directory, addresses: self.addresses, state }
    }
}

/// Why a replica does not take part.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configured peers cannot be.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// What is on disk cannot be gone on with.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is a log, and no raft id it was written under.
    #[error("data directory has a log but no raft id; remove this member and add it with an empty directory")]
    Unbound,
}

/// A replica over one life of its process.
pub struct Replica<M: Machine> {
    options: Options,
    stage: Stage<M>,
    /// The time that was asked for last.
    timer: Option<Now>,
}

enum Stage<M: Machine> {
    Starting(Box<Starting<M>>),
    Running(Box<Running<M>>),
    Failed,
}

impl<M: Machine> Replica<M>
where
    M::Outcome: WireOutcome,
{
    /// A replica that starts with what its disk held. `machine` is in the state of a new group.
    pub fn start(
        now: Now,
        options: Options,
        loaded: Loaded,
        machine: M,
        out: &mut Vec<Output<M::Outcome>>,
    ) -> Self {
        let mut replica = Self { options, stage: Stage::Failed, timer: None };
        if loaded.raft_id.is_none() && !loaded.is_empty() {
            out.push(Output::Failed(StartError::Unbound));
            return replica;
        }
        match loaded.raft_id {
            Some(id) if is_acknowledged_only(&loaded) => {
                if let Err(error) = replica.confirm(now, id, loaded, machine, out) {
                    out.push(Output::Failed(StartError::Open(error.into())));
                }
            }
            Some(id) => replica.open(now, id, loaded, machine, BTreeSet::new(), out),
            None => replica.ask_peers(now, machine, out),
        }
        replica.set_timer(out);
        replica
    }

    /// Takes an input; what is to be done is appended to `out`.
    pub fn handle(&mut self, now: Now, input: Input, out: &mut Vec<Output<M::Outcome>>) {
        if matches!(input, Input::Timer) {
            self.timer = None;
        }
        match input {
            Input::Message { from, message: ReplicaMessage::BootstrapQuery { .. } } => {
                let message = self.report().map(ReplicaMessage::BootstrapReport);
                out.extend(message.map(|message| Output::Send { to: from, lane: Lane::Control, message }));
            }
            input => self.handle_stage(now, input, out),
        }
        self.set_timer(out);
    }

    fn handle_stage(&mut self, now: Now, input: Input, out: &mut Vec<Output<M::Outcome>>) {
        match (&mut self.stage, input) {
            (Stage::Running(running), input) => running.handle(now, input, out),
            (stage, Input::Call { call, .. }) => {
                let has_failed = matches!(stage, Stage::Failed);
                let error = if has_failed { ProposeError::Halted } else { ProposeError::NotStarted };
                out.push(Output::Reply { call, reply: Reply::Failed(error) });
            }
            (Stage::Starting(_), input) => self.start_on(now, input, out),
            (Stage::Failed, _) => {}
        }
    }

    /// The protocol, once this replica takes part.
    pub fn group(&self) -> Option<&RaftGroup<M>> {
        match &self.stage {
            Stage::Running(running) => Some(running.group()),
            Stage::Starting(_) | Stage::Failed => None,
        }
    }

    /// The node that leads the group, as far as this replica knows.
    pub fn leader_node(&self) -> Option<NodeId> {
        match &self.stage {
            Stage::Running(running) => running.leader_node(),
            Stage::Starting(_) | Stage::Failed => None,
        }
    }

    /// The newest version of commands that a member understands, as it said in its hello. `None`: it has said nothing yet.
    pub fn understood(&self, id: RaftId) -> Option<u32> {
        match &self.stage {
            Stage::Running(running) if running.group().id() == id => Some(self.options.version),
            Stage::Running(running) => running.understood(id),
            Stage::Starting(_) | Stage::Failed => None,
        }
    }

    /// What this node says to one that starts; nothing if it has failed, as its directory may hold anything.
    fn report(&self) -> Option<Report> {
        let state = match &self.stage {
            Stage::Starting(starting) => starting.state(),
            Stage::Running(running) => {
                let group = running.group();
                let members = group.roster().members().copied().collect();
                PeerState::Running { members, learners: group.configuration().learners.clone() }
            }
            Stage::Failed => return None,
        };
        Some(self.options.report(state))
    }

    fn open(
        &mut self,
        now: Now,
        id: RaftId,
        loaded: Loaded,
        machine: M,
        reached: BTreeSet<NodeId>,
        out: &mut Vec<Output<M::Outcome>>,
    ) {
        match RaftGroup::open(now, self.options.config.clone(), id, loaded, machine) {
            Ok(group) => {
                out.push(Output::Opened(id));
                let mut running = Running::new(now, group, &self.options, reached);
                running.pump(now, out);
                self.stage = Stage::Running(Box::new(running));
            }
            Err(error) => out.push(Output::Failed(error.into())),
        }
    }

    fn set_timer(&mut self, out: &mut Vec<Output<M::Outcome>>) {
        let next = match &self.stage {
            Stage::Starting(starting) => Some(starting.next()),
            Stage::Running(running) => Some(running.next_tick()),
            Stage::Failed => None,
        };
        if let Some(at) = next.filter(|at| self.timer != Some(*at)) {
            self.timer = Some(at);
            out.push(Output::Timer(at));
        }
    }
}

impl<M: Machine> fmt::Debug for Replica<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::Starting(_) => "starting",
            Stage::Running(_) => "running",
            Stage::Failed => "failed",
        };
        f.debug_struct("Replica")
            .field("node", &self.options.node)
            .field("stage", &stage)
            .finish_non_exhaustive()
    }
}
