//! Task nodes as processes, and what is submitted to them.

use std::net::SocketAddrV4;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::call::Caller;
use crate::bench::lab::Lab;
use crate::bench::node::{Node, wait_for};

/// Tasks of one submission: as many as the body of a request has room for.
pub(super) const BATCH: usize = 700;
/// Digits of the time that an empty task waits: nothing, written so that its inputs have 1 KB, which is what other queues are measured with.
const DIGITS: usize = 1_000;

/// How a node is started.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) name: &'a str,
    /// The URL of its database; without one it keeps a file in `data`.
    pub(super) database: Option<&'a str>,
    pub(super) data: &'a Path,
    /// Tasks at a time.
    pub(super) parallel: usize,
}

/// A task node that can do its work.
pub(super) struct TaskNode {
    node: Node,
}

impl TaskNode {
    /// Starts it and waits until it has its database.
    pub(super) fn start(lab: &Lab, start: Start<'_>) -> Result<Self> {
        let program = lab.hyperscale()?.to_str().context("the path of the binary is no text")?;
        let data = start.data.to_str().context("the path of the folder is no text")?;
        let mut words =
            vec![program, "serve", "--listen", "127.0.0.1:0", "--node-id", start.name, "--data", data];
        if let Some(url) = start.database {
            words.extend(["--database", url]);
        }
        let parallel = start.parallel.to_string();
        let variables = [("HYPERSCALE_MAX_PARALLEL_TASKS_PER_NODE", parallel.as_str())];
        let node = Self { node: Node::start("0-1", &words, &variables)? };
        wait_for("a task node with its database", || node.call("tasks.counts", &json!({})).ok())?;
        Ok(node)
    }

    pub(super) fn http(&self) -> SocketAddrV4 {
        self.node.http
    }

    pub(super) fn pid(&self) -> u32 {
        self.node.pid()
    }

    pub(super) fn kill(self) -> Result<()> {
        self.node.kill()
    }

    /// Calls a method on a connection of its own.
    pub(super) fn call(&self, method: &str, params: &Value) -> Result<Value> {
        Caller::connect(self.http())?.call(method, params)
    }

    /// A kept connection, for many calls.
    pub(super) fn caller(&self) -> Result<Caller> {
        Caller::connect(self.http())
    }
}

/// Parameters that submit so many empty tasks; with a node, only that one may run them.
pub(super) fn empty_tasks(count: usize, node: Option<&str>) -> Value {
    let inputs = json!({ "duration": format!("0.{}s", "0".repeat(DIGITS)) });
    let task = |number: usize| {
        let mut task = json!({ "name": format!("empty-{number}"), "executor": "wait", "inputs": inputs });
        if let Some(node) = node {
            task["placement"] = json!({ "allowed_nodes": [node] });
        }
        task
    };
    json!({ "tasks": (0..count).map(task).collect::<Vec<_>>() })
}

/// Submits empty tasks in batches to the node at this address, each from another source: the API limits requests of one.
pub(super) fn submit(to: SocketAddrV4, count: usize, only: Option<&str>) -> Result<()> {
    let mut left = count;
    let whole = empty_tasks(BATCH, only);
    while left >= BATCH {
        Caller::connect(to)?.call("tasks.create", &whole)?;
        left -= BATCH;
    }
    if left > 0 {
        Caller::connect(to)?.call("tasks.create", &empty_tasks(left, only))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_of_empty_tasks_fits_into_a_request() {
        let batch = empty_tasks(BATCH, Some("burner"));
        assert_eq!(batch["tasks"].as_array().map(Vec::len), Some(BATCH));
        let bytes = batch.to_string().len();
        assert!(bytes < 1_000_000 && bytes / BATCH > 1_000, "{bytes}");
    }
}
