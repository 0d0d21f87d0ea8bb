//! A task node with its API: started, waited for and stopped as one.
//!
//! The API is served before the database is reached, and says that it is not: a node waits for its database, and recovers when it
//! returns.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_api::{Limits, Listener, Server};
use hyperscale_tasks::domain::{NodeStatus, Role, TokenKey};
use hyperscale_tasks::runtime::{self, Executors, NodeHandle, NodeOptions, TaskNode};
use hyperscale_tasks::store::{Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::backend::{Plane, TaskBackend, Worker};
use super::executors;
use super::settings::{NodeSettings, ServeError};

/// Pauses between attempts to reach the database.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LONGEST: Duration = Duration::from_secs(5);

/// A node that runs and serves its API.
pub(crate) struct ServedNode {
    settings: NodeSettings,
    executors: Executors,
    address: SocketAddr,
    backend: Arc<TaskBackend>,
    stop: watch::Sender<bool>,
    server: JoinSet<()>,
}

/// Why an attempt to run the node ended.
enum Trouble {
    /// The database is not available; it may return.
    Away(String),
    /// The node cannot run.
    Final(ServeError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) | StoreError::Contended(_) => Self::Away(error.to_string()),
            other => Self::Final(ServeError::Ended(other.to_string())),
        }
    }
}

impl ServedNode {
    /// Serves the API; `address` is where it was bound.
    pub(crate) fn start(
        settings: NodeSettings,
        (listener, address): (Listener, SocketAddr),
    ) -> Result<Self, ServeError> {
        let executors = executors::all(&settings.executors)?;
        let backend = Arc::new(TaskBackend::new(executors.clone(), settings.settings));
        let (stop, stopped) = watch::channel(false);
        let mut server = JoinSet::new();
        let limits = Limits::NODE;
        server.spawn(Server { listener, backend: Arc::clone(&backend), limits }.run(stopped));
        Ok(Self { settings, executors, address, backend, stop, server })
    }

    /// Runs the node until `shutdown`, through times without a database. What runs then gets the grace of the settings.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let ended = self.keep_running(&shutdown).await;
        self.stop.send_replace(true);
        while self.server.join_next().await.is_some() {}
        ended
    }

    async fn keep_running(&self, shutdown: &CancellationToken) -> Result<(), ServeError> {
        let (mut pause, mut told) = (RETRY_FIRST, None);
        while !shutdown.is_cancelled() {
            match self.run_once(shutdown).await {
                Ok(()) => return Ok(()),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Away(why)) => {
                    if told.as_ref() != Some(&why) {
                        tracing::warn!("{why}; trying again until it is back");
                        told = Some(why.clone());
                    }
                    self.backend.set(Err(why));
                }
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(RETRY_LONGEST),
                () = shutdown.cancelled() => {}
            }
        }
        Ok(())
    }

    /// Opens the database and runs the node on it.
    async fn run_once(&self, shutdown: &CancellationToken) -> Result<(), Trouble> {
        let is_observer = self.settings.settings.role == Role::Observer;
        let opened = tokio::select! {
            opened = self.settings.database.open(is_observer) => opened,
            () = shutdown.cancelled() => return Ok(()),
        };
        let store = opened?;
        if is_observer {
            tracing::info!("observes");
            self.backend.set(Ok(Plane::new(store, None)));
            shutdown.cancelled().await;
            return Ok(());
        }
        self.check_alone(&store).await?;
        let key = token_key(&store).await?;
        let node = self.node(store.clone())?;
        let handle: NodeHandle = node.handle();
        self.backend.set(Ok(Plane::new(store, Some(Worker { node: handle, key }))));
        // The shutdown of the process ends the node, but the end of the node does not end the process.
        match node.run(shutdown.child_token()).await {
            Ok(()) => Ok(()),
            Err(runtime::NodeError::Store(error)) => Err(error.into()),
            Err(error) => Err(Trouble::Final(ServeError::Ended(error.to_string()))),
        }
    }

    fn node(&self, store: Arc<dyn Store>) -> Result<TaskNode, Trouble> {
        let options = NodeOptions {
            name: self.settings.name.clone(),
            address: Some(self.address.to_string()),
            capabilities: self.settings.capabilities.clone(),
            settings: self.settings.settings,
            executors: self.executors.clone(),
            store,
        };
        TaskNode::new(options).map_err(|error| Trouble::Final(ServeError::Ended(error.to_string())))
    }

    /// Refuses a database that another live process uses, unless that is meant.
    async fn check_alone(&self, store: &Arc<dyn Store>) -> Result<(), Trouble> {
        if self.settings.is_clustered {
            return Ok(());
        }
        let mut others = store.nodes().await?;
        others.retain(|node| node.status != NodeStatus::Dead && node.address.is_some());
        let boots: Vec<_> = others.iter().map(|node| node.boot).collect();
        let dead = store.dead_boots(&boots).await?;
        match others.into_iter().find(|node| !dead.contains(&node.boot)) {
            Some(other) => Err(Trouble::Final(ServeError::Taken(other.profile.name))),
            None => Ok(()),
        }
    }
}

/// What lease tokens are signed with, the same for all nodes of the database.
async fn token_key(store: &Arc<dyn Store>) -> Result<TokenKey, Trouble> {
    let secret = store.token_secret(runtime::new_secret()).await?;
    Ok(TokenKey::new(&secret))
}
