//! Methods by name, with parameters that are checked once, here.
//!
//! | method | repeatable | parameters |
//! | --- | --- | --- |
//! | `jobs.submit` | by `idempotency_key` | [`Submit`] |
//! | `jobs.get`, `jobs.result` | yes | `job` |
//! | `jobs.list`, `cluster.members`, `cluster.events` | yes | `limit`, `after` |
//! | `jobs.cancel` | by `request_id` | [`CancelJob`] |
//! | `workflows.cancel` | by `request_id` | [`CancelWorkflow`] |
//! | `jobs.control` | by `request_id` | [`Control`] |
//! | `cluster.status`, `cluster.leaders`, `system.methods` | yes | none |
//! | `cluster.drain` | yes | `node` |
//! | `cluster.add`, `cluster.remove` | no | `node` (an id, or for `add` an address) |
//! | those of the task plane | [`TaskCall`] | read by the node |

mod a2a;
mod cancel;
mod content;
mod control;
mod page;
mod request_id;
mod submit;
mod tasks;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use a2a::{A2aCall, A2aVersion, Operation};
pub use cancel::{CancelJob, CancelWorkflow};
pub use content::{BlobHash, BlobHashError, Content, PlanFile, PlanText};
pub use control::{Control, Steer};
pub use page::Page;
pub(crate) use request_id::hex;
pub use request_id::{RequestId, RequestIdError};
pub use submit::{FILES_MAX, Submit};
pub use tasks::TaskCall;

use crate::error::{ErrorCode, RpcError};
use crate::rpc::{Call, Id};

/// Bytes of the id or address of a node.
const NODE_MAX: usize = 256;
/// Bytes of a job's id.
const JOB_MAX: usize = 256;

/// A request whose parameters are valid.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Runs a plan.
    JobsSubmit(Box<Submit>),
    /// One job: its result so far.
    JobsGet {
        /// The job's id.
        job: String,
    },
    /// All jobs, page by page.
    JobsList(Page),
    /// The final result of a job.
    JobsResult {
        /// The job's id.
        job: String,
    },
    /// Stops a job for good.
    JobsCancel(CancelJob),
    /// Stops a workflow of a job for good.
    WorkflowsCancel(CancelWorkflow),
    /// Changes the load of a job.
    JobsControl(Control),
    /// Quorum, leadership, members and workers.
    ClusterStatus,
    /// All nodes that membership knows.
    ClusterMembers(Page),
    /// Who leads the cluster and which job.
    ClusterLeaders,
    /// What happened in the cluster lately.
    ClusterEvents(Page),
    /// Lets a node finish what it has and leave.
    ClusterDrain {
        /// The node's id.
        node: String,
    },
    /// Makes a node a member of the group.
    ClusterAdd {
        /// The node's id, or its address.
        node: String,
    },
    /// Removes a node from the group.
    ClusterRemove {
        /// The node's id.
        node: String,
    },
    /// A method of the task plane.
    Tasks(TaskCall),
    /// The methods of this node.
    SystemMethods,
}

/// Parameters that only name a job.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfJob {
    job: String,
}

/// Parameters that only name a node.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfNode {
    node: String,
}

