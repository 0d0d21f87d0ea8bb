//! The loop of a manager: everything that happens becomes one event, one synchronous handler tells the core, and what the core
//! wants is performed in its order.
//!
//! ```text
//! transport, membership, disks, callers, clock ──► Happening ──► Manager (core) ──► Output ──► transport, disks, followers
//! ```
//! Nothing is decided here. What callers ask for comes through [`ManagerHandle`]; each call gets exactly one response, or learns
//! that the loop has ended.

mod about;
mod calls;
mod clocks;
mod events;
mod handle;
mod newcomers;
mod news;
mod perform;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hyperscale_cluster::manager::{self, Manager, RequestNumber, Response};
use hyperscale_consensus::register::{Group, Register};
use hyperscale_consensus::replica::{self, Replica, StartError};
use hyperscale_consensus::storage::{BlobStore as _, FileBlobs, LogStorage as _, RedbStorage, StorageError};
use hyperscale_types::{NodeId, Now};
use tokio::sync::{mpsc, oneshot};

use crate::clock;
use crate::contacts::Contacts;
use crate::disk::{self, BlobDisk, DiskEvent, DiskName, DiskOverrun, DiskStartError, LogDisk};
use crate::membership::{self, MembershipHandle};
use crate::shutdown::Shutdown;
use crate::transport::{self, TransportHandle};
use about::About;
use calls::{Call, Calls};
use clocks::ClockFile;
use events::ClusterEvents;
use newcomers::Newcomers;
use news::Outlet;

pub use calls::{CALLS_MAX, Counts, ManagerHandle, Seen, Stopped};
pub use events::{ClusterEvent, EVENTS_MAX};
pub use newcomers::Newcomer;
pub use news::{JobNews, NEWS_MAX, name_workers};

/// Batches of the log that are not durable yet, beyond which nothing new is taken in.
const LOG_BACKLOG_MAX: usize = 1_024;
/// Events handled before the loop looks at its timer and its end again.
const BATCH_MAX: usize = 256;

/// Why the loop ended. The process has to end.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
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
    /// Another process uses the identity of this node.
    #[error("another process lives under the id of this node; give each node a data directory of its own")]
    Superseded,
    /// A part that the loop needs has ended.
    #[error("{0} has stopped")]
    Ended(&'static str),
}

/// What the loop is made from.
#[derive(Debug)]
pub struct Options {
    /// Who the replica is in this life. Its blobs and its directory are taken from the disks.
    pub replica: replica::Options,
    /// Who the manager is in this life, and its times.
    pub manager: manager::Options,
    /// The file that keeps what clocks of jobs show.
    pub clocks: std::path::PathBuf,
    /// Name of the log group, as messages carry it: the datacenter's name.
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
pub(crate) enum Happening {
    Transport(transport::Event),
    Membership(membership::Event),
    Disk(DiskEvent),
    Call(Call),
    Timer,
}

/// The loop with everything it owns.
pub struct ManagerLoop {
    core: Manager<Register>,
    group: String,
    contacts: Contacts,
    /// Calls of callers to the replica.
    calls: Calls,
    /// Clients that wait for a response of the core.
    requests: BTreeMap<RequestNumber, oneshot::Sender<Response>>,
    last_request: u64,
    outlet: Outlet,
    /// What nodes call themselves, as their hello said.
    names: BTreeMap<NodeId, String>,
    counts: Counts,
    about: About,
    events: ClusterEvents,
    newcomers: Newcomers,
    hands: Hands,
    sources: Sources,
    /// Before the disks, which wait for room in it: dropped first, it lets them end.
    disk: mpsc::Receiver<DiskEvent>,
    log: LogDisk,
    blobs: BlobDisk,
    clocks: ClockFile,
    waiting: mpsc::Receiver<Call>,
    /// When the core wants its timer.
    timer: Option<Now>,
    outputs: Vec<manager::Output>,
    /// It was asked to leave and is no member any more.
    has_left: bool,
}

impl ManagerLoop {
    /// Opens the disks and starts the core on what they hold. The events of jobs that are led here come with the receiver.
    pub fn start(
        options: Options,
        hands: Hands,
        sources: Sources,
    ) -> Result<(Self, ManagerHandle, mpsc::Receiver<JobNews>), ManagerError> {
        let Options { mut replica, mut manager, group, peers, mut log, mut blobs, clocks } = options;
        replica.directory = log.directory();
        replica.blobs = blobs.list()?;
        let own = replica.addresses.peer;
        let loaded = log.load()?;
        let (events, disk) = disk::events();
        let log = LogDisk::start(log, events.clone())?;
        let blobs = BlobDisk::start(blobs, events)?;
        let (calls, waiting) = mpsc::channel(CALLS_MAX);
        let (now, machine) = (clock::now(), Register::new(Group::Managers));
        let clocks = ClockFile::new(clocks);
        manager.clocks = clocks.read(now);
        let (mut begun, mut outputs) = (Vec::new(), Vec::new());
        let replica = Replica::start(now, replica, loaded, machine, &mut begun);
        let core = Manager::start(now, manager, replica, begun, &mut outputs);
        let (outlet, news) = Outlet::new();
        let this = Self {
            core,
            group,
            contacts: Contacts::new(peers.into_iter().filter(|peer| *peer != own)),
            calls: Calls::default(),
            requests: BTreeMap::new(),
            last_request: 0,
            outlet,
            names: BTreeMap::new(),
            counts: Counts::default(),
            about: About::default(),
            events: ClusterEvents::default(),
            newcomers: Newcomers::default(),
            hands,
            sources,
            disk,
            log,
            blobs,
            clocks,
            waiting,
            timer: None,
            outputs,
            has_left: false,
        };
        Ok((this, ManagerHandle::new(calls), news))
    }

    /// Runs until it has left its group, is told to stop, or cannot continue.
    pub async fn run(mut self, mut shutdown: Shutdown) -> Result<(), ManagerError> {
        self.perform()?;
        loop {
            self.contacts.dial(clock::now(), &self.hands.transport);
            let is_behind = self.log.backlog() >= LOG_BACKLOG_MAX;
            let look = clock::instant_of(self.next_look());
            let happening = tokio::select! {
                event = self.disk.recv() => Happening::Disk(event.ok_or(ManagerError::Ended("a disk"))?),
                event = self.sources.membership.recv() => {
                    Happening::Membership(event.ok_or(ManagerError::Ended("the failure detector"))?)
                }
                event = self.sources.transport.recv(), if !is_behind => {
                    Happening::Transport(event.ok_or(ManagerError::Ended("the transport"))?)
                }
                Some(call) = self.waiting.recv(), if !is_behind => Happening::Call(call),
                () = tokio::time::sleep_until(look.into()) => Happening::Timer,
                () = shutdown.stopped() => return Ok(()),
            };
            self.look_at_queues();
            self.handle(happening)?;
            self.drain()?;
            self.clocks.keep(clock::now(), self.core.clocks());
            if self.has_left {
                return Ok(());
            }
            // What was said leaves before more is said.
            tokio::task::yield_now().await;
        }
    }

    /// Handles what is ready, one of each source in turn.
    fn drain(&mut self) -> Result<(), ManagerError> {
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
