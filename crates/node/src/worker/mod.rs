//! The loop of a worker: everything that happens becomes one event, one synchronous handler tells the core, and what the core
//! wants is performed in its order.
//!
//! ```text
//! transport, membership, attempts, clock ──► Happening ──► Worker (core) ──► Output ──► transport, attempts
//!                                                             attempts: plan (a blob of a manager) ──► segment of the engine
//! ```
//! Nothing is decided here. Load runs on threads of the engine, each of which compares the lease itself before every request;
//! this loop only moves its deadline.

mod attempt;
mod handle;
mod machine;
mod plans;
mod unpack;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_cluster::message::JobAttempt;
use hyperscale_cluster::worker::{self, Input, Output, Worker};
use hyperscale_swim::WorkerLoad;
use hyperscale_types::{NodeId, Now};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::clock;
use crate::contacts::Contacts;
use crate::manager::{Hands, Sources, Stopped};
use crate::shutdown::Shutdown;
use attempt::{AttemptEvent, Running};
use machine::Machine;
use plans::{PlanLoaded, Plans};
pub use unpack::load_bundle;

/// What attempts say and the loop has not taken yet. Ten windows per second and core; an attempt waits beyond.
const EVENTS_MAX: usize = 1_024;
/// Calls that the loop has not taken yet; a caller waits beyond.
const CALLS_MAX: usize = 16;
/// Events handled before the loop looks at its timer and its end again.
const BATCH_MAX: usize = 256;

/// Why the loop ended without having been told to. The process has to end.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
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
#[derive(Clone, Debug)]
pub struct Options {
    /// Who the worker is in this life.
    pub worker: worker::Options,
    /// What plans see as `worker.id`.
    pub name: String,
    /// Addresses of managers to begin with.
    pub managers: Vec<SocketAddr>,
    /// CPUs to pin cores to, by number of the core; none is pinned if there are fewer than cores.
    pub cpus: Vec<usize>,
    /// Where files of plans are unpacked. Emptied at the start.
    pub folder: PathBuf,
}

/// How a worker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// It has a lease that it may use.
    pub is_registered: bool,
    /// Cores that are promised to nobody.
    pub cores_free: u32,
    /// Attempts that run or are being prepared.
    pub attempts: usize,
    /// What it says of itself.
    pub load: WorkerLoad,
    /// Attempts that run and whose job nobody leads.
    pub orphans: usize,
    /// What happened so often in this life.
    pub counters: worker::Counters,
}

enum Call {
    Drain,
    Status(oneshot::Sender<WorkerStatus>),
}

/// Cheap handle to ask a worker for something.
#[derive(Clone)]
pub struct WorkerHandle {
    calls: mpsc::Sender<Call>,
}

impl std::fmt::Debug for WorkerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkerHandle")
    }
}

impl WorkerHandle {
    /// Has it take nothing new, finish what runs, tell its results and end.
    pub async fn drain(&self) -> Result<(), Stopped> {
        self.calls.send(Call::Drain).await.map_err(|_| Stopped)
    }

    /// How it is.
    pub async fn status(&self) -> Result<WorkerStatus, Stopped> {
        let (sender, status) = oneshot::channel();
        self.calls.send(Call::Status(sender)).await.map_err(|_| Stopped)?;
        status.await.map_err(|_| Stopped)
    }
}

/// Something that happened to the node.
#[expect(clippy::large_enum_variant, reason = "most are messages, and none is kept")]
enum Happening {
    Transport(crate::transport::Event),
    Membership(crate::membership::Event),
    Attempt(JobAttempt, AttemptEvent),
    Plan(PlanLoaded),
    Call(Call),
    Timer,
}

