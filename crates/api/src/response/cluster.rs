//! Responses about clusters.

use hyperscale_types::{Role, Token};
use serde::{Deserialize, Serialize};

/// `cluster.status`, as the node that responds sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterStatus {
    /// The log group: a datacenter's name, or that of the gates.
    pub group: String,
    /// Its term.
    pub term: u64,
    /// The cluster leader's id; absent while there is none.
    pub leader: Option<String>,
    /// Whether decisions are possible.
    pub quorum: Quorum,
    /// Voters and learners of the group.
    pub members: Vec<MemberStatus>,
    /// Workers of the datacenter; empty for gates.
    #[serde(default)]
    pub workers: Vec<WorkerStatus>,
    /// Datacenters; empty without gates.
    #[serde(default)]
    pub datacenters: Vec<DatacenterStatus>,
}

/// Voters that are reachable and needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// Voters that can be reached, with the node itself.
    pub reachable: u32,
    /// Voters that make a majority.
    pub needed: u32,
    /// Whether proposals are tried at all.
    #[serde(default)]
    pub circuit: Circuit,
}

/// The breaker that stops proposals after repeated failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Circuit {
    /// Proposals are tried.
    #[default]
    Closed,
    /// One proposal is tried.
    HalfOpen,
    /// Proposals are refused at once.
    Open,
}

/// A voter or learner of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its id.
    pub id: String,
    /// Manager or gate.
    pub role: Role,
    /// What membership believes.
    pub state: MemberState,
    /// Whether it is the cluster leader.
    pub leader: bool,
    /// The last term in which it was heard of.
    pub term: u64,
    /// Whether it votes; a learner does not.
    #[serde(default = "yes")]
    pub voter: bool,
}

fn yes() -> bool {
    true
}

/// What membership believes about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// It responds to probes.
    Alive,
    /// It has not responded and may refute.
    Suspect,
    /// It has not refuted in time.
    Dead,
    /// It has left.
    Left,
    /// Nothing is known, or this version does not know the word.
    #[serde(other)]
    Unknown,
}

/// A worker as its manager group knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its id.
    pub id: String,
    /// As it reports itself.
    pub state: WorkerState,
    /// The manager that renews its lease; absent if none does.
    pub owner: Option<String>,
    /// Its cores.
    pub cores: u32,
    /// Cores that are not promised to a segment.
    pub free: u32,
}

/// State of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// Not yet usable.
    Registering,
    /// Chosen first.
    Healthy,
    /// Chosen last.
    Degraded,
    /// Finishes what it has.
    Draining,
    /// Gone.
    Offline,
    /// This version does not know the word.
    #[serde(other)]
    Unknown,
}

/// A datacenter as gates know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatacenterStatus {
    /// Its name.
    pub id: String,
    /// Its health.
    pub class: DatacenterClass,
}

/// Health of a datacenter, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatacenterClass {
    /// Free cores.
    Healthy,
    /// No free core.
    Busy,
    /// Too few workers or managers.
    Degraded,
    /// No manager responds, or no worker is registered.
    Unhealthy,
}

/// `cluster.members`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeList {
    /// The nodes, by id.
    pub nodes: Vec<NodeSummary>,
    /// Cursor of the next page; `None` if this is the last one.
    pub next: Option<String>,
}

/// A node as membership knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// Its id.
    pub id: String,
    /// What it does.
    pub role: Role,
    /// What membership believes.
    pub state: MemberState,
    /// Where it listens for nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Where its API listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// Which life of the node.
    #[serde(default)]
    pub boot: u64,
    /// Its build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What a worker said of itself last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_state: Option<WorkerState>,
}

/// `cluster.leaders`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderList {
    /// The log group.
    pub group: String,
    /// Its term.
    pub term: u64,
    /// The cluster leader's id; absent while there is none.
    pub leader: Option<String>,
    /// Where the cluster leader's API listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// Who leads each open job.
    pub jobs: Vec<JobLeader>,
}

/// Who leads a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLeader {
    /// The job.
    pub job: String,
    /// The node's id; absent while there is none.
    pub leader: Option<String>,
    /// The node's token.
    pub token: Option<Token>,
}

/// `cluster.events`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterEventList {
    /// The events, oldest first.
    pub events: Vec<ClusterEvent>,
    /// Cursor of the next page; `None` if this is the last one.
    pub next: Option<String>,
    /// The number of its newest event, on whichever page; one that was restarted begins at 1 again.
    #[serde(default)]
    pub last: u64,
    /// The node that reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Something that happened in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterEvent {
    /// Its number at the node that reports it.
    pub seq: u64,
    /// When, RFC 3339.
    pub at: String,
    /// A word for programs: `leader_changed`, `worker_gone`, ….
    pub event: String,
    /// The node it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The job it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The node that saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What happened, in words.
    pub message: String,
}

/// `cluster.drain`, `cluster.add` and `cluster.remove`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeChange {
    /// The node's id.
    pub node: String,
    /// How far the change is.
    pub status: NodeChangeStatus,
    /// What happens next, in words.
    #[serde(default)]
    pub message: String,
}

/// How far a change of the members is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeChangeStatus {
    /// It is committed, or the node was told.
    Accepted,
    /// Everything already was as requested.
    Unchanged,
}
