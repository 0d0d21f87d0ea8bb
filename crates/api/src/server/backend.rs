//! What stands behind a server: a local run, a manager, a gate, a worker, a task node.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::error::{ErrorCode, RpcError};
use crate::event::{EventFrame, EventId};
use crate::method::{A2aCall, Method};
use crate::response::StoredBlob;
use crate::rpc::Id;

/// Carries out what clients request. Every method has a default for backends that do not have it: a worker has no jobs, a
/// local run takes no blobs.
///
/// Futures are dropped when the client goes away or the time for a response is over; what was begun then may or may not be
/// carried out.
pub trait Backend: Send + Sync + 'static {
    /// The methods it has, of [`Method::NAMES`] and [`Method::TASK_NAMES`]. Others are refused before they reach it; `system.methods` lists
    /// them.
    fn methods(&self) -> &'static [&'static str] {
        &[]
    }

    /// JSON Schemas of the parameters of its methods, and of the inputs of its executors, for `system.methods`.
    fn schemas(&self) -> (Map<String, Value>, Map<String, Value>) {
        Default::default()
    }

    /// Carries out a method, or says why not. [`to_result`] writes the response.
    fn call(&self, caller: &Caller, method: Method) -> impl Future<Output = Result<Value, RpcError>> + Send {
        let _ = caller;
        async move { Err(RpcError::unsupported(method.name())) }
    }

    /// Opens the stream of a job after this event; from the beginning of what is kept, if `None`. The stream ends after
    /// the final event, and early when the receiver lags behind or the node no longer serves the job; clients then
    /// reconnect.
    fn events(
        &self,
        caller: &Caller,
        job: String,
        after: Option<EventId>,
    ) -> impl Future<Output = Result<mpsc::Receiver<EventFrame>, RpcError>> + Send {
        let _ = (caller, after);
        async move { Err(RpcError::new(ErrorCode::NotFound, format!("there is no stream of {job} here"))) }
    }

    /// Keeps a file of a plan until it is submitted.
    fn blob(
        &self,
        caller: &Caller,
        bytes: Bytes,
    ) -> impl Future<Output = Result<StoredBlob, RpcError>> + Send {
        let _ = (caller, bytes);
        async { Err(RpcError::new(ErrorCode::NotFound, "this node stores no blobs")) }
    }

    /// Whether it speaks A2A: it has a card and carries out [`A2aCall`]s.
    fn is_agent(&self) -> bool {
        false
    }

    /// The card of an agent that is reached at this address, with or without a token.
    fn agent_card(&self, url: &str, needs_token: bool) -> Value {
        let _ = (url, needs_token);
        Value::Null
    }

    /// Carries out an operation of A2A that does not stream. A message that is to be waited for is responded to within `hold_max`,
    /// with the task as it is then.
    fn a2a(
        &self,
        caller: &Caller,
        call: A2aCall,
        hold_max: Duration,
    ) -> impl Future<Output = Result<Value, RpcError>> + Send {
        let _ = (caller, call, hold_max);
        async { Err(RpcError::new(ErrorCode::NotFound, "this node is no agent")) }
    }

    /// Carries out an operation of A2A that streams: every frame is a response to the request with this id.
    fn a2a_stream(
        &self,
        caller: &Caller,
        call: A2aCall,
        id: Id,
    ) -> impl Future<Output = Result<mpsc::Receiver<EventFrame>, RpcError>> + Send {
        let _ = (caller, call, id);
        async { Err(RpcError::new(ErrorCode::NotFound, "this node is no agent")) }
    }

    /// Whether the dashboard is served beside the API.
    fn has_dashboard(&self) -> bool {
        false
    }

    /// Whether the node can do its work.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send {
        async { Readiness::Ready }
    }

    /// Metrics in the text format of Prometheus.
    fn metrics(&self) -> impl Future<Output = String> + Send {
        async { String::new() }
    }
}

/// Writes a typed response.
pub fn to_result(response: &impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(response).map_err(|error| RpcError::new(ErrorCode::InternalError, error.to_string()))
}

/// Who sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Where the request came from.
    pub source: Source,
    /// Whether the caller has proven that it may change things: by the token, or by its user on a unix socket. False on
    /// loopback without a token, where everybody on the machine may.
    pub is_authenticated: bool,
}

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A process of this user on this machine.
    User(u32),
    /// A peer on the network.
    Peer(SocketAddr),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "user {user}"),
            Self::Peer(address) => write!(f, "{}", address.ip()),
        }
    }
}

/// Whether a node can do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It can.
    Ready,
    /// It cannot yet, or not any more, for this reason.
    NotReady(String),
}
