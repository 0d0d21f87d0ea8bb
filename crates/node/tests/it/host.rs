//! A whole manager on loopback: directory, disks, transport, failure detector and replica, on a thread of its own.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::num::NonZeroU8;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyperscale_codec::Versions;
use hyperscale_consensus::register::{Group, Outcome, Register, VERSION};
use hyperscale_consensus::replica::{self, Output, Replica};
use hyperscale_consensus::{Addresses, DirectoryId, Event};
use hyperscale_node::directory::{Directory, Ownership};
use hyperscale_node::driver::{Driver, DriverError, Hands, Layer, Options, ReplicaHandle, Sources, Want};
use hyperscale_node::entropy;
use hyperscale_node::membership::{self, Membership, MembershipHandle};
use hyperscale_node::shutdown::{Stopper, shutdown};
use hyperscale_node::transport::{self, Transport, TransportHandle};
use hyperscale_swim::{Command, GossipConfig, LocalNode, ProbeConfig};
use hyperscale_types::{BootEpoch, NodeId, Now, Role};
use hyperscale_wire::connection::Incoming;
use hyperscale_wire::link::Keys;
use hyperscale_wire::secret::Secrets;
use tokio::task::JoinSet;

use super::support::{domain, fast, local};

/// Sockets of a node: one port for datagrams and streams.
pub(crate) struct Sockets {
    tcp: TcpListener,
    udp: UdpSocket,
    pub(crate) address: SocketAddr,
}

impl Sockets {
    pub(crate) fn bind() -> Self {
        loop {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = tcp.local_addr().unwrap();
            // Somebody else may have the same port for datagrams.
            if let Ok(udp) = UdpSocket::bind(address) {
                return Self { tcp, udp, address };
            }
        }
    }

    pub(crate) fn again(address: SocketAddr) -> Self {
        Self { tcp: TcpListener::bind(address).unwrap(), udp: UdpSocket::bind(address).unwrap(), address }
    }
}

/// Keeps the events of the log, in place of a role.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Recorder {
    pub(crate) fn has(&self, is_it: impl Fn(&Event) -> bool) -> bool {
        self.0.lock().unwrap().iter().any(is_it)
    }
}

impl Layer<Register> for Recorder {
    fn output(&mut self, _: Now, _: &Replica<Register>, output: &Output<Outcome>, _: &mut Vec<Want>) {
        if let Output::Event(event) = output {
            self.0.lock().unwrap().push(event.clone());
        }
    }
    fn incoming(&mut self, _: Now, _: (NodeId, Role), _: Incoming, _: &mut Vec<Want>) {}
    fn membership(&mut self, _: Now, _: &hyperscale_swim::Event, _: &mut Vec<Want>) {}
}

/// A manager that runs.
pub(crate) struct Manager {
    pub(crate) recorder: Recorder,
    pub(crate) node: NodeId,
    pub(crate) boot: BootEpoch,
    pub(crate) address: SocketAddr,
    pub(crate) replica: ReplicaHandle<Register>,
    pub(crate) membership: MembershipHandle,
    pub(crate) transport: TransportHandle,
    stopper: Stopper,
    thread: JoinHandle<Result<(), DriverError>>,
}

type Handles = (NodeId, BootEpoch, ReplicaHandle<Register>, MembershipHandle, TransportHandle);

impl Manager {
    /// Starts a manager that lives in this folder, with these founders, itself included.
    pub(crate) fn start(folder: &Path, sockets: Sockets, founders: &[SocketAddr], secrets: Secrets) -> Self {
        let (folder, founders, address) = (folder.to_owned(), founders.to_vec(), sockets.address);
        let (stopper, stop) = shutdown();
        let (sender, handles) = mpsc::channel();
        let recorder = Recorder::default();
        let layer = recorder.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let owner = Ownership { domain: domain(), role: Role::Manager };
                let directory = Directory::open(&folder, &owner).unwrap();
                let (node, boot) = (directory.node(), directory.boot());
                let keys = Keys { domain: domain(), secrets: secrets.clone() };
                let options = transport::Options {
                    keys,
                    local: local(node, boot.0, address),
                    certificates: None,
                    timing: fast(),
                };
                let (transport, handle, events) = Transport::new(sockets.tcp, options);
                let options = membership_options(node, boot, address, secrets);
                let (membership, news) = Membership::start(sockets.udp, options, handle.clone()).unwrap();
                membership.handle().command(Command::Join { contacts: founders.clone() }).unwrap();
                let options = driver_options(&directory, address, founders);
                let hands = Hands { transport: handle.clone(), membership: membership.handle() };
                let sources = Sources { transport: events, membership: news };
                let machine = Register::new(Group::Managers);
                let (driver, replica) = Driver::start(options, machine, layer, hands, sources).unwrap();
                sender.send((node, boot, replica, membership.handle(), handle)).unwrap();
                let mut tasks = JoinSet::new();
                tasks.spawn(transport.run(stop.clone()));
                let ended = driver.run(stop).await;
                tasks.join_all().await;
                ended
            })
        });
        let (node, boot, replica, membership, transport): Handles = handles.recv().unwrap();
        Self { recorder, node, boot, address, replica, membership, transport, stopper, thread }
    }

    /// Ends it without a word to the others. Its address is free then.
    pub(crate) fn stop(self) -> SocketAddr {
        self.stopper.stop();
        self.thread.join().unwrap().unwrap();
        self.address
    }
}

fn membership_options(
    node: NodeId,
    boot: BootEpoch,
    addr: SocketAddr,
    secrets: Secrets,
) -> membership::Options {
    let lan = hyperscale_swim::Config::lan();
    let config = hyperscale_swim::Config {
        probe: ProbeConfig {
            period: Duration::from_millis(200),
            timeout: Duration::from_millis(100),
            helpers: NonZeroU8::MIN,
        },
        gossip: GossipConfig { interval: Duration::from_millis(50), ..lan.gossip.clone() },
        sync_interval: Duration::from_secs(1),
        ..lan
    };
    let peer = hyperscale_swim::Peer { node, addr, role: Role::Manager };
    membership::Options {
        config,
        identity: LocalNode { peer, boot },
        domain: domain(),
        secrets,
        versions: Versions::OF_THIS_BUILD,
        seed: entropy::seed(),
    }
}

fn driver_options(directory: &Directory, address: SocketAddr, founders: Vec<SocketAddr>) -> Options {
    let config = hyperscale_consensus::Config {
        tick: Duration::from_millis(10),
        heartbeat: Duration::from_millis(50),
        election_min: Duration::from_millis(300),
        election_max: Duration::from_millis(600),
        snapshot_entries: 50,
        trailing_entries: 5,
        seed: entropy::seed(),
        ..hyperscale_consensus::Config::lan()
    };
    let replica = replica::Options {
        node: directory.node(),
        directory: DirectoryId::default(),
        addresses: Addresses { peer: address, api: None },
        boot: directory.boot(),
        peers: founders.len(),
        first_number: directory.boot().0 << 32,
        version: VERSION,
        blobs: std::collections::BTreeSet::new(),
        blob_grace: Duration::from_mins(1),
        config,
    };
    let (log, blobs) = (directory.open_log("dc").unwrap(), directory.open_blobs().unwrap());
    Options { replica, group: "dc".to_owned(), peers: founders, log, blobs }
}
