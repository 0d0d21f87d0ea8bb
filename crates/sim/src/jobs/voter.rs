//! A member of a group at work: a manager with its production core, or a gate with a small driver.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use hyperscale_cluster::bugs::Bugs;
use hyperscale_cluster::manager::ReadNumber;
use hyperscale_consensus::register::{Group, JobEnd, JobId, Outcome};
use hyperscale_consensus::replica::{Input, Output, Replica};
use hyperscale_consensus::{BlobId, RaftGroup, ReadId};
use hyperscale_types::{BootEpoch, NodeId, Now};

use super::gate::Gate;
use super::manager::ManagerHost;
use crate::log::letter::ClientLetter;
use crate::log::{Journal, Letter};

/// What a voter wants of the world.
#[derive(Debug)]
pub enum Deed {
    /// Something that its replica wants done.
    Replica(Output<Outcome>),
    /// Send a letter.
    Send {
        /// The receiver: a worker, or another voter.
        to: NodeId,
        /// The message.
        letter: Letter,
    },
    /// Read a blob from its disk.
    ReadBlob {
        /// Handed back with the content.
        read: ReadNumber,
        /// The blob.
        blob: BlobId,
    },
    /// Answer a client.
    Answer {
        /// About which of its jobs.
        client_job: usize,
        /// The response.
        answer: Answer,
    },
    /// For the judges: a read was asked for.
    ReadAsked(ReadId),
    /// Wake it at this time.
    Timer(Now),
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its job is accepted, under this id.
    Accepted(JobId),
    /// Its cancel is committed, or came too late.
    Cancelled,
    /// Its job has ended.
    Ended(JobEnd),
}

/// Who a voter is in this life.
#[derive(Debug)]
pub struct VoterOptions {
    /// The node.
    pub me: NodeId,
    /// Numbers of its requests begin here.
    pub first_number: u64,
    /// Decides what it draws.
    pub seed: u64,
    /// Deliberate bugs.
    pub bugs: Bugs,
}

/// A member of a group at work.
pub struct Voter {
    /// Nodes whose version the replica was told, in worlds where they do not say hello.
    pub greeted: BTreeSet<(NodeId, BootEpoch)>,
    role: Role,
}

enum Role {
    Manager(Box<ManagerHost>),
    Gate(Box<Gate>),
}

impl Voter {
    /// A voter that starts with this replica and what that wants done.
    pub fn new(
        now: Now,
        group: Group,
        options: VoterOptions,
        replica: Replica<Journal>,
        outputs: Vec<Output<Outcome>>,
    ) -> Self {
        let role = match group {
            Group::Managers => Role::Manager(Box::new(ManagerHost::new(now, options, replica, outputs))),
            Group::Gates => Role::Gate(Box::new(Gate::new(now, options, replica, outputs))),
        };
        Self { greeted: BTreeSet::new(), role }
    }

    /// Its replica, as in production.
    pub fn replica(&self) -> &Replica<Journal> {
        match &self.role {
            Role::Manager(manager) => manager.core.replica(),
            Role::Gate(gate) => &gate.replica,
        }
    }

    /// The group of a replica that takes part. Nothing else is asked of a voter before that.
    pub fn group(&self) -> &RaftGroup<Journal> {
        self.replica().group().expect("only voters whose replica takes part do anything")
    }

    /// Something happens to the replica.
    pub fn input(&mut self, now: Now, input: Input) {
        match &mut self.role {
            Role::Manager(manager) => manager.replica_input(now, input),
            Role::Gate(gate) => gate.input(now, input),
        }
    }

    /// SWIM says that a node is dead, or that it is there.
    pub fn gossip(&mut self, now: Now, node: NodeId, is_dead: bool) {
        match &mut self.role {
            Role::Manager(manager) => manager.gossip(now, node, is_dead),
            Role::Gate(gate) => gate.gossip(now, node, is_dead),
        }
    }

    /// The time of its timer has come.
    pub fn timer(&mut self, now: Now) {
        match &mut self.role {
            Role::Manager(manager) => manager.timer(now),
            Role::Gate(gate) => gate.input(now, Input::Timer),
        }
    }

    /// What is to be done from time to time. Managers have their timer for that.
    pub fn duty(&mut self, now: Now) {
        match &mut self.role {
            Role::Manager(_) => {}
            Role::Gate(gate) => gate.duty(now),
        }
    }

    /// A letter beside those of the log.
    pub fn letter(&mut self, now: Now, from: NodeId, letter: Letter) {
        match (&mut self.role, letter) {
            (Role::Manager(manager), Letter::Peer(message)) => manager.peer(now, from, message),
            (Role::Manager(manager), Letter::ToManager(message)) => manager.worker(now, from, *message),
            (Role::Gate(gate), Letter::Peer(message)) => gate.peer(now, from, &message),
            _ => {}
        }
    }

    /// A client wants something.
    pub fn client(&mut self, now: Now, letter: ClientLetter) {
        match &mut self.role {
            Role::Manager(manager) => manager.client(now, letter),
            Role::Gate(gate) => gate.client(now, letter),
        }
    }

    /// An operator wants a worker to drain.
    pub fn drain(&mut self, now: Now, worker: NodeId) {
        match &mut self.role {
            Role::Manager(manager) => manager.drain(now, worker),
            Role::Gate(_) => {}
        }
    }

    /// What [`Deed::ReadBlob`] asked for.
    pub fn blob_read(&mut self, now: Now, read: ReadNumber, bytes: Option<Bytes>) {
        match &mut self.role {
            Role::Manager(manager) => manager.blob_read(now, read, bytes),
            Role::Gate(_) => {}
        }
    }

    /// What it wants done since it was last asked.
    pub fn take(&mut self, now: Now) -> Vec<Deed> {
        match &mut self.role {
            Role::Manager(manager) => manager.take(),
            Role::Gate(gate) => gate.take(now),
        }
    }
}

impl fmt::Debug for Voter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.replica().fmt(f)
    }
}