/// The loop with everything it owns. Dropping it cuts all attempts off.
pub struct WorkerLoop {
    core: Worker,
    name: Arc<str>,
    cpus: Vec<usize>,
    contacts: Contacts,
    plans: Plans,
    attempts: BTreeMap<JobAttempt, Running>,
    /// Shared by all attempts that are bound to the lease.
    lease: LeaseDeadline,
    hands: Hands,
    sources: Sources,
    waiting: mpsc::Receiver<Call>,
    said: mpsc::Receiver<(JobAttempt, AttemptEvent)>,
    say: mpsc::Sender<(JobAttempt, AttemptEvent)>,
    /// One per attempt.
    tasks: JoinSet<()>,
    /// Plans that are being unpacked and checked.
    loads: JoinSet<PlanLoaded>,
    timer: Option<Now>,
    machine: Machine,
    outputs: Vec<Output>,
    is_offline: bool,
}

impl WorkerLoop {
    /// Makes the loop; nothing happens before it runs.
    pub fn new(options: Options, hands: Hands, sources: Sources) -> (Self, WorkerHandle) {
        let (calls, waiting) = mpsc::channel(CALLS_MAX);
        let (say, said) = mpsc::channel(EVENTS_MAX);
        let this = Self {
            core: Worker::new(options.worker),
            name: options.name.into(),
            cpus: options.cpus,
            contacts: Contacts::new(options.managers.into_iter()),
            plans: Plans::new(options.folder),
            attempts: BTreeMap::new(),
            lease: LeaseDeadline::at(Now::ZERO),
            hands,
            sources,
            waiting,
            said,
            say,
            tasks: JoinSet::new(),
            loads: JoinSet::new(),
            timer: None,
            machine: Machine::new(),
            outputs: Vec::new(),
            is_offline: false,
        };
        (this, WorkerHandle { calls })
    }

    /// Runs until it has drained, is told to stop, or cannot continue.
    pub async fn run(mut self, mut shutdown: Shutdown) -> Result<(), WorkerError> {
        loop {
            self.contacts.dial(clock::now(), &self.hands.transport);
            let look = clock::instant_of(self.next_look());
            let happening = tokio::select! {
                event = self.sources.membership.recv() => {
                    Happening::Membership(event.ok_or(WorkerError::Ended("the failure detector"))?)
                }
                event = self.sources.transport.recv() => {
                    Happening::Transport(event.ok_or(WorkerError::Ended("the transport"))?)
                }
                Some((attempt, event)) = self.said.recv() => Happening::Attempt(attempt, event),
                Some(Ok(loaded)) = self.loads.join_next(), if !self.loads.is_empty() => Happening::Plan(loaded),
                Some(call) = self.waiting.recv() => Happening::Call(call),
                () = tokio::time::sleep_until(look.into()) => Happening::Timer,
                () = shutdown.stopped() => return Ok(()),
            };
            self.handle(happening)?;
            self.drain_ready()?;
            while self.tasks.try_join_next().is_some() {}
            if self.is_offline {
                return Ok(());
            }
            // What was said leaves before more is said.
            tokio::task::yield_now().await;
        }
    }

    /// Handles what is ready, one of each source in turn.
    fn drain_ready(&mut self) -> Result<(), WorkerError> {
        for _ in 0..BATCH_MAX {
            let membership = self.sources.membership.try_recv().ok().map(Happening::Membership);
            let transport = self.sources.transport.try_recv().ok().map(Happening::Transport);
            let attempt = self.said.try_recv().ok().map(|(at, event)| Happening::Attempt(at, event));
            let timer = self.timer.is_some_and(|at| at <= clock::now()).then_some(Happening::Timer);
            let ready = [membership, transport, attempt, timer];
            if ready.iter().all(Option::is_none) {
                break;
            }
            for happening in ready.into_iter().flatten() {
                self.handle(happening)?;
            }
        }
        Ok(())
    }

    fn next_look(&self) -> Now {
        let own = self.timer.unwrap_or(Now::NEVER).min(self.machine.next());
        own.min(self.contacts.next()).min(self.plans.next())
    }

    fn input(&mut self, input: Input) {
        self.core.handle(clock::now(), input, &mut self.outputs);
    }

    fn manager_seen(&mut self, node: NodeId) {
        self.plans.manager_seen(node);
        self.input(Input::ManagerSeen(node));
    }

    fn manager_gone(&mut self, node: NodeId) {
        self.plans.manager_gone(node);
        self.input(Input::ManagerGone(node));
    }
}
