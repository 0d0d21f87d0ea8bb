//! `hyperscale serve --demo`: a tree to look at, and a target for its load test.

use std::net::SocketAddr;

use hyperscale_target::Running;
use hyperscale_tasks::domain::{DependencySpec, TaskSpec};
use serde_json::json;
use tempfile::TempDir;

use crate::args::{ServeArgs, ServerArgs};
use crate::cluster::remote::{self, RemoteError};
use crate::commands::demo;
use crate::errors::CommandError;
use crate::tasks::view::{Create, Created};

/// What a demo needs as long as its node runs.
pub(super) struct Demo {
    target: Running,
    /// Removed with the demo.
    _data: Option<TempDir>,
}

impl Demo {
    /// Starts the target. A node that was not told where to keep its tasks keeps them in a folder of the demo.
    pub(super) fn prepare(args: &mut ServeArgs) -> Result<Self, CommandError> {
        let target = demo::target()?;
        let is_placed = args.data.is_some() || args.database.is_some();
        let data = (!is_placed).then(tempfile::tempdir).transpose().map_err(CommandError::System)?;
        args.data = data.as_ref().map(|data| data.path().to_owned()).or_else(|| args.data.take());
        Ok(Self { target, _data: data })
    }

    /// Submits the tree through the API of the node, as anybody would.
    pub(super) async fn submit(
        &self,
        node: SocketAddr,
        token: Option<String>,
    ) -> Result<Created, CommandError> {
        let args = ServerArgs { token, ..ServerArgs::default() };
        let client = remote::client_of(&args, &format!("http://{node}"))?;
        let tasks = Some(tree(&format!("http://{}", self.target.handle().listen())));
        let params = Create { tasks, task: None, idempotency_key: None };
        Ok(client.tasks("tasks.create", &params).await.map_err(RemoteError::from)?)
    }
}

/// Seed, load test, report.
fn tree(target: &str) -> Vec<TaskSpec> {
    let after = |task: &str| vec![DependencySpec { task: task.to_owned(), required: true }];
    let seed = TaskSpec::new("seed", "http", json!({ "url": format!("{target}/token") }));
    let plan = json!({ "plan": demo::PLAN, "name": "shop.yaml", "vars": { "base": target } });
    let load = TaskSpec { depends_on: after("seed"), ..TaskSpec::new("load", "load_test", plan) };
    let report = TaskSpec { depends_on: after("load"), ..TaskSpec::new("report", "aggregate", json!({})) };
    // The first one names the tree.
    vec![report, load, seed]
}
