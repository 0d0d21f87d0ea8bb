//! What the tests share: nodes on loopback with short times, and waiting for what can be observed.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use hyperscale_node::shutdown::{Stopper, shutdown};
use hyperscale_node::transport::{Certificates, Event, Options, Timing, Transport, TransportHandle};
use hyperscale_types::{NodeId, Role};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::hello::{Local, PROTOCOL_MAX, PROTOCOL_MIN};
use hyperscale_wire::link::Keys;
use hyperscale_wire::messages::{self, NodeRef};
use hyperscale_wire::secret::{Secret, Secrets};
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;

/// Bound of every wait: far above what anything takes, so that only what never happens fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A secret of another deployment.
pub(crate) const FOREIGN_SECRET: &str =
    "hex:8f1c2d3b4a5968778695a4b3c2d1e0f00112a3344c5566d788f9aabbccddee0e";

pub(crate) fn development() -> Secrets {
    Secrets { current: Secret::development(), previous: None }
}

pub(crate) fn foreign() -> Secret {
    Secret::parse(FOREIGN_SECRET, "test").unwrap()
}

pub(crate) fn id(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

pub(crate) fn domain() -> Domain {
    Domain::new("test", "").unwrap()
}

pub(crate) fn fast() -> Timing {
    Timing {
        back_off_min: Duration::from_millis(10),
        back_off_max: Duration::from_millis(100),
        ..Timing::default()
    }
}

pub(crate) fn local(node: NodeId, boot: u64, address: SocketAddr) -> Local {
    Local {
        domain: domain(),
        node: NodeRef {
            node_id: node.get(),
            boot_epoch: boot,
            role: messages::Role::from(Role::Manager).into(),
            peer_address: address.to_string(),
            gossip_address: address.to_string(),
            ..NodeRef::default()
        },
        versions: (PROTOCOL_MIN, PROTOCOL_MAX),
        features: Vec::new(),
        build: "test".to_owned(),
    }
}

pub(crate) fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A transport that runs, and what it tells.
pub(crate) struct Peer {
    pub(crate) node: NodeId,
    pub(crate) address: SocketAddr,
    pub(crate) handle: TransportHandle,
    pub(crate) events: Receiver<Event>,
    stopper: Stopper,
    tasks: JoinSet<()>,
}

impl Peer {
    pub(crate) fn start(number: u64) -> Self {
        Self::with(number, 1, development(), fast())
    }

    pub(crate) fn with(number: u64, boot: u64, secrets: Secrets, timing: Timing) -> Self {
        Self::on(listen().0, number, boot, secrets, timing)
    }

    pub(crate) fn secured(number: u64, certificates: Certificates) -> Self {
        let local = |node, address| local(node, 1, address);
        Self::made(listen().0, number, local, development(), Some(certificates), fast())
    }

    pub(crate) fn on(
        listener: TcpListener,
        number: u64,
        boot: u64,
        secrets: Secrets,
        timing: Timing,
    ) -> Self {
        Self::made(listener, number, |node, address| local(node, boot, address), secrets, None, timing)
    }

    /// One that speaks these versions only.
    pub(crate) fn speaking(number: u64, versions: (u32, u32)) -> Self {
        let local = |node, address| Local { versions, ..local(node, 1, address) };
        Self::made(listen().0, number, local, development(), None, fast())
    }

    fn made(
        listener: TcpListener,
        number: u64,
        local: impl FnOnce(NodeId, SocketAddr) -> Local,
        secrets: Secrets,
        certificates: Option<Certificates>,
        timing: Timing,
    ) -> Self {
        let (node, address) = (id(number), listener.local_addr().unwrap());
        let keys = Keys { domain: domain(), secrets };
        let options = Options { keys, local: local(node, address), certificates, timing };
        let (transport, handle, events) = Transport::new(listener, options);
        let (stopper, stop) = shutdown();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { transport.run(stop).await.unwrap() });
        Self { node, address, handle, events, stopper, tasks }
    }

    /// The next event that is looked for; others are passed over.
    pub(crate) async fn wait<T>(&mut self, mut look: impl FnMut(Event) -> Option<T>) -> T {
        let found = async {
            loop {
                let event = self.events.recv().await.expect("the transport runs");
                if let Some(found) = look(event) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("it happens in time")
    }

    pub(crate) async fn stop(mut self) {
        self.stopper.stop();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Waits until something can be observed.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    let look = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("it happens in time");
}
