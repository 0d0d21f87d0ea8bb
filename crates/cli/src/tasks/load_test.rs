//! The executor `load_test`: runs a plan in this process, or has a cluster run it and follows the job.
//!
//! In a cluster the idempotency key of the job is the effect key of the task: an attempt after a crash follows the job that an earlier
//! one submitted. An embedded run dies with its process, and a later attempt begins it again.
//!
//! Thresholds that failed are a result, not a failure of the task: it completes with `verdict: "failed"`. A job that failed, or ended
//! with partial results, fails the task.

mod embedded;
mod inputs;
mod outcome;
mod remote;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use hyperscale_api::{Client, Servers};
use hyperscale_tasks::runtime::{Context, Executor, Failure};
use serde_json::Value;
use tokio::sync::Semaphore;

use self::inputs::Inputs;

/// Where load tests run.
pub(crate) struct LoadTestOptions {
    /// Where files of plans are unpacked while they run.
    pub(crate) folder: PathBuf,
    /// The cluster of the operator, for tasks that name no server. Without one they run in this process.
    pub(crate) cluster: Option<(Servers, Client)>,
    /// Cores of an embedded run.
    pub(crate) cores: u32,
}

/// Runs plans.
pub(crate) struct LoadTest {
    options: LoadTestOptions,
    /// One embedded run at a time: two would measure each other.
    turn: Arc<Semaphore>,
}

impl LoadTest {
    /// Nothing is opened yet.
    pub(crate) fn new(options: LoadTestOptions) -> Self {
        Self { options, turn: Arc::new(Semaphore::new(1)) }
    }

    /// The client of the cluster that runs a task. Only the operator's own servers are sent the operator's token.
    fn client(&self, server: Option<&Servers>) -> Result<Option<Client>, String> {
        match (server, &self.options.cluster) {
            (None, cluster) => Ok(cluster.as_ref().map(|(_, client)| client.clone())),
            (Some(named), Some((own, client)))
                if named.iter().all(|server| own.iter().any(|one| one == server)) =>
            {
                Ok(Some(client.clone()))
            }
            (Some(named), _) => {
                let options = hyperscale_api::ClientOptions::new(named.clone());
                Client::new(options).map(Some).map_err(|error| format!("`server`: {error}"))
            }
        }
    }
}

#[async_trait]
impl Executor for LoadTest {
    fn name(&self) -> &'static str {
        "load_test"
    }

    fn schema(&self) -> Value {
        inputs::schema()
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        Inputs::read(inputs)?.check_plan()
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let inputs = Inputs::read(inputs).map_err(Failure::ForGood)?;
        if let Some(client) = self.client(inputs.server.as_ref()).map_err(Failure::ForGood)? {
            return remote::run(&client, inputs, context).await;
        }
        let turn = tokio::select! {
            turn = self.turn.acquire() => turn.expect("the semaphore is never closed"),
            () = context.cancelled().cancelled() => return Err(Failure::Cancelled),
        };
        let done = embedded::run(&self.options, inputs, context).await;
        drop(turn);
        done
    }
}

#[cfg(test)]
mod tests;
