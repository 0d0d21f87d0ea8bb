//! A manager with its API: started, waited for and stopped as one.

use std::net::SocketAddr;
use std::sync::Arc;

use hyperscale_api::{Limits, Listener, Server};
use hyperscale_cluster::manager::{Request, Response};
use hyperscale_node::launch::{Manager, Settings};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::backend::{Identity, ManagerBackend};
use super::node::NodeError;

/// A manager that runs and serves its API.
pub(crate) struct ServedManager {
    manager: Manager,
    stop: watch::Sender<bool>,
    /// The API, and what carries events to its followers; they end with this value.
    _tasks: JoinSet<()>,
}

impl ServedManager {
    /// Starts both on this runtime. `founders` are the addresses of all managers that found the group; `http` is where the API
    /// was bound.
    pub(crate) fn start(
        settings: Settings,
        founders: Vec<SocketAddr>,
        (listener, http): (Listener, SocketAddr),
    ) -> Result<Self, NodeError> {
        let listen = settings.advertised.unwrap_or_else(|| settings.sockets.address());
        let (name, datacenter) = (settings.name.clone(), settings.datacenter.clone());
        let mut manager = Manager::start(settings, founders)?;
        let identity = Identity { name, node: manager.node, boot: manager.boot.0, datacenter, listen, http };
        let handle = manager.handle.clone();
        let network = (manager.membership.clone(), manager.transport.clone());
        let (_, empty) = tokio::sync::mpsc::channel(1);
        let news = std::mem::replace(&mut manager.news, empty);
        let (backend, carrying) = ManagerBackend::new(identity, handle, network, news);
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(carrying);
        tasks.spawn(Server { listener, backend: Arc::new(backend), limits: Limits::NODE }.run(stopped));
        Ok(Self { manager, stop, _tasks: tasks })
    }

    /// Has it hand over what it leads and leave its group; it ends then. Otherwise why it cannot.
    pub(crate) async fn leave(&self) -> Result<(), String> {
        match self.manager.handle.request(Request::Leave).await {
            Ok(Response::Draining { .. }) => Ok(()),
            Ok(Response::Rejected(rejection)) => Err(rejection.to_string()),
            Ok(other) => Err(format!("the manager answered {other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Tells it to stop. Requests under way are answered before the manager goes.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
        self.manager.stop();
    }

    /// Waits for its end. May be dropped and called again.
    pub(crate) async fn ended(&mut self) -> Result<(), NodeError> {
        let ended = self.manager.ended().await;
        self.stop.send_replace(true);
        ended.map_err(|error| NodeError::Ended(error.to_string()))
    }
}
