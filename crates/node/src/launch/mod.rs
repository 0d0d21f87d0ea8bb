//! Whole nodes: directory, sockets, transport, failure detector and the loop of a role, joined and started.
//!
//! A node runs on the runtime it is started on; [`Manager::ended`] and [`Worker::ended`] resolve when it has ended, by itself or
//! because it was told to.

mod sockets;
mod timers;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hyperscale_cluster::{manager as manager_core, worker as worker_core};
use hyperscale_codec::Versions;
use hyperscale_consensus::register::VERSION;
use hyperscale_consensus::storage::StorageError;
use hyperscale_consensus::{Addresses, DirectoryId, replica};
use hyperscale_swim::{Command, LocalNode};
use hyperscale_types::{BootEpoch, NodeId, Role};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::hello::{Local, PROTOCOL_MAX, PROTOCOL_MIN};
use hyperscale_wire::link::Keys;
use hyperscale_wire::messages::{self, NodeRef};
use hyperscale_wire::secret::Secrets;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use sockets::Sockets;
pub use timers::{Timers, TimersError};

use crate::directory::{Directory, DirectoryError, Ownership};
use crate::entropy;
use crate::manager::{self, Hands, JobNews, ManagerError, ManagerHandle, ManagerLoop, Sources};
use crate::membership::{self, Membership, MembershipHandle};
use crate::shutdown::{Shutdown, Stopper, shutdown};
use crate::transport::{self, Certificates, ForeignCertificate, Transport, TransportHandle};
use crate::worker::{self, WorkerError, WorkerHandle, WorkerLoop};

/// How long a blob that nothing names is kept.
const BLOB_GRACE: Duration = Duration::from_mins(1);
/// Folder of the data directory into which a worker unpacks plans.
const PLANS: &str = "plans";

