//! JSON-RPC of one body: methods are read, handed to the backend one after the other, and their responses written.

use serde_json::Value;
use tokio::time::timeout;

use super::{Backend, Caller, Shared, to_result};
use crate::error::RpcError;
use crate::method::Method;
use crate::response::MethodList;
use crate::rpc::{self, Call, Calls, Malformed};

const SYSTEM_METHODS: &str = "system.methods";

/// The response to everything in one body; `None` if nothing of it wants one.
pub(super) async fn respond<B: Backend>(calls: Calls, caller: &Caller, shared: &Shared<B>) -> Option<Value> {
    match calls {
        Calls::One(call) => respond_one(call, caller, shared).await,
        Calls::Batch(calls) => {
            let mut responses = Vec::new();
            // In order: a batch may change something and then look at it.
            for call in calls {
                responses.extend(respond_one(call, caller, shared).await);
            }
            (!responses.is_empty()).then_some(Value::Array(responses))
        }
    }
}

async fn respond_one<B: Backend>(
    call: Result<Call, Malformed>,
    caller: &Caller,
    shared: &Shared<B>,
) -> Option<Value> {
    match call {
        Ok(Call { id, method, params }) => {
            let outcome = carry_out(&method, params, caller, shared).await;
            Some(rpc::write_response(&id?, outcome))
        }
        Err(Malformed { id, error }) => Some(rpc::write_response(&id, Err(error))),
    }
}

async fn carry_out<B: Backend>(
    name: &str,
    params: serde_json::Map<String, Value>,
    caller: &Caller,
    shared: &Shared<B>,
) -> Result<Value, RpcError> {
    let known = shared.backend.methods();
    if name != SYSTEM_METHODS && !known.contains(&name) {
        return Err(RpcError::unsupported(name));
    }
    let method = Method::read(name, params)?;
    if method == Method::SystemMethods {
        let mut methods: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        methods.push(SYSTEM_METHODS.to_owned());
        methods.sort_unstable();
        methods.dedup();
        let (schemas, executors) = shared.backend.schemas();
        return to_result(&MethodList { methods, schemas, executors });
    }
    let time = if method.waits() { shared.limits.wait_timeout } else { shared.limits.call_timeout };
    timeout(time, shared.backend.call(caller, method)).await.unwrap_or_else(|_| Err(busy()))
}

fn busy() -> RpcError {
    RpcError::refused(
        "no response within the time limit; the request may still be carried out",
        "busy",
        "try again",
    )
}
