//! `nodes.*`, and the registry of workers without a database.

use std::collections::BTreeSet;

use hyperscale_api::server::to_result;
use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_tasks::domain::{BootId, NodeProfile, NodeRecord, NodeStatus, Role, Timestamp};
use hyperscale_tasks::runtime::new_boot_id;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::backend::{Plane, TaskBackend};
use super::refusals::{self, params};
use super::view::{NodeLine, NodeList, Nothing, SetRole};

type Params = Map<String, Value>;

/// Bytes of the name of a worker.
const NAME_MAX: usize = 256;

/// A worker that registers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    node: String,
    executors: BTreeSet<String>,
    #[serde(default)]
    capabilities: Map<String, Value>,
    #[serde(default)]
    address: Option<String>,
    #[serde(default)]
    version: Option<String>,
    /// The boot of an earlier registration, to change what it said.
    #[serde(default)]
    boot: Option<BootId>,
}

/// A registered worker.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Registered {
    node: String,
    boot: BootId,
}

pub(super) async fn list(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let Nothing {} = params(given)?;
    let nodes = plane.store.nodes().await.map_err(refusals::store)?;
    let leader = plane.store.leader().await.map_err(refusals::store)?;
    let leads = leader.as_ref().filter(|leader| leader.is_current).map(|leader| leader.boot);
    let own = plane.worker.as_ref().map(|worker| worker.node.boot());
    let line = |node: NodeRecord| {
        let (is_leader, is_self) = (Some(node.boot) == leads, Some(node.boot) == own);
        NodeLine { node, is_leader, is_self }
    };
    to_result(&NodeList { nodes: nodes.into_iter().map(line).collect(), leader, next: None })
}

/// Changes the role of this node. One that was started as an observer has no right to write, so that it stays one.
pub(super) fn set_role(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let SetRole { role } = params(given)?;
    match &plane.worker {
        Some(worker) => worker.node.set_role(role),
        None if role == Role::Observer => {}
        None => {
            return Err(RpcError::refused(
                "this node was started as an observer, with a connection that only reads",
                "observer",
                "start it with another --role",
            ));
        }
    }
    to_result(&SetRole { role })
}

pub(super) async fn register(backend: &TaskBackend, plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let Register { node, executors, capabilities, address, version, boot } = params(given)?;
    if !(1..=NAME_MAX).contains(&node.len()) {
        let message = format!("`node` must have 1 to {NAME_MAX} bytes");
        return Err(RpcError::new(ErrorCode::InvalidParams, message));
    }
    let boot = boot.unwrap_or_else(new_boot_id);
    let record = NodeRecord {
        profile: NodeProfile { name: node, executors, capabilities },
        boot,
        status: NodeStatus::Healthy,
        // The store's clock decides both.
        heartbeat_at: Timestamp(0),
        registered_at: Timestamp(0),
        address,
        version: version.unwrap_or_default(),
    };
    plane.store.register_node(&record).await.map_err(refusals::store)?;
    let settings = &backend.settings;
    Ok(json!({
        "node": record.profile.name,
        "boot": boot,
        "lease_seconds": settings.lease.as_secs_f64(),
        "renew_seconds": settings.renew().as_secs_f64(),
        "heartbeat_seconds": settings.heartbeat.as_secs_f64(),
    }))
}

pub(super) async fn heartbeat(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let Registered { node, boot } = params(given)?;
    if !plane.store.heartbeat(&node, boot).await.map_err(refusals::store)? {
        return Err(unregistered(&node));
    }
    Ok(json!({ "node": node, "boot": boot }))
}

pub(super) async fn deregister(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let Registered { node, boot } = params(given)?;
    plane.store.deregister_node(&node, boot).await.map_err(refusals::store)?;
    Ok(json!({ "node": node, "boot": boot }))
}

/// What a worker registered with.
pub(super) async fn profile(plane: &Plane, node: &str, boot: BootId) -> Result<NodeProfile, RpcError> {
    let nodes = plane.store.nodes().await.map_err(refusals::store)?;
    let is_it = |record: &NodeRecord| record.profile.name == node && record.boot == boot;
    let found = nodes.into_iter().find(is_it).map(|record| record.profile);
    found.ok_or_else(|| unregistered(node))
}

fn unregistered(node: &str) -> RpcError {
    RpcError::refused(
        format!("worker {node} is not registered with this boot"),
        "unregistered",
        "call `register_node` again",
    )
}