/// What every node is made from.
#[derive(Debug)]
pub struct Settings {
    /// What people call it.
    pub name: String,
    /// Cluster and environment.
    pub domain: Domain,
    /// Its datacenter, which is also the name of the managers' log group.
    pub datacenter: String,
    /// Shared secrets.
    pub secrets: Secrets,
    /// Mutual TLS in place of the shared secret.
    pub certificates: Option<Certificates>,
    /// Times, the same for all nodes of the datacenter.
    pub timers: Timers,
    /// Its data directory; none: a temporary one, for workers and tests.
    pub data: Option<PathBuf>,
    /// Its sockets.
    pub sockets: Sockets,
    /// Where others reach it, if that is not where its sockets are bound.
    pub advertised: Option<SocketAddr>,
    /// Where its API listens.
    pub api: Option<SocketAddr>,
}

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The times break the ladder.
    #[error(transparent)]
    Timers(#[from] TimersError),
    /// The certificate is for another cluster or role.
    #[error(transparent)]
    Certificate(#[from] ForeignCertificate),
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Log or blobs cannot be opened.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The failure detector did not start.
    #[error(transparent)]
    Membership(#[from] membership::StartError),
    /// The loop did not start.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

/// A manager that runs.
#[derive(Debug)]
pub struct Manager {
    /// Its node.
    pub node: NodeId,
    /// Its life.
    pub boot: BootEpoch,
    /// Asks it for something.
    pub handle: ManagerHandle,
    /// Events of jobs that it leads.
    pub news: mpsc::Receiver<JobNews>,
    /// Connections to other nodes.
    pub transport: TransportHandle,
    /// The failure detector.
    pub membership: MembershipHandle,
    running: Running<ManagerError>,
}

/// A worker that runs.
#[derive(Debug)]
pub struct Worker {
    /// Its node.
    pub node: NodeId,
    /// Its life.
    pub boot: BootEpoch,
    /// Asks it for something.
    pub handle: WorkerHandle,
    /// Connections to other nodes.
    pub transport: TransportHandle,
    /// The failure detector.
    pub membership: MembershipHandle,
    running: Running<WorkerError>,
}

/// What a node consists of beside its handles.
#[derive(Debug)]
struct Running<E> {
    tasks: JoinSet<Result<(), E>>,
    stopper: Stopper,
    _membership: Membership,
    /// Locked as long as the node runs.
    _directory: Directory,
}

impl<E: Send + 'static> Running<E> {
    fn new(stopper: Stopper, membership: Membership, directory: Directory) -> Self {
        Self { tasks: JoinSet::new(), stopper, _membership: membership, _directory: directory }
    }

    async fn ended(&mut self) -> Result<(), E> {
        let mut outcome = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            // Whichever part ends first, the others are of no use without it.
            self.stopper.stop();
            match ended {
                Ok(Ok(())) => {}
                Ok(Err(error)) => outcome = outcome.and(Err(error)),
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            }
        }
        outcome
    }
}

/// Parts that both roles have.
struct Parts {
    directory: Directory,
    address: SocketAddr,
    transport: Transport,
    hands: Hands,
    sources: Sources,
    membership: Membership,
    stopper: Stopper,
    shutdown: Shutdown,
}

impl Manager {
    /// Starts a manager on this runtime. `founders` are the addresses of all managers that found the group, its own included;
    /// later they are only hints.
    pub fn start(settings: Settings, founders: Vec<SocketAddr>) -> Result<Self, LaunchError> {
        let (datacenter, api, timers) = (settings.datacenter.clone(), settings.api, settings.timers.clone());
        let parts = Parts::start(settings, Role::Manager, &founders)?;
        let (node, boot) = (parts.directory.node(), parts.directory.boot());
        let first_number = boot.0 << 32;
        let replica = replica::Options {
            node,
            directory: DirectoryId::default(),
            addresses: Addresses { peer: parts.address, api },
            boot,
            peers: founders.len(),
            first_number,
            version: VERSION,
            blobs: std::collections::BTreeSet::new(),
            blob_grace: BLOB_GRACE,
            config: hyperscale_consensus::Config { seed: entropy::seed(), ..timers.log },
        };
        let core = manager_core::Options {
            worker_lease: timers.worker_lease,
            job_lease: timers.job_lease,
            ..manager_core::Options::lan(node, first_number, entropy::seed())
        };
        let options = manager::Options {
            replica,
            manager: core,
            log: parts.directory.open_log(&datacenter)?,
            blobs: parts.directory.open_blobs()?,
            clocks: parts.directory.clocks(),
            group: datacenter,
            peers: founders,
        };
        let hands = parts.hands.clone();
        let (run, handle, news) = ManagerLoop::start(options, parts.hands, parts.sources)?;
        let (transport, shutdown) = (parts.transport, parts.shutdown);
        let run = run.run(shutdown.clone());
        let ended = || ManagerError::Ended("the transport");
        let mut running = Running::new(parts.stopper, parts.membership, parts.directory);
        running.tasks.spawn(run);
        running.tasks.spawn(async move { transport.run(shutdown).await.map_err(|_| ended()) });
        Ok(Self {
            node,
            boot,
            handle,
            news,
            transport: hands.transport,
            membership: hands.membership,
            running,
        })
    }

    /// Tells it to stop, without a word to the others.
    pub fn stop(&self) {
        self.running.stopper.stop();
    }

    /// Waits for its end. May be dropped and called again.
    pub async fn ended(&mut self) -> Result<(), ManagerError> {
        self.running.ended().await
    }
}

/// What a worker offers.
#[derive(Clone, Debug)]
pub struct WorkerOffer {
    /// Cores.
    pub cores: u32,
    /// What it can beyond what every worker can.
    pub capabilities: std::collections::BTreeSet<String>,
    /// CPUs to pin its cores to, by number of the core; none is pinned if there are fewer.
    pub cpus: Vec<usize>,
}

impl Worker {
    /// Starts a worker on this runtime; `managers` are addresses to begin with.
    pub fn start(
        settings: Settings,
        managers: Vec<SocketAddr>,
        offer: WorkerOffer,
    ) -> Result<Self, LaunchError> {
        let name = settings.name.clone();
        let parts = Parts::start(settings, Role::Worker, &managers)?;
        let (node, boot) = (parts.directory.node(), parts.directory.boot());
        let core = worker_core::Options {
            capabilities: offer.capabilities,
            ..worker_core::Options::new(boot, offer.cores, entropy::seed())
        };
        let cpus = if offer.cpus.len() < offer.cores as usize { Vec::new() } else { offer.cpus };
        let folder = parts.directory.path().join(PLANS);
        let options = worker::Options { worker: core, name, managers, cpus, folder };
        let hands = parts.hands.clone();
        let (run, handle) = WorkerLoop::new(options, parts.hands, parts.sources);
        let (transport, shutdown) = (parts.transport, parts.shutdown);
        let run = run.run(shutdown.clone());
        let ended = || WorkerError::Ended("the transport");
        let mut running = Running::new(parts.stopper, parts.membership, parts.directory);
        running.tasks.spawn(run);
        running.tasks.spawn(async move { transport.run(shutdown).await.map_err(|_| ended()) });
        Ok(Self { node, boot, handle, transport: hands.transport, membership: hands.membership, running })
    }

    /// Tells it to stop at once; what runs is cut off and its results are lost.
    pub fn stop(&self) {
        self.running.stopper.stop();
    }

    /// Waits for its end: it has drained, was stopped, or could not continue. May be dropped and called again.
    pub async fn ended(&mut self) -> Result<(), WorkerError> {
        self.running.ended().await
    }
}

impl Parts {
    fn start(settings: Settings, role: Role, contacts: &[SocketAddr]) -> Result<Self, LaunchError> {
        settings.timers.check()?;
        let owner = Ownership { domain: settings.domain.clone(), role };
        let named = match &settings.certificates {
            Some(certificates) => certificates.names(role, settings.domain.cluster())?,
            None => None,
        };
        let directory = match &settings.data {
            Some(path) => Directory::open(path, &owner, named)?,
            None => Directory::temporary(&owner, named)?,
        };
        let (node, boot) = (directory.node(), directory.boot());
        let address = settings.advertised.unwrap_or_else(|| settings.sockets.address());
        let local = Local {
            domain: settings.domain.clone(),
            node: NodeRef {
                node_id: node.get(),
                boot_epoch: boot.0,
                role: messages::Role::from(role).into(),
                datacenter: settings.datacenter,
                gossip_address: address.to_string(),
                peer_address: address.to_string(),
                api_address: settings.api.map(|api| api.to_string()).unwrap_or_default(),
                name: settings.name,
            },
            versions: (PROTOCOL_MIN, PROTOCOL_MAX),
            features: Vec::new(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let Sockets { tcp, udp, .. } = settings.sockets;
        let options = transport::Options {
            keys: Keys { domain: settings.domain.clone(), secrets: settings.secrets.clone() },
            local,
            certificates: settings.certificates,
            timing: settings.timers.connections,
        };
        let (transport, handle, events): (_, _, mpsc::Receiver<transport::Event>) =
            Transport::new(tcp, options);
        let peer = hyperscale_swim::Peer { node, addr: address, role };
        let options = membership::Options {
            config: settings.timers.membership,
            identity: LocalNode { peer, boot },
            domain: settings.domain,
            secrets: settings.secrets,
            versions: Versions::OF_THIS_BUILD,
            seed: entropy::seed(),
        };
        let (membership, news) = Membership::start(udp, options, handle.clone())?;
        let joined = membership.handle().command(Command::Join { contacts: contacts.to_vec() });
        joined.expect("a detector that has just started has room for a command");
        let (stopper, shutdown) = shutdown();
        Ok(Self {
            directory,
            address,
            transport,
            hands: Hands { transport: handle, membership: membership.handle() },
            sources: Sources { transport: events, membership: news },
            membership,
            stopper,
            shutdown,
        })
    }
}