/// No parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Method {
    /// The names of all methods of the task plane, sorted.
    pub const TASK_NAMES: [&str; 29] = tasks::NAMES;

    /// The names of all other methods, sorted.
    pub const NAMES: [&str; 15] = [
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

    /// Reads a method and its parameters.
    pub fn read(name: &str, params: Map<String, Value>) -> Result<Self, RpcError> {
        match name {
            "jobs.submit" => Ok(Self::JobsSubmit(Box::new(read::<Submit>(params)?.checked()?))),
            "jobs.get" => Ok(Self::JobsGet { job: read_job(params)? }),
            "jobs.list" => Ok(Self::JobsList(read::<Page>(params)?.checked()?)),
            "jobs.result" => Ok(Self::JobsResult { job: read_job(params)? }),
            "jobs.cancel" => Ok(Self::JobsCancel(read::<CancelJob>(params)?.checked()?)),
            "workflows.cancel" => Ok(Self::WorkflowsCancel(read::<CancelWorkflow>(params)?.checked()?)),
            "jobs.control" => Ok(Self::JobsControl(Control::read(params)?)),
            "cluster.status" => read::<Nothing>(params).map(|_| Self::ClusterStatus),
            "cluster.members" => Ok(Self::ClusterMembers(read::<Page>(params)?.checked()?)),
            "cluster.leaders" => read::<Nothing>(params).map(|_| Self::ClusterLeaders),
            "cluster.events" => Ok(Self::ClusterEvents(read::<Page>(params)?.checked()?)),
            "cluster.drain" => Ok(Self::ClusterDrain { node: read_node(params)? }),
            "cluster.add" => Ok(Self::ClusterAdd { node: read_node(params)? }),
            "cluster.remove" => Ok(Self::ClusterRemove { node: read_node(params)? }),
            "system.methods" => read::<Nothing>(params).map(|_| Self::SystemMethods),
            _ => match TaskCall::new(name, params) {
                Some(call) => Ok(Self::Tasks(call)),
                None => Err(RpcError::unsupported(name)),
            },
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::JobsSubmit(_) => "jobs.submit",
            Self::JobsGet { .. } => "jobs.get",
            Self::JobsList(_) => "jobs.list",
            Self::JobsResult { .. } => "jobs.result",
            Self::JobsCancel(_) => "jobs.cancel",
            Self::WorkflowsCancel(_) => "workflows.cancel",
            Self::JobsControl(_) => "jobs.control",
            Self::ClusterStatus => "cluster.status",
            Self::ClusterMembers(_) => "cluster.members",
            Self::ClusterLeaders => "cluster.leaders",
            Self::ClusterEvents(_) => "cluster.events",
            Self::ClusterDrain { .. } => "cluster.drain",
            Self::ClusterAdd { .. } => "cluster.add",
            Self::ClusterRemove { .. } => "cluster.remove",
            Self::Tasks(call) => call.name(),
            Self::SystemMethods => "system.methods",
        }
    }

    /// The job it is about; `None` if it is not about one.
    pub fn job(&self) -> Option<&str> {
        match self {
            Self::JobsGet { job } | Self::JobsResult { job } => Some(job),
            Self::JobsCancel(cancel) => Some(&cancel.job),
            Self::WorkflowsCancel(cancel) => Some(&cancel.job),
            Self::JobsControl(control) => Some(&control.job),
            _ => None,
        }
    }

    /// Whether carrying it out twice is the same as once, so that it may be repeated when its response was lost.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::JobsSubmit(submit) => submit.idempotency_key.is_some(),
            Self::JobsCancel(cancel) => cancel.request_id.is_some(),
            Self::WorkflowsCancel(cancel) => cancel.request_id.is_some(),
            Self::JobsControl(control) => control.request_id.is_some(),
            Self::Tasks(call) => call.is_repeatable(),
            Self::ClusterAdd { .. } | Self::ClusterRemove { .. } => false,
            Self::JobsGet { .. }
            | Self::JobsList(_)
            | Self::JobsResult { .. }
            | Self::ClusterStatus
            | Self::ClusterMembers(_)
            | Self::ClusterLeaders
            | Self::ClusterEvents(_)
            | Self::ClusterDrain { .. }
            | Self::SystemMethods => true,
        }
    }

    /// Whether the response may take as long as a cancel does.
    pub fn waits(&self) -> bool {
        matches!(self, Self::JobsCancel(CancelJob { wait: true, .. }))
            || matches!(self, Self::WorkflowsCancel(CancelWorkflow { wait: true, .. }))
    }

    /// Gives it the id by which a repetition is recognised, if it takes one and has none.
    pub fn identify(&mut self, id: impl FnOnce() -> RequestId) {
        let place = match self {
            Self::JobsSubmit(submit) => &mut submit.idempotency_key,
            Self::JobsCancel(cancel) => &mut cancel.request_id,
            Self::WorkflowsCancel(cancel) => &mut cancel.request_id,
            Self::JobsControl(control) => &mut control.request_id,
            Self::Tasks(call) => return call.identify(id),
            _ => return,
        };
        place.get_or_insert_with(id);
    }

    /// As a request with this id.
    pub fn to_call(&self, id: Id) -> Call {
        let params = match self {
            Self::JobsSubmit(submit) => json!(submit),
            Self::JobsGet { job } | Self::JobsResult { job } => json!({ "job": job }),
            Self::JobsList(page) | Self::ClusterMembers(page) | Self::ClusterEvents(page) => json!(page),
            Self::JobsCancel(cancel) => json!(cancel),
            Self::WorkflowsCancel(cancel) => json!(cancel),
            Self::JobsControl(control) => control.params(),
            Self::ClusterDrain { node } | Self::ClusterAdd { node } | Self::ClusterRemove { node } => {
                json!({ "node": node })
            }
            Self::Tasks(call) => Value::Object(call.params.clone()),
            Self::ClusterStatus | Self::ClusterLeaders | Self::SystemMethods => json!({}),
        };
        let Value::Object(params) = params else { unreachable!("every arm is an object") };
        Call { id: Some(id), method: self.name().to_owned(), params }
    }
}

