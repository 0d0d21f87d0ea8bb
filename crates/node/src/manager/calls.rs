//! Calls of other parts of the node, from the question to the one reply.

use std::collections::BTreeMap;
use std::fmt;

use hyperscale_consensus::Machine;
use hyperscale_consensus::replica::{CallId, Replica, Reply, Request};
use tokio::sync::{mpsc, oneshot};

/// Calls that the loop has not taken yet; a caller waits beyond.
pub const CALLS_MAX: usize = 1_024;

/// The loop has ended; what became of the call is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node is stopping")]
pub struct Stopped;

type Look<M> = Box<dyn FnOnce(&Replica<M>) + Send>;

/// A call.
pub enum Call<M: Machine> {
    /// Something that the group is to do.
    Request(Request, oneshot::Sender<Reply<M::Outcome>>),
    /// A look at the replica, between two events.
    Look(Look<M>),
}

impl<M: Machine> fmt::Debug for Call<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(request, _) => write!(f, "{request:?}"),
            Self::Look(_) => f.write_str("Look"),
        }
    }
}

/// Cheap handle to ask a replica for something.
pub struct ReplicaHandle<M: Machine> {
    calls: mpsc::Sender<Call<M>>,
}

impl<M: Machine> Clone for ReplicaHandle<M> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone() }
    }
}

impl<M: Machine> fmt::Debug for ReplicaHandle<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplicaHandle")
    }
}

impl<M: Machine> ReplicaHandle<M> {
    pub(super) fn new(calls: mpsc::Sender<Call<M>>) -> Self {
        Self { calls }
    }

    /// Asks for something and waits for the reply.
    pub async fn call(&self, request: Request) -> Result<Reply<M::Outcome>, Stopped> {
        let (sender, reply) = oneshot::channel();
        self.calls.send(Call::Request(request, sender)).await.map_err(|_| Stopped)?;
        reply.await.map_err(|_| Stopped)
    }

    /// Looks at the replica. Whoever decides something by it asks for a read first.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Replica<M>) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let (sender, seen) = oneshot::channel();
        let look = move |replica: &Replica<M>| {
            // Nobody may wait for it any more.
            let _ = sender.send(look(replica));
        };
        self.calls.send(Call::Look(Box::new(look))).await.map_err(|_| Stopped)?;
        seen.await.map_err(|_| Stopped)
    }
}

/// Calls that the replica has not replied to. It replies to every one, and refuses more than it can hold.
pub(super) struct Calls<M: Machine> {
    last: u64,
    open: BTreeMap<CallId, oneshot::Sender<Reply<M::Outcome>>>,
}

impl<M: Machine> Default for Calls<M> {
    fn default() -> Self {
        Self { last: 0, open: BTreeMap::new() }
    }
}

impl<M: Machine> Calls<M> {
    pub(super) fn begin(&mut self, reply: oneshot::Sender<Reply<M::Outcome>>) -> CallId {
        self.last += 1;
        let id = CallId(self.last);
        self.open.insert(id, reply);
        id
    }

    pub(super) fn end(&mut self, call: CallId, reply: Reply<M::Outcome>) {
        if let Some(caller) = self.open.remove(&call) {
            // Nobody may wait for it any more.
            let _ = caller.send(reply);
        }
    }
}
