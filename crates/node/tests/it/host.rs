//! Whole nodes on loopback, each on a thread of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use hyperscale_node::launch::{self, Settings, Sockets, Timers, WorkerOffer};
use hyperscale_node::manager::{ManagerError, ManagerHandle};
use hyperscale_node::membership::MembershipHandle;
use hyperscale_node::shutdown::{Stopper, shutdown};
use hyperscale_node::transport::TransportHandle;
use hyperscale_node::worker::{WorkerError, WorkerHandle};
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::secret::Secrets;

use super::support::domain;

pub(crate) fn bind() -> Sockets {
    Sockets::bind(([127, 0, 0, 1], 0).into()).unwrap()
}

pub(crate) fn settings(name: &str, folder: Option<PathBuf>, sockets: Sockets, secrets: Secrets) -> Settings {
    let mut timers = Timers::test();
    (timers.log.snapshot_entries, timers.log.trailing_entries) = (50, 5);
    Settings {
        name: name.to_owned(),
        domain: domain(),
        datacenter: "dc".to_owned(),
        secrets,
        certificates: None,
        timers,
        data: folder,
        sockets,
        advertised: None,
        api: None,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A manager that runs.
pub(crate) struct Manager {
    pub(crate) node: NodeId,
    pub(crate) boot: BootEpoch,
    pub(crate) address: SocketAddr,
    pub(crate) handle: ManagerHandle,
    pub(crate) membership: MembershipHandle,
    pub(crate) transport: TransportHandle,
    stopper: Stopper,
    thread: JoinHandle<Result<(), ManagerError>>,
}

type Handles = (NodeId, BootEpoch, ManagerHandle, MembershipHandle, TransportHandle);

impl Manager {
    /// Starts a manager that lives in this folder, with these founders, itself included.
    pub(crate) fn start(folder: &Path, sockets: Sockets, founders: &[SocketAddr], secrets: Secrets) -> Self {
        let (founders, address) = (founders.to_vec(), sockets.address());
        let settings = settings("m", Some(folder.to_owned()), sockets, secrets);
        let (stopper, mut stop) = shutdown();
        let (sender, handles) = mpsc::channel();
        let thread = thread::spawn(move || {
            runtime().block_on(async {
                let mut manager = launch::Manager::start(settings, founders).unwrap();
                let handles: Handles = (
                    manager.node,
                    manager.boot,
                    manager.handle.clone(),
                    manager.membership.clone(),
                    manager.transport.clone(),
                );
                sender.send(handles).unwrap();
                tokio::select! {
                    ended = manager.ended() => return ended,
                    () = stop.stopped() => manager.stop(),
                }
                manager.ended().await
            })
        });
        let (node, boot, handle, membership, transport): Handles = handles.recv().unwrap();
        Self { node, boot, address, handle, membership, transport, stopper, thread }
    }

    /// Ends it without a word to the others. Its address is free then.
    pub(crate) fn stop(self) -> SocketAddr {
        self.stopper.stop();
        self.thread.join().unwrap().unwrap();
        self.address
    }
}

/// A worker that runs.
pub(crate) struct Worker {
    pub(crate) handle: WorkerHandle,
    stopper: Stopper,
    thread: JoinHandle<Result<(), WorkerError>>,
}

impl Worker {
    pub(crate) fn start(name: &str, managers: &[SocketAddr], cores: u32, secrets: Secrets) -> Self {
        let (settings, managers) = (settings(name, None, bind(), secrets), managers.to_vec());
        let offer = WorkerOffer { cores, capabilities: std::collections::BTreeSet::new(), cpus: Vec::new() };
        let (stopper, mut stop) = shutdown();
        let (sender, handles) = mpsc::channel();
        let thread = thread::spawn(move || {
            runtime().block_on(async {
                let mut worker = launch::Worker::start(settings, managers, offer).unwrap();
                sender.send(worker.handle.clone()).unwrap();
                tokio::select! {
                    ended = worker.ended() => return ended,
                    () = stop.stopped() => worker.stop(),
                }
                worker.ended().await
            })
        });
        Self { handle: handles.recv().unwrap(), stopper, thread }
    }

    /// Ends it at once, as if it had been killed.
    pub(crate) fn kill(self) {
        self.stopper.stop();
        self.thread.join().unwrap().unwrap();
    }

    /// Waits until it has ended by itself.
    pub(crate) fn join(self) {
        self.thread.join().unwrap().unwrap();
    }
}
