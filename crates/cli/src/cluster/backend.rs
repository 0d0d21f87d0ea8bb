//! A manager behind the API: methods become requests of its core, and what the core says becomes responses.
//!
//! Nothing is decided here. What concerns a job that another manager leads is refused with where that one is.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_api::method::{CancelJob, CancelWorkflow, Control, Page, Submit};
use hyperscale_api::response::{
    CancelResponse, CancelStatus, Controlled, JobList, JobSummary, JobView, MemberState, NodeSummary,
    StoredBlob, Submitted,
};
use hyperscale_api::server::to_result;
use hyperscale_api::{
    Backend, Caller, ErrorCode, EventFrame, EventId, JobEvent, Method, Readiness, RpcError,
};
use hyperscale_cluster::manager::{JobLine, ListPlace, Rejection, Request, Response};
use hyperscale_consensus::register::{JobEnd, JobId, RequestId};
use hyperscale_consensus::replica::{Reply, Request as ReplicaRequest};
use hyperscale_job::CancelStatus as job_cancel;
use hyperscale_node::manager::{JobNews, ManagerHandle, Seen, name_workers};
use hyperscale_node::membership::MembershipHandle;
use hyperscale_node::transport::TransportHandle;
use hyperscale_stats::event::Event;
use hyperscale_stats::result::{RunResult, Status};
use hyperscale_types::{NodeId, Role, Token};
use serde_json::Value;
use tokio::sync::mpsc;

use super::feeds::Feeds;
use super::metrics::Metrics;
use super::refusals::{job_id, stopped};
use super::uploads::Uploads;
use super::{options, submission, view};
use crate::identity;

/// How often a job that is being opened is looked at again, and for how long; a server gives up after ten seconds.
const OPENING: (Duration, u32) = (Duration::from_millis(50), 100);

const METHODS: &[&str] = &[
    "cluster.add",
    "cluster.drain",
    "cluster.events",
    "cluster.leaders",
    "cluster.members",
    "cluster.remove",
    "cluster.status",
    "jobs.cancel",
    "jobs.control",
    "jobs.get",
    "jobs.list",
    "jobs.result",
    "jobs.submit",
    "system.methods",
    "workflows.cancel",
];

/// Who a manager is, as people see it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// What it is called.
    pub(crate) name: String,
    /// Its node.
    pub(crate) node: NodeId,
    /// Its life.
    pub(crate) boot: u64,
    /// Its datacenter.
    pub(crate) datacenter: String,
    /// Where other nodes reach it.
    pub(crate) listen: SocketAddr,
    /// Where its API listens.
    pub(crate) http: SocketAddr,
}

/// A manager behind the API.
#[derive(Debug)]
pub(crate) struct ManagerBackend {
    pub(super) identity: Identity,
    pub(super) manager: ManagerHandle,
    membership: MembershipHandle,
    transport: TransportHandle,
    feeds: Feeds,
    uploads: Mutex<Uploads>,
}

impl ManagerBackend {
    /// The backend of a manager, and what carries its events to followers, to be run beside it.
    pub(crate) fn new(
        identity: Identity,
        manager: ManagerHandle,
        (membership, transport): (MembershipHandle, TransportHandle),
        news: mpsc::Receiver<JobNews>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let feeds = Feeds::default();
        let carrying = feeds.clone().run(news, manager.clone());
        (Self { identity, manager, membership, transport, feeds, uploads: Mutex::default() }, carrying)
    }

    async fn submit(&self, caller: &Caller, submit: Submit) -> Result<Value, RpcError> {
        let options = Box::new(options::read(&submit.options)?);
        let bundle = {
            let uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
            Box::new(submission::to_bundle(&submit, |hash| uploads.find(hash))?)
        };
        let key = match &submit.idempotency_key {
            Some(key) => key.as_str().to_owned(),
            None => hyperscale_api::method::RequestId::random().as_str().to_owned(),
        };
        let (caller, submitted_at_ms) = (caller.source.to_string(), identity::now_ms());
        let request = Request::Submit { key, bundle, options, caller, submitted_at_ms };
        match self.ask(request).await? {
            Response::Accepted { job, leader, status, queue_position, .. } => {
                let submitted = Submitted {
                    job: job.to_string(),
                    status,
                    token: leader.map(|(_, token)| token),
                    job_leader: self.name(leader.map(|(node, _)| node)).await?,
                    queue_position: queue_position.map(u64::from),
                    datacenters: Vec::new(),
                    warnings: Vec::new(),
                };
                to_result(&submitted)
            }
            other => Err(self.refusal(other).await),
        }
    }

