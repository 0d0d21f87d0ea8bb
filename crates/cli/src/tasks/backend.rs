//! A task node behind the API: methods become operations of its store, and what the store says becomes responses.
//!
//! Nothing is decided here that the store does not check again. While the database is away every method is refused with that reason.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyperscale_api::rpc::Id;
use hyperscale_api::{A2aCall, Backend, Caller, EventFrame, EventId, Method, Readiness, RpcError};
use hyperscale_tasks::domain::{Role, Settings, TokenKey};
use hyperscale_tasks::runtime::{Executors, NodeHandle};
use hyperscale_tasks::store::Store;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::refusals;
use super::streams::Streams;
use super::{a2a, leases, metrics, nodes, schedules, schema, trees};

/// A node behind the API.
pub(crate) struct TaskBackend {
    pub(super) executors: Executors,
    pub(super) settings: Settings,
    plane: RwLock<Result<Arc<Plane>, String>>,
    pub(super) streams: Streams,
}

/// The task plane as a node reaches it.
pub(crate) struct Plane {
    /// Its database.
    pub(super) store: Arc<dyn Store>,
    /// The node that runs tasks; an observer has none, and no right to write.
    pub(super) worker: Option<Worker>,
}

/// What a node has that may write.
pub(crate) struct Worker {
    /// The running node.
    pub(super) node: NodeHandle,
    /// What lease tokens are signed with.
    pub(super) key: TokenKey,
}

impl Plane {
    /// The plane of a node that runs tasks, or of an observer.
    pub(super) fn new(store: Arc<dyn Store>, worker: Option<Worker>) -> Self {
        Self { store, worker }
    }

    /// What may write, unless the node is an observer.
    pub(super) fn worker(&self) -> Result<&Worker, RpcError> {
        let worker = self.worker.as_ref().filter(|worker| worker.node.role() != Role::Observer);
        worker.ok_or_else(refusals::observer)
    }
}

impl TaskBackend {
    /// A node that has not reached its database yet.
    pub(super) fn new(executors: Executors, settings: Settings) -> Self {
        let plane = RwLock::new(Err("the database has not been opened yet".to_owned()));
        Self { executors, settings, plane, streams: Streams::default() }
    }

    /// From now on the node has its database, or says why not.
    pub(super) fn set(&self, plane: Result<Plane, String>) {
        *self.plane.write().unwrap_or_else(PoisonError::into_inner) = plane.map(Arc::new);
    }

    /// The task plane, if the database was reached.
    pub(super) fn plane(&self) -> Result<Arc<Plane>, RpcError> {
        let plane = self.plane.read().unwrap_or_else(PoisonError::into_inner);
        plane.clone().map_err(|why| refusals::unavailable(&why))
    }

    async fn carry_out(&self, name: &str, params: Map<String, Value>) -> Result<Value, RpcError> {
        let plane = self.plane()?;
        match name {
            "tasks.create" => trees::create(self, &plane, params).await,
            "tasks.get" => trees::get(&plane, params).await,
            "tasks.list" => trees::list(&plane, params).await,
            "tasks.tree" => trees::tree(&plane, params).await,
            "tasks.cancel" => trees::cancel(&plane, params).await,
            "tasks.retry" => trees::retry(&plane, params).await,
            "tasks.events" => trees::events(&plane, params).await,
            "tasks.counts" => trees::counts(&plane, params).await,
            "tasks.subscribe" => Err(trees::subscribe()),
            "schedules.create" => schedules::create(self, &plane, params).await,
            "schedules.list" => schedules::list(&plane, params).await,
            "schedules.pause" => schedules::pause(&plane, params, true).await,
            "schedules.resume" => schedules::pause(&plane, params, false).await,
            "schedules.delete" => schedules::delete(&plane, params).await,
            "schedules.trigger" => schedules::trigger(self, &plane, params).await,
            "schedules.runs" => schedules::runs(&plane, params).await,
            "nodes.list" => nodes::list(&plane, params).await,
            "nodes.set_role" => nodes::set_role(&plane, params),
            "register_node" => nodes::register(self, &plane, params).await,
            "heartbeat" => nodes::heartbeat(&plane, params).await,
            "deregister_node" => nodes::deregister(&plane, params).await,
            "find_executable_tasks" => leases::find(&plane, params).await,
            "claim_tasks" => leases::claim(self, &plane, params).await,
            "acquire_lease" => leases::acquire(self, &plane, params).await,
            "renew_lease" => leases::renew(self, &plane, params).await,
            "release_lease" => leases::release(&plane, params).await,
            "report_completion" => leases::complete(&plane, params).await,
            "report_failure" => leases::fail(&plane, params).await,
            "recover_stale_leases" => leases::recover(&plane, params).await,
            _ => Err(RpcError::unsupported(name)),
        }
    }
}

impl Backend for TaskBackend {
    fn methods(&self) -> &'static [&'static str] {
        &Method::TASK_NAMES
    }

    fn schemas(&self) -> (Map<String, Value>, Map<String, Value>) {
        let names = self.executors.names();
        let of = |name: &String| Some((name.clone(), self.executors.get(name)?.schema()));
        (schema::methods(), names.iter().filter_map(of).collect())
    }

    async fn call(&self, _caller: &Caller, method: Method) -> Result<Value, RpcError> {
        match method {
            Method::Tasks(call) => self.carry_out(call.name(), call.params).await,
            other => Err(RpcError::unsupported(other.name())),
        }
    }

    async fn events(
        &self,
        _caller: &Caller,
        job: String,
        after: Option<EventId>,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        self.streams.open(&self.plane()?.store, &job, after).await
    }

    fn is_agent(&self) -> bool {
        true
    }

    fn agent_card(&self, url: &str, needs_token: bool) -> Value {
        a2a::card(&self.executors, url, needs_token)
    }

    async fn a2a(&self, _caller: &Caller, call: A2aCall, hold_max: Duration) -> Result<Value, RpcError> {
        a2a::call(self, call, hold_max).await
    }

    async fn a2a_stream(
        &self,
        _caller: &Caller,
        call: A2aCall,
        id: Id,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        a2a::stream(self, call, id).await
    }

    fn has_dashboard(&self) -> bool {
        true
    }

    async fn readiness(&self) -> Readiness {
        let reached = match self.plane() {
            Ok(plane) => plane.store.events_end().await.map(drop).map_err(refusals::store),
            Err(error) => Err(error),
        };
        reached.map_or_else(|error| Readiness::NotReady(error.message), |()| Readiness::Ready)
    }

    async fn metrics(&self) -> String {
        match self.plane() {
            Ok(plane) => metrics::text(&plane).await,
            Err(_) => metrics::without_database(),
        }
    }
}
