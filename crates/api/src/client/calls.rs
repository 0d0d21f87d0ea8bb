//! Typed calls, one per method.

use hyperscale_stats::result::RunResult;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::CallError;
use super::retry::Work;
use super::{Client, read, submit};
use crate::error::RpcError;
use crate::method::{CancelJob, CancelWorkflow, Control, Method, Page, RequestId, Submit, TaskCall};
use crate::response::{
    CancelResponse, ClusterEventList, ClusterStatus, Controlled, JobList, JobView, LeaderList, MethodList,
    NodeChange, NodeList, Submitted,
};

impl Client {
    /// `jobs.submit`. Files that do not fit into a request are uploaded first; without an idempotency key it gets one.
    pub async fn submit(&self, mut submission: Submit) -> Result<Submitted, CallError> {
        submit::check(&submission)?;
        submission.idempotency_key.get_or_insert_with(RequestId::random);
        read(self.carry_out(Work::Submit(&submission)).await?)
    }

    /// `jobs.get`.
    pub async fn job(&self, job: &str) -> Result<JobView, CallError> {
        self.call(&Method::JobsGet { job: job.to_owned() }).await
    }

    /// `jobs.list`.
    pub async fn jobs(&self, page: Page) -> Result<JobList, CallError> {
        self.call(&Method::JobsList(page)).await
    }

    /// `jobs.result`.
    pub async fn result(&self, job: &str) -> Result<RunResult, CallError> {
        self.call(&Method::JobsResult { job: job.to_owned() }).await
    }

    /// `jobs.cancel`.
    pub async fn cancel_job(&self, cancel: CancelJob) -> Result<CancelResponse, CallError> {
        self.call(&Method::JobsCancel(cancel)).await
    }

    /// `workflows.cancel`.
    pub async fn cancel_workflow(&self, cancel: CancelWorkflow) -> Result<CancelResponse, CallError> {
        self.call(&Method::WorkflowsCancel(cancel)).await
    }

    /// `jobs.control`.
    pub async fn control(&self, control: Control) -> Result<Controlled, CallError> {
        self.call(&Method::JobsControl(control)).await
    }

    /// `cluster.status`.
    pub async fn cluster_status(&self) -> Result<ClusterStatus, CallError> {
        self.call(&Method::ClusterStatus).await
    }

    /// `cluster.members`.
    pub async fn cluster_members(&self, page: Page) -> Result<NodeList, CallError> {
        self.call(&Method::ClusterMembers(page)).await
    }

    /// `cluster.leaders`.
    pub async fn cluster_leaders(&self) -> Result<LeaderList, CallError> {
        self.call(&Method::ClusterLeaders).await
    }

    /// `cluster.events`.
    pub async fn cluster_events(&self, page: Page) -> Result<ClusterEventList, CallError> {
        self.call(&Method::ClusterEvents(page)).await
    }

    /// `cluster.drain`.
    pub async fn drain(&self, node: &str) -> Result<NodeChange, CallError> {
        self.call(&Method::ClusterDrain { node: node.to_owned() }).await
    }

    /// `cluster.add`.
    pub async fn add(&self, node: &str) -> Result<NodeChange, CallError> {
        self.call(&Method::ClusterAdd { node: node.to_owned() }).await
    }

    /// `cluster.remove`.
    pub async fn remove(&self, node: &str) -> Result<NodeChange, CallError> {
        self.call(&Method::ClusterRemove { node: node.to_owned() }).await
    }

    /// A method of the task plane, with parameters and a response of the caller's types. Submissions without an idempotency key get one.
    pub async fn tasks<T: DeserializeOwned>(
        &self,
        name: &str,
        params: &impl Serialize,
    ) -> Result<T, CallError> {
        let params = serde_json::to_value(params).map_err(|error| CallError::Malformed(error.to_string()))?;
        let Value::Object(params) = params else {
            return Err(CallError::Malformed("parameters are given by name".to_owned()));
        };
        let call = TaskCall::new(name, params).ok_or_else(|| RpcError::unsupported(name))?;
        self.call(&Method::Tasks(call)).await
    }

    /// `system.methods`.
    pub async fn methods(&self) -> Result<MethodList, CallError> {
        self.call(&Method::SystemMethods).await
    }
}
