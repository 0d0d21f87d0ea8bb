//! JSON-RPC of one body: methods are read, handed to the backend one after the other, and their responses written.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Backend, Caller, Shared, to_result};
use crate::error::{ErrorCode, RpcError};
use crate::event::EventFrame;
use crate::method::{A2aCall, A2aVersion, Method, Operation};
use crate::response::MethodList;
use crate::rpc::{self, Call, Calls, Id, Malformed};

const SYSTEM_METHODS: &str = "system.methods";

/// What one body is responded to with.
pub(super) enum Response {
    /// Nothing of it wants a response.
    Nothing,
    /// The response, or those to a batch.
    Whole(Value),
    /// Responses as they come, for a method of A2A that streams.
    Stream(mpsc::Receiver<EventFrame>),
}

/// Who asks, and in which version of A2A.
pub(super) struct Asking {
    pub(super) caller: Caller,
    pub(super) version: Result<A2aVersion, RpcError>,
}

/// A request that was understood.
enum Request {
    Methods,
    Ours(Method),
    Agent(A2aCall),
}

/// Responds to everything in one body.
pub(super) async fn respond<B: Backend>(calls: Calls, asking: &Asking, shared: &Shared<B>) -> Response {
    let calls = match calls {
        Calls::One(call) => return respond_one(call, true, asking, shared).await,
        Calls::Batch(calls) => calls,
    };
    let mut responses = Vec::new();
    // In order: a batch may change something and then look at it.
    for call in calls {
        if let Response::Whole(response) = respond_one(call, false, asking, shared).await {
            responses.push(response);
        }
    }
    if responses.is_empty() { Response::Nothing } else { Response::Whole(Value::Array(responses)) }
}

async fn respond_one<B: Backend>(
    call: Result<Call, Malformed>,
    is_alone: bool,
    asking: &Asking,
    shared: &Shared<B>,
) -> Response {
    let (id, outcome) = match call {
        Err(Malformed { id, error }) => (Some(id), Err(error)),
        Ok(Call { id, method, params }) => match read(&method, params, asking, shared) {
            Ok(Request::Agent(call)) if call.streams() => {
                let version = call.version;
                match (open(call, id.as_ref().filter(|_| is_alone), asking, shared).await, id) {
                    (Ok(frames), _) => return Response::Stream(frames),
                    (Err(error), Some(id)) if is_alone && version == A2aVersion::V0_3 => {
                        return Response::Stream(only(&rpc::write_response(&id, Err(error))));
                    }
                    (Err(error), id) => (id, Err(error)),
                }
            }
            Ok(request) => (id, carry_out(request, asking, shared).await),
            Err(error) => (id, Err(error)),
        },
    };
    let write = |id: Id| Response::Whole(rpc::write_response(&id, asking.shaped(outcome, shared)));
    id.map_or(Response::Nothing, write)
}

impl Asking {
    /// An outcome whose error is written as the version of A2A wants it.
    fn shaped<B: Backend>(
        &self,
        outcome: Result<Value, RpcError>,
        shared: &Shared<B>,
    ) -> Result<Value, RpcError> {
        let is_new = !matches!(self.version, Ok(A2aVersion::V0_3));
        outcome.map_err(|error| if is_new && shared.backend.is_agent() { error.in_a2a() } else { error })
    }
}

fn read<B: Backend>(
    name: &str,
    params: Map<String, Value>,
    asking: &Asking,
    shared: &Shared<B>,
) -> Result<Request, RpcError> {
    if name == SYSTEM_METHODS || shared.backend.methods().contains(&name) {
        return Ok(match Method::read(name, params)? {
            Method::SystemMethods => Request::Methods,
            method => Request::Ours(method),
        });
    }
    if shared.backend.is_agent() {
        return A2aCall::read(asking.version.clone()?, name, params).map(Request::Agent);
    }
    Err(RpcError::unsupported(name))
}

async fn carry_out<B: Backend>(
    request: Request,
    asking: &Asking,
    shared: &Shared<B>,
) -> Result<Value, RpcError> {
    let limits = &shared.limits;
    match request {
        Request::Methods => methods(shared),
        Request::Ours(method) => {
            let time = if method.waits() { limits.wait_timeout } else { limits.call_timeout };
            let call = shared.backend.call(&asking.caller, method);
            timeout(time, call).await.unwrap_or_else(|_| Err(busy()))
        }
        Request::Agent(call) => {
            let hold = if call.operation == Operation::Send { limits.hold_timeout } else { Duration::ZERO };
            let time = limits.call_timeout + hold;
            let call = shared.backend.a2a(&asking.caller, call, limits.hold_timeout);
            timeout(time, call).await.unwrap_or_else(|_| Err(busy()))
        }
    }
}

fn methods<B: Backend>(shared: &Shared<B>) -> Result<Value, RpcError> {
    let mut methods: Vec<String> = shared.backend.methods().iter().map(|&name| name.to_owned()).collect();
    methods.push(SYSTEM_METHODS.to_owned());
    methods.sort_unstable();
    methods.dedup();
    let (schemas, executors) = shared.backend.schemas();
    to_result(&MethodList { methods, schemas, executors })
}

/// Opens the stream of a request that has an id and stands alone.
async fn open<B: Backend>(
    call: A2aCall,
    id: Option<&Id>,
    asking: &Asking,
    shared: &Shared<B>,
) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
    let unnamed = || {
        RpcError::new(
            ErrorCode::InvalidRequest,
            "its response is a stream, which neither a batch nor a notification has",
        )
        .fix("send it with an `id`, in a request of its own")
    };
    let id = id.ok_or_else(unnamed)?.clone();
    let opened = shared.backend.a2a_stream(&asking.caller, call, id);
    timeout(shared.limits.call_timeout, opened).await.unwrap_or_else(|_| Err(busy()))
}

/// A stream of one response: clients of 0.3 read the errors of methods that stream from a stream too.
fn only(response: &Value) -> mpsc::Receiver<EventFrame> {
    let (sender, receiver) = mpsc::channel(1);
    // There is room for one.
    drop(sender.try_send(EventFrame::response(response, true)));
    receiver
}

fn busy() -> RpcError {
    RpcError::refused(
        "no response within the time limit; the request may still be carried out",
        "busy",
        "try again",
    )
}
