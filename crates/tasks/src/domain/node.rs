//! Nodes of the task plane, as the registry knows them. The registry informs; no lease depends on it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BootId, Timestamp};

/// What a node can run: what placement looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeProfile {
    /// Its name.
    pub name: String,
    /// Its executors.
    pub executors: BTreeSet<String>,
    /// Its capabilities, e.g. `{"gpu": "nvidia"}`.
    pub capabilities: Map<String, Value>,
}

/// Health of a node by the age of its last heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// Heard of lately.
    Healthy,
    /// Silent for a while.
    Stale,
    /// Silent for long.
    Dead,
}

impl NodeStatus {
    /// Its name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Stale => "stale",
            Self::Dead => "dead",
        }
    }

    /// The status of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Healthy, Self::Stale, Self::Dead].into_iter().find(|status| status.as_str() == text)
    }
}

/// A registered process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// What it can run.
    #[serde(flatten)]
    pub profile: NodeProfile,
    /// Which start of it.
    pub boot: BootId,
    /// Health, kept by the leader.
    pub status: NodeStatus,
    /// Its last heartbeat.
    pub heartbeat_at: Timestamp,
    /// When it registered.
    pub registered_at: Timestamp,
    /// Where its API is reached.
    pub address: Option<String>,
    /// The version it runs.
    pub version: String,
}

/// Ages of the last heartbeat that decide the health of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeAges {
    /// Older than this: stale.
    pub stale: Duration,
    /// Older than this: dead.
    pub dead: Duration,
}