fn read<T: DeserializeOwned>(params: Map<String, Value>) -> Result<T, RpcError> {
    serde_json::from_value(Value::Object(params))
        .map_err(|error| invalid(format!("wrong parameters: {error}")))
}

fn read_job(params: Map<String, Value>) -> Result<String, RpcError> {
    let OfJob { job } = read(params)?;
    checked_job(&job)?;
    Ok(job)
}

fn read_node(params: Map<String, Value>) -> Result<String, RpcError> {
    let OfNode { node } = read(params)?;
    checked_text("node", &node, 1, NODE_MAX)?;
    Ok(node)
}

fn checked_job(job: &str) -> Result<(), RpcError> {
    checked_text("job", job, 1, JOB_MAX)
}

fn checked_text(name: &str, text: &str, min: usize, max: usize) -> Result<(), RpcError> {
    if (min..=max).contains(&text.len()) {
        return Ok(());
    }
    Err(invalid(format!("`{name}` must have {min} to {max} bytes")))
}

fn checked_count(name: &str, count: usize, max: usize) -> Result<(), RpcError> {
    if count <= max { Ok(()) } else { Err(invalid(format!("`{name}` has at most {max} entries"))) }
}

fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(ErrorCode::InvalidParams, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, params: Value) -> Result<Method, RpcError> {
        let Value::Object(params) = params else { panic!("not an object") };
        Method::read(name, params)
    }

    #[test]
    fn every_named_method_is_read_and_others_are_not() {
        assert!(Method::NAMES.is_sorted() && Method::TASK_NAMES.is_sorted());
        for name in Method::NAMES.into_iter().chain(Method::TASK_NAMES) {
            let params = match name {
                "jobs.submit" => json!({"plan": {"name": "p.yaml", "text": ""}}),
                "jobs.control" => json!({"job": "j", "pause": true}),
                "workflows.cancel" => json!({"job": "j", "workflow": "w"}),
                "jobs.get" | "jobs.result" | "jobs.cancel" => json!({"job": "j"}),
                "cluster.drain" | "cluster.add" | "cluster.remove" => json!({"node": "m1"}),
                _ => json!({}),
            };
            let read = method(name, params).unwrap();
            assert_eq!(read.name(), name);
            let call = read.to_call(Id::Null);
            assert_eq!(Method::read(&call.method, call.params), Ok(read), "{name}");
        }
        assert!(method("jobs.explode", json!({})).unwrap_err().is(ErrorCode::MethodNotFound));
    }

    #[test]
    fn what_changes_something_is_repeatable_with_an_id_only() {
        for (name, params) in [
            ("jobs.submit", json!({"plan": {"name": "p.yaml", "text": ""}})),
            ("jobs.cancel", json!({"job": "j"})),
            ("workflows.cancel", json!({"job": "j", "workflow": "w"})),
            ("jobs.control", json!({"job": "j", "stop": true})),
        ] {
            let mut method = method(name, params).unwrap();
            assert!(!method.is_repeatable(), "{name}");
            method.identify(|| "once".parse().unwrap());
            assert!(method.is_repeatable(), "{name}");
            method.identify(|| panic!("it has one"));
        }
        assert!(!method("cluster.add", json!({"node": "m1"})).unwrap().is_repeatable());
        assert!(method("jobs.list", json!({})).unwrap().is_repeatable());
    }

    #[test]
    fn unknown_missing_and_overlong_parameters_are_refused() {
        for (name, params) in [
            ("jobs.get", json!({})),
            ("jobs.get", json!({"job": ""})),
            ("jobs.get", json!({"job": "j".repeat(JOB_MAX + 1)})),
            ("jobs.list", json!({"limit": 0})),
            ("jobs.list", json!({"page": 1})),
            ("cluster.drain", json!({"node": ""})),
            ("cluster.status", json!({"node": "m1"})),
        ] {
            let error = method(name, params.clone()).unwrap_err();
            assert!(error.is(ErrorCode::InvalidParams), "{name} {params}: {error}");
        }
    }
}
