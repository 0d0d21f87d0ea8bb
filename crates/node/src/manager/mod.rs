//! The loop of a manager or a gate: sources, one event enum, one synchronous handler, and what it asks for is performed.
//!
//! ```text
//! transport ─┐                                        ┌─► transport
//! membership ┼─► Happening ──► replica ──► Output ────┼─► log, blobs
//! disks ─────┤                    ▲          │        └─► timer
//! calls ─────┤                    │          ▼
//! timer ─────┘                  Want ◄──── Layer      (the role's core, on top of the replica)
//! ```
//!
//! Everything that is ready is handled before the loop waits again, one of each source in turn. While the log's disk is
//! behind, nothing is taken from the network nor from callers: they wait, and the timer and the disk do not.
//!
//! It must never decide anything, nor block.

mod bootstrap;
mod calls;
mod handle;
mod layer;
mod perform;

use std::net::SocketAddr;

use hyperscale_consensus::Machine;
use hyperscale_consensus::replica::{self, Output, Replica, StartError, WireOutcome};
use hyperscale_consensus::storage::{BlobStore as _, FileBlobs, LogStorage as _, RedbStorage, StorageError};
use hyperscale_types::Now;
use tokio::sync::mpsc;

pub use calls::{CALLS_MAX, Call, ReplicaHandle, Stopped};
pub use layer::{Layer, NoLayer, Want};

use crate::disk::{self, BlobDisk, DiskEvent, DiskName, DiskOverrun, DiskStartError, LogDisk};
use crate::membership::{self, MembershipHandle};
use crate::shutdown::Shutdown;
use crate::transport::{self, TransportHandle};
use crate::{clock, driver::bootstrap::Contacts, driver::calls::Calls};

/// Batches of the log that are not durable yet, beyond which nothing new is taken in.
const LOG_BACKLOG_MAX: usize = 1_024;
/// Events handled before the loop looks at its timer and its end again.
const BATCH_MAX: usize = 256;

