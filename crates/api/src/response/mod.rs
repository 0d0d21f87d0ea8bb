//! What the methods respond with, for servers to write and clients to read.
//!
//! | method | response |
//! | --- | --- |
//! | `jobs.submit` | [`Submitted`] |
//! | `jobs.get` | [`JobView`] |
//! | `jobs.list` | [`JobList`] |
//! | `jobs.result` | [`hyperscale_stats::result::RunResult`], `final: true` |
//! | `jobs.cancel`, `workflows.cancel` | [`CancelResponse`] |
//! | `jobs.control` | [`Controlled`] |
//! | `cluster.status` | [`ClusterStatus`] |
//! | `cluster.members` | [`NodeList`] |
//! | `cluster.leaders` | [`LeaderList`] |
//! | `cluster.events` | [`ClusterEventList`] |
//! | `cluster.drain`, `cluster.add`, `cluster.remove` | [`NodeChange`] |
//! | `system.methods` | [`MethodList`] |
//!
//! Readers ignore members they do not know, and take absent ones for their default: servers of different versions
//! respond during a rolling upgrade.

mod cancel;
mod cluster;
mod jobs;

pub use cancel::{CancelError, CancelResponse, CancelStatus, WorkflowCancel};
pub use cluster::{
    Circuit, ClusterEvent, ClusterEventList, ClusterStatus, DatacenterClass, DatacenterStatus, JobLeader,
    LeaderList, MemberState, MemberStatus, NodeChange, NodeChangeStatus, NodeList, NodeSummary, Quorum,
    WorkerState, WorkerStatus,
};
pub use jobs::{Controlled, DatacenterPart, JobList, JobSummary, JobView, Submitted, WorkflowSummary};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::method::BlobHash;

/// `system.methods`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodList {
    /// Their names, sorted.
    pub methods: Vec<String>,
    /// JSON Schemas of their parameters, where the node describes them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub schemas: Map<String, Value>,
    /// JSON Schemas of the inputs of executors, at nodes of the task plane.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub executors: Map<String, Value>,
}

/// `PUT /blobs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredBlob {
    /// Its SHA-256.
    pub blob: BlobHash,
    /// How many bytes it has.
    pub bytes: u64,
}
