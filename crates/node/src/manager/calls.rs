//! Calls of other parts of the node, from the question to the one response.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use hyperscale_cluster::manager::{Manager, Request, Response};
use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::{Outcome, Register};
use hyperscale_consensus::replica::{self, CallId, Reply};
use hyperscale_types::NodeId;
use tokio::sync::{mpsc, oneshot};

use super::events::ClusterEvents;
use super::newcomers::Newcomers;

/// Calls that the loop has not taken yet; a caller waits beyond.
pub const CALLS_MAX: usize = 1_024;
/// Calls of callers are numbered from here: above every number of the core.
const FIRST_CALL: u64 = 1 << 63;

/// The loop has ended; what became of the call is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node is stopping")]
pub struct Stopped;

/// The manager between two events, and what it knows about the names of nodes.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The core.
    pub manager: &'a Manager<Register>,
    /// What nodes call themselves.
    pub names: &'a BTreeMap<NodeId, String>,
    /// What happened so often.
    pub counts: Counts,
    /// What happened lately.
    pub events: &'a ClusterEvents,
    /// Managers that are not members of the group.
    pub newcomers: &'a Newcomers,
}

/// What happened so often in this life, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Changes of the cluster leader that this replica saw.
    pub leader_changes: u64,
    /// Snapshots of the leader that replaced the state of this replica.
    pub snapshots_restored: u64,
}

type Look = Box<dyn FnOnce(Seen<'_>) + Send>;

/// A call.
pub(crate) enum Call {
    /// Something that the group is to do.
    Replica(replica::Request, oneshot::Sender<Reply<Outcome>>),
    /// Something that a client wants.
    Client(Request, oneshot::Sender<Response>),
    /// A look at the core, between two events.
    Look(Look),
    /// A blob of this disk.
    Read(BlobId, oneshot::Sender<Option<Bytes>>),
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replica(request, _) => write!(f, "{request:?}"),
            Self::Client(request, _) => write!(f, "{request:?}"),
            Self::Look(_) => f.write_str("Look"),
            Self::Read(blob, _) => write!(f, "Read({blob:?})"),
        }
    }
}

/// Cheap handle to ask a manager for something.
#[derive(Clone, Debug)]
pub struct ManagerHandle {
    calls: mpsc::Sender<Call>,
}

impl ManagerHandle {
    pub(super) fn new(calls: mpsc::Sender<Call>) -> Self {
        Self { calls }
    }

    /// Asks the replica for something and waits for the reply.
    pub async fn replica(&self, request: replica::Request) -> Result<Reply<Outcome>, Stopped> {
        self.ask(|sender| Call::Replica(request, sender)).await
    }

    /// Asks the manager for what a client wants, and waits for the response.
    pub async fn request(&self, request: Request) -> Result<Response, Stopped> {
        self.ask(|sender| Call::Client(request, sender)).await
    }

    /// Reads a blob of this disk; nothing if it is not there.
    pub async fn read(&self, blob: BlobId) -> Result<Option<Bytes>, Stopped> {
        self.ask(|sender| Call::Read(blob, sender)).await
    }

    /// Looks at the manager. Whoever decides something by it asks for a read first.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(Seen<'_>) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        self.ask(|sender| {
            Call::Look(Box::new(move |seen| {
                // Nobody may wait for it any more.
                let _ = sender.send(look(seen));
            }))
        })
        .await
    }

    async fn ask<T>(&self, call: impl FnOnce(oneshot::Sender<T>) -> Call) -> Result<T, Stopped> {
        let (sender, response) = oneshot::channel();
        self.calls.send(call(sender)).await.map_err(|_| Stopped)?;
        response.await.map_err(|_| Stopped)
    }
}

/// Calls that the replica has not replied to. It replies to every one, and refuses more than it can hold.
#[derive(Debug)]
pub(super) struct Calls {
    next: u64,
    open: BTreeMap<CallId, oneshot::Sender<Reply<Outcome>>>,
}

impl Default for Calls {
    fn default() -> Self {
        Self { next: FIRST_CALL, open: BTreeMap::new() }
    }
}

impl Calls {
    pub(super) fn begin(&mut self, reply: oneshot::Sender<Reply<Outcome>>) -> CallId {
        let id = CallId(self.next);
        self.next += 1;
        self.open.insert(id, reply);
        id
    }

    pub(super) fn end(&mut self, call: CallId, reply: Reply<Outcome>) {
        if let Some(caller) = self.open.remove(&call) {
            // Nobody may wait for it any more.
            let _ = caller.send(reply);
        }
    }
}