    async fn get(&self, job: JobId) -> Result<JobView, RpcError> {
        match self.look(job).await? {
            Response::Running { token, result, queue_position } => Ok(JobView {
                result: self.named(*result).await?,
                token: Some(token),
                job_leader: Some(self.identity.name.clone()),
                queue_position: queue_position.map(u64::from),
            }),
            Response::Ended(end) => Ok(JobView {
                result: self.result(&end).await?,
                token: None,
                job_leader: None,
                queue_position: None,
            }),
            other => Err(self.refusal(other).await),
        }
    }

    /// How a job is; one that is being opened is waited for.
    async fn look(&self, job: JobId) -> Result<Response, RpcError> {
        for _ in 0..OPENING.1 {
            match self.ask(Request::Get { job }).await? {
                Response::Starting => tokio::time::sleep(OPENING.0).await,
                response => return Ok(response),
            }
        }
        Ok(Response::Starting)
    }

    /// The result of a job that has ended; it is on the disk of this manager, or soon will be.
    async fn result(&self, end: &JobEnd) -> Result<RunResult, RpcError> {
        let missing = || {
            RpcError::new(ErrorCode::Overloaded, "the result is not on the disk of this manager yet")
                .retry_after(Duration::from_secs(1))
                .fix("ask again, or ask another manager")
        };
        let blob = end.how.result.ok_or_else(missing)?;
        for _ in 0..OPENING.1 {
            if let Some(bytes) = self.manager.read(blob).await.map_err(stopped)? {
                let result = serde_json::from_slice(&bytes)
                    .map_err(|error| RpcError::new(ErrorCode::InternalError, error.to_string()))?;
                return self.named(result).await;
            }
            tokio::time::sleep(OPENING.0).await;
        }
        Err(missing())
    }

    /// A result whose workers have their names.
    async fn named(&self, mut result: RunResult) -> Result<RunResult, RpcError> {
        let named = self.manager.look(move |seen| {
            name_workers(&mut result, seen.names);
            result
        });
        named.await.map_err(stopped)
    }

    async fn list(&self, page: &Page) -> Result<Value, RpcError> {
        let wrong = || RpcError::new(ErrorCode::InvalidParams, "`after` is not the `next` of a page of jobs");
        let after = page.after.as_deref().map(|text| place_in(text).ok_or_else(wrong)).transpose()?;
        let (lines, next) = self.page(after, page.limit as usize).await?;
        let mut jobs = Vec::new();
        for line in lines {
            let leader = self.name(line.leader.map(|(node, _)| node)).await?;
            jobs.push(JobSummary {
                name: line.name,
                started_at: identity::time(line.submitted_at_ms),
                // To the millisecond, as results say it.
                elapsed_s: (line.elapsed.as_secs_f64() * 1e3).round() / 1e3,
                job_leader: leader,
                token: line.leader.map(|(_, token)| token),
                queue_position: line.queue_position.map(u64::from),
                ..JobSummary::new(line.job.to_string(), line.status)
            });
        }
        to_result(&JobList { jobs, next: next.map(place_out) })
    }

    /// A page of the list; a chunk of ended jobs that is being fetched is waited for.
    async fn page(
        &self,
        after: Option<ListPlace>,
        limit: usize,
    ) -> Result<(Vec<JobLine>, Option<ListPlace>), RpcError> {
        for _ in 0..OPENING.1 {
            match self.ask(Request::List { after, limit }).await? {
                Response::Jobs { lines, next } => return Ok((lines, next)),
                Response::Starting => tokio::time::sleep(OPENING.0).await,
                _ => break,
            }
        }
        Err(RpcError::new(ErrorCode::Overloaded, "older jobs are not on the disk of this manager yet")
            .retry_after(Duration::from_secs(1)))
    }

    async fn cancel(&self, caller: &Caller, cancel: Cancel) -> Result<Value, RpcError> {
        let Cancel { job, workflows, dependents, request, reason, wait } = cancel;
        let id = job_id(&job)?;
        let number = RequestId(request.digest());
        let request = Request::Cancel {
            job: id,
            workflows,
            dependents,
            request: number,
            reason,
            caller: caller.source.to_string(),
        };
        match self.ask(request).await? {
            Response::CancelCommitted => to_result(&self.cancellation(id, number, wait).await?),
            Response::Rejected(Rejection::AlreadyEnded) | Response::Ended(_) => {
                to_result(&CancelResponse::new(job, CancelStatus::AlreadyEnded))
            }
            other => Err(self.refusal(other).await),
        }
    }

