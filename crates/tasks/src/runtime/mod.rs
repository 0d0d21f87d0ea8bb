//! A node of the task plane: it claims, executes and reports tasks, and does the leader's duties while it leads.
//!
//! Three loops run until the node is told to stop, and end with it: the worker (claims, renewals, reports), the leader
//! (election and duties) and the registry (heartbeats). Executors are tasks of the worker. None of them decides anything that the
//! store does not check again.

mod attempt;
mod counters;
mod duties;
mod executor;
pub mod executors;
mod id;
mod leader;
mod registry;
mod worker;

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use self::counters::{Counter, Counters};
pub use self::executor::{Context, Executor, Executors, Failure};
pub use self::id::{new_boot_id, new_schedule_id, new_secret, new_task_id};
use crate::domain::{BootId, Epoch, NodeProfile, Role, Settings, SettingsError};
use crate::store::{Leadership, Store, StoreError};

/// What a node is made of.
pub struct NodeOptions {
    /// Its name. Two processes with the same one are two nodes all the same.
    pub name: String,
    /// Where its API is reached.
    pub address: Option<String>,
    /// What it says about itself for placement.
    pub capabilities: Map<String, Value>,
    /// Its times and limits.
    pub settings: Settings,
    /// What it can run.
    pub executors: Executors,
    /// Its database.
    pub store: Arc<dyn Store>,
}

/// Why a node ended that was not told to.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The settings cannot work together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The role is `leader`, and another node leads.
    #[error(
        "leadership could not be acquired within {0:?}; another node leads. Use the role auto to wait for it"
    )]
    NotLeader(std::time::Duration),
    /// The database could not be used at the start.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A node that can be run.
pub struct TaskNode {
    shared: Arc<Shared>,
    role: watch::Sender<Role>,
}

/// What the loops share.
struct Shared {
    store: Arc<dyn Store>,
    executors: Executors,
    profile: NodeProfile,
    address: Option<String>,
    boot: BootId,
    settings: Settings,
    counters: Counters,
    leads: watch::Sender<Option<Epoch>>,
}

/// A handle on a running node.
#[derive(Clone)]
pub struct NodeHandle {
    shared: Arc<Shared>,
    role: watch::Sender<Role>,
}

impl TaskNode {
    /// Checks the options. Nothing is touched yet.
    pub fn new(options: NodeOptions) -> Result<Self, NodeError> {
        options.settings.check()?;
        let NodeOptions { name, address, capabilities, settings, executors, store } = options;
        let profile = NodeProfile { name, executors: executors.names(), capabilities };
        let role = watch::Sender::new(settings.role);
        let (counters, leads, boot) = (Counters::default(), watch::Sender::new(None), new_boot_id());
        let shared = Shared { store, executors, profile, address, boot, settings, counters, leads };
        Ok(Self { shared: Arc::new(shared), role })
    }

    /// A handle on it.
    pub fn handle(&self) -> NodeHandle {
        NodeHandle { shared: self.shared.clone(), role: self.role.clone() }
    }

    /// Runs until `shutdown`, then gives back what it has: unstarted work without spending an attempt, and its leadership.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), NodeError> {
        let shared = &self.shared;
        if let Err(error) = shared.store.hold_liveness(shared.boot).await {
            tracing::warn!(%error, "no liveness lock: a crash of this node is noticed when its leases end");
        }
        registry::register(shared).await?;
        let mut loops = JoinSet::new();
        loops.spawn(worker::run(shared.clone(), self.role.subscribe(), shutdown.clone()));
        loops.spawn(leader::run(shared.clone(), self.role.subscribe(), shutdown.clone()));
        loops.spawn(registry::run(shared.clone(), shutdown.clone()));
        let mut ended = Ok(());
        while let Some(joined) = loops.join_next().await {
            match joined {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    shutdown.cancel();
                    ended = Err(error);
                }
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        if let Err(error) = shared.store.deregister_node(&shared.profile.name, shared.boot).await {
            tracing::warn!(%error, "the node could not be removed from the registry");
        }
        ended
    }
}

impl NodeHandle {
    /// Its process.
    pub fn boot(&self) -> BootId {
        self.shared.boot
    }

    /// Changes its role: an observer finishes what it runs, takes nothing new and gives its leadership back.
    pub fn set_role(&self, role: Role) {
        self.role.send_replace(role);
    }

    /// The epoch it leads in, if it leads.
    pub fn leads(&self) -> watch::Receiver<Option<Epoch>> {
        self.shared.leads.subscribe()
    }

    /// Attempts that ended with their report accepted.
    pub fn finished(&self) -> u64 {
        self.shared.counters.finished.get()
    }

    /// Attempts whose lease was lost; their results were dropped.
    pub fn lost(&self) -> u64 {
        self.shared.counters.leases_lost.get()
    }

    /// Everything it counts.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Its role now.
    pub fn role(&self) -> Role {
        *self.role.borrow()
    }

    /// Takes leases that are over, now. Returns how many; nothing if it does not lead.
    pub async fn recover(&self) -> Result<Option<usize>, StoreError> {
        let Some(epoch) = *self.shared.leads.borrow() else { return Ok(None) };
        let (node, boot) = (self.shared.profile.name.clone(), self.shared.boot);
        duties::sweep(&self.shared, &Leadership { node, boot, epoch }, Vec::new()).await.map(Some)
    }
}