/// Why the loop ended. The process has to end.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A disk failed.
    #[error("the disk of {0:?} failed: {1}")]
    Disk(DiskName, StorageError),
    /// A disk does not keep up.
    #[error(transparent)]
    Overrun(#[from] DiskOverrun),
    /// A disk could not be used at the start.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A thread could not be started.
    #[error(transparent)]
    Thread(#[from] DiskStartError),
    /// The replica cannot take part.
    #[error(transparent)]
    Start(StartError),
    /// The socket of the failure detector failed.
    #[error("the failure detector failed: {0}")]
    Membership(std::io::Error),
    /// A part that the loop needs has ended.
    #[error("{0} has stopped")]
    Ended(&'static str),
}

/// What the loop is made from.
#[derive(Debug)]
pub struct Options {
    /// Who the replica is in this life. Its blobs and its directory are taken from the disks.
    pub replica: replica::Options,
    /// Name of the log group, as messages carry it: a datacenter's name, or the gates.
    pub group: String,
    /// Addresses of the other nodes that found the group with this one; later only a hint.
    pub peers: Vec<SocketAddr>,
    /// The log's disk.
    pub log: RedbStorage,
    /// The store of blobs.
    pub blobs: FileBlobs,
}

/// Where events come from beside the disks.
#[derive(Debug)]
pub struct Sources {
    /// The transport.
    pub transport: mpsc::Receiver<transport::Event>,
    /// The failure detector.
    pub membership: mpsc::Receiver<membership::Event>,
}

/// Handles of what the loop acts through.
#[derive(Clone, Debug)]
pub struct Hands {
    /// Connections to other nodes.
    pub transport: TransportHandle,
    /// The failure detector.
    pub membership: MembershipHandle,
}

/// Something that happened to the node.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most are messages, and none is kept")]
pub(crate) enum Happening<M: Machine> {
    Transport(transport::Event),
    Membership(membership::Event),
    Disk(DiskEvent),
    Call(Call<M>),
    Timer,
}

/// The loop with everything it owns.
pub struct Driver<M: Machine, L> {
    replica: Replica<M>,
    layer: L,
    group: String,
    contacts: Contacts,
    calls: Calls<M>,
    hands: Hands,
    sources: Sources,
    /// Before the disks, which wait for room in it: dropped first, it lets them end.
    disk: mpsc::Receiver<DiskEvent>,
    log: LogDisk,
    blobs: BlobDisk,
    waiting: mpsc::Receiver<Call<M>>,
    /// When the replica wants its timer.
    timer: Option<Now>,
    outputs: Vec<Output<M::Outcome>>,
    wants: Vec<Want>,
}

impl<M, L> Driver<M, L>
where
    M: Machine,
    M::Outcome: WireOutcome + Clone,
    L: Layer<M>,
{
    /// Opens the disks and starts the replica on what they hold. `machine` is in the state of a new group.
    pub fn start(
        options: Options,
        machine: M,
        layer: L,
        hands: Hands,
        sources: Sources,
    ) -> Result<(Self, ReplicaHandle<M>), DriverError> {
        let Options { mut replica, group, peers, mut log, mut blobs } = options;
        replica.directory = log.directory();
        replica.blobs = blobs.list()?;
        let own = replica.addresses.peer;
        let loaded = log.load()?;
        let (events, disk) = disk::events();
        let log = LogDisk::start(log, events.clone())?;
        let blobs = BlobDisk::start(blobs, events)?;
        let (calls, waiting) = mpsc::channel(CALLS_MAX);
        let mut outputs = Vec::new();
        let replica = Replica::start(clock::now(), replica, loaded, machine, &mut outputs);
        let driver = Self {
            replica,
            layer,
            group,
            contacts: Contacts::new(peers.into_iter().filter(|peer| *peer != own)),
            calls: Calls::default(),
            hands,
            log,
            blobs,
            sources,
            disk,
            waiting,
            timer: None,
            outputs,
            wants: Vec::new(),
        };
        Ok((driver, ReplicaHandle::new(calls)))
    }

    /// Runs until it is told to stop, or cannot continue.
    pub async fn run(mut self, mut shutdown: Shutdown) -> Result<(), DriverError> {
        self.perform()?;
        loop {
            self.contacts.dial(clock::now(), &self.hands.transport);
            let is_behind = self.log.backlog() >= LOG_BACKLOG_MAX;
            let look = clock::instant_of(self.next_look());
            let happening = tokio::select! {
                event = self.disk.recv() => Happening::Disk(event.ok_or(DriverError::Ended("a disk"))?),
                event = self.sources.membership.recv() => {
                    Happening::Membership(event.ok_or(DriverError::Ended("the failure detector"))?)
                }
                event = self.sources.transport.recv(), if !is_behind => {
                    Happening::Transport(event.ok_or(DriverError::Ended("the transport"))?)
                }
                Some(call) = self.waiting.recv(), if !is_behind => Happening::Call(call),
                () = tokio::time::sleep_until(look.into()) => Happening::Timer,
                () = shutdown.stopped() => return Ok(()),
            };
            self.handle(happening)?;
            self.drain()?;
            // What was said leaves before more is said.
            tokio::task::yield_now().await;
        }
    }

    /// Handles what is ready, one of each source in turn.
    fn drain(&mut self) -> Result<(), DriverError> {
        for _ in 0..BATCH_MAX {
            let mut is_idle = true;
            let disk = self.disk.try_recv().ok().map(Happening::Disk);
            let membership = self.sources.membership.try_recv().ok().map(Happening::Membership);
            let is_behind = self.log.backlog() >= LOG_BACKLOG_MAX;
            let mut others = [None, None];
            if !is_behind {
                others[0] = self.sources.transport.try_recv().ok().map(Happening::Transport);
                others[1] = self.waiting.try_recv().ok().map(Happening::Call);
            }
            let timer = self.timer.is_some_and(|at| at <= clock::now()).then_some(Happening::Timer);
            for happening in [disk, membership, timer].into_iter().chain(others).flatten() {
                is_idle = false;
                self.handle(happening)?;
            }
            if is_idle {
                break;
            }
        }
        Ok(())
    }

    fn next_look(&self) -> Now {
        self.timer.unwrap_or(Now::NEVER).min(self.contacts.next())
    }
}