    /// How far a committed cancel is; with `wait`, once all workers have answered or did not in time.
    async fn cancellation(
        &self,
        job: JobId,
        request: RequestId,
        wait: bool,
    ) -> Result<CancelResponse, RpcError> {
        let mut response = CancelResponse::new(job.to_string(), CancelStatus::Requested);
        loop {
            match self.ask(Request::CancelStatus { job, request }).await? {
                Response::Cancellation { workflows, is_complete } => {
                    response.status = match is_complete {
                        true if workflows.iter().any(|it| it.status == job_cancel::Failed) => {
                            CancelStatus::Failed
                        }
                        true => CancelStatus::Cancelled,
                        false => CancelStatus::InProgress,
                    };
                    (response.workflows, response.errors) = view::cancelled(&workflows);
                    if is_complete || !wait {
                        return Ok(response);
                    }
                }
                Response::Ended(_) | Response::Rejected(Rejection::AlreadyEnded) => {
                    response.status = CancelStatus::Cancelled;
                    return Ok(response);
                }
                // Another manager leads it, or it is being opened: the cancel is committed all the same.
                _ if !wait => return Ok(response),
                _ => {}
            }
            tokio::time::sleep(OPENING.0).await;
        }
    }

    async fn control(&self, control: Control) -> Result<Value, RpcError> {
        let request = Request::Control { job: job_id(&control.job)?, command: control.steer.into() };
        match self.ask(request).await? {
            Response::Controlled => to_result(&Controlled { job: control.job, changes: Vec::new() }),
            other => Err(self.refusal(other).await),
        }
    }

    /// Asks the manager. A job that it does not know may have been accepted by another one a moment ago: it says so only after it
    /// has caught up with the group.
    pub(super) async fn ask(&self, request: Request) -> Result<Response, RpcError> {
        let is_about_a_job = !matches!(
            request,
            Request::Submit { .. } | Request::List { .. } | Request::Drain { .. } | Request::Leave
        );
        let again = is_about_a_job.then(|| request.clone());
        let response = self.manager.request(request).await.map_err(stopped)?;
        let (Some(again), Response::Rejected(Rejection::UnknownJob)) = (again, &response) else {
            return Ok(response);
        };
        match self.manager.replica(ReplicaRequest::Read).await.map_err(stopped)? {
            Reply::Readable { .. } => self.manager.request(again).await.map_err(stopped),
            Reply::Failed(error) => Ok(Response::Rejected(Rejection::Unavailable(error.to_string()))),
            _ => Ok(response),
        }
    }

    async fn name(&self, node: Option<NodeId>) -> Result<Option<String>, RpcError> {
        let Some(node) = node else { return Ok(None) };
        if node == self.identity.node {
            return Ok(Some(self.identity.name.clone()));
        }
        self.manager.look(move |seen| Some(view::name_of(seen.names, node))).await.map_err(stopped)
    }

    pub(super) async fn status(&self) -> Result<hyperscale_api::response::ClusterStatus, RpcError> {
        let (view, identity) = (self.membership.view(), self.identity.clone());
        let looked = self.manager.look(move |seen| {
            let names = with_own(seen.names, &identity);
            let seen = Seen { names: &names, ..seen };
            view::status(&seen, &view, &identity.datacenter, identity.node)
        });
        looked.await.map_err(stopped)
    }

    async fn members(&self) -> Result<Value, RpcError> {
        let (view, identity) = (self.membership.view(), self.identity.clone());
        let me = NodeSummary {
            id: identity.name.clone(),
            role: Role::Manager,
            state: MemberState::Alive,
            address: Some(identity.listen.to_string()),
            http: Some(identity.http.to_string()),
            boot: identity.boot,
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            worker_state: None,
        };
        let looked = self.manager.look(move |seen| view::members(&seen, &view, me)).await;
        to_result(&looked.map_err(stopped)?)
    }

    async fn leaders(&self) -> Result<Value, RpcError> {
        let identity = self.identity.clone();
        let looked = self.manager.look(move |seen| {
            let names = with_own(seen.names, &identity);
            let seen = Seen { names: &names, ..seen };
            view::leaders(&seen, &identity.datacenter)
        });
        to_result(&looked.await.map_err(stopped)?)
    }

    /// The stream of a job that has ended and whose events are not kept: its result.
    async fn ended_stream(&self, job: JobId) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        match self.look(job).await? {
            Response::Ended(end) => {
                let result = self.result(&end).await?;
                // Above every event of its leaders, none of which is told any more.
                let id = EventId { token: Token(u64::MAX), sequence: 1 };
                let event = Event::Finished(Box::new(result));
                let last = JobEvent::of(&job.to_string(), id, Status::Completed, event);
                let (sender, events) = mpsc::channel(1);
                // There is room for one.
                let _ = sender.try_send(EventFrame::from(&last));
                Ok(events)
            }
            Response::Running { .. } => Err(RpcError::new(ErrorCode::Overloaded, "the job is being opened")
                .retry_after(Duration::from_millis(200))),
            other => Err(self.refusal(other).await),
        }
    }
}

/// A cancel of a job or of some workflows.
struct Cancel {
    job: String,
    workflows: Vec<String>,
    dependents: bool,
    request: hyperscale_api::method::RequestId,
    reason: String,
    wait: bool,
}

impl Backend for ManagerBackend {
    fn methods(&self) -> &'static [&'static str] {
        METHODS
    }

    async fn call(&self, caller: &Caller, method: Method) -> Result<Value, RpcError> {
        match method {
            Method::JobsSubmit(submit) => self.submit(caller, *submit).await,
            Method::JobsGet { job } => to_result(&self.get(job_id(&job)?).await?),
            Method::JobsList(page) => self.list(&page).await,
            Method::JobsResult { job } => {
                let view = self.get(job_id(&job)?).await?;
                if view.result.is_final {
                    return to_result(&view.result);
                }
                Err(RpcError::new(ErrorCode::NotEnded, "the job has not ended")
                    .fix("follow it with `hyperscale watch`, or see how it is with `hyperscale status`"))
            }
            Method::JobsCancel(CancelJob { job, reason, request_id, wait }) => {
                let request = request_id.unwrap_or_else(hyperscale_api::method::RequestId::random);
                let workflows = Vec::new();
                self.cancel(caller, Cancel { job, workflows, dependents: true, request, reason, wait }).await
            }
            Method::WorkflowsCancel(CancelWorkflow {
                job,
                workflow,
                dependents,
                reason,
                request_id,
                wait,
            }) => {
                let request = request_id.unwrap_or_else(hyperscale_api::method::RequestId::random);
                let workflows = vec![workflow.to_string()];
                self.cancel(caller, Cancel { job, workflows, dependents, request, reason, wait }).await
            }
            Method::JobsControl(control) => self.control(control).await,
            Method::ClusterStatus => to_result(&self.status().await?),
            Method::ClusterMembers(_) => self.members().await,
            Method::ClusterLeaders => self.leaders().await,
            Method::ClusterEvents(page) => to_result(&self.cluster_events(&page).await?),
            Method::ClusterDrain { node } => to_result(&self.drain(&node).await?),
            Method::ClusterAdd { node } => to_result(&self.add(&node).await?),
            Method::ClusterRemove { node } => to_result(&self.remove(&node).await?),
            Method::Tasks(_) | Method::SystemMethods => Err(RpcError::unsupported(method.name())),
        }
    }

    async fn events(
        &self,
        _caller: &Caller,
        job: String,
        after: Option<EventId>,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        let job = job_id(&job)?;
        let led = self.manager.look(move |seen| seen.manager.leads(job)).await.map_err(stopped)?;
        match self.feeds.follow(job, after, led) {
            Some(Ok(events)) => Ok(events),
            Some(Err(error)) => Err(RpcError::new(ErrorCode::StaleToken, error.to_string())),
            None => self.ended_stream(job).await,
        }
    }

    async fn blob(&self, _caller: &Caller, bytes: Bytes) -> Result<StoredBlob, RpcError> {
        Ok(self.uploads.lock().unwrap_or_else(PoisonError::into_inner).keep(bytes))
    }

    async fn readiness(&self) -> Readiness {
        match self.status().await {
            Ok(status) if status.leader.is_some() => Readiness::Ready,
            Ok(_) => Readiness::NotReady("the group has no leader, or is not founded yet".to_owned()),
            Err(error) => Readiness::NotReady(error.message),
        }
    }

    async fn metrics(&self) -> String {
        let (view, mut metrics) = (self.membership.view(), Metrics::default());
        metrics.membership(&view);
        metrics.wire(&self.transport, &view);
        let looked = self.manager.look(|seen| {
            let mut metrics = Metrics::default();
            metrics.manager(&seen);
            metrics.text()
        });
        // A manager that ends has nothing more to say.
        metrics.text() + &looked.await.unwrap_or_default()
    }
}

/// Names of nodes, with the own one.
pub(super) fn with_own(names: &BTreeMap<NodeId, String>, identity: &Identity) -> BTreeMap<NodeId, String> {
    let mut names = names.clone();
    names.insert(identity.node, identity.name.clone());
    names
}

/// A place in the list of jobs as clients hand it back.
fn place_out(place: ListPlace) -> String {
    match place {
        ListPlace::Open(accepted) => format!("open-{accepted}"),
        ListPlace::Ended(index) => format!("ended-{index}"),
    }
}

fn place_in(text: &str) -> Option<ListPlace> {
    let (kind, index) = text.split_once('-')?;
    let index = index.parse().ok()?;
    match kind {
        "open" => Some(ListPlace::Open(index)),
        "ended" => Some(ListPlace::Ended(index)),
        _ => None,
    }
}
