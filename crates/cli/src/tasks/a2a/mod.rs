//! The node as an agent: A2A 1.0 and 0.3 (<https://a2a-protocol.org>).
//!
//! A task of A2A is a tree of tasks: what one message submitted. Its id is that of the tree, its context is the one that the message
//! names, or the tree. Results of tasks are its artifacts, and the message is its history.
//!
//! | module       | what it owns                                                        |
//! | ------------ | ------------------------------------------------------------------- |
//! | `card`       | what the agent says about itself                                    |
//! | `message`    | messages and their parts, read and written in both versions         |
//! | `submission` | from a message to a tree                                            |
//! | `send`       | messages that become tasks, with or without waiting for their end   |
//! | `tasks`      | looking at a task, cancelling it                                    |
//! | `list`       | tasks page by page                                                  |
//! | `task`       | a tree as a task of A2A                                             |
//! | `shape`      | objects as each version writes them                                 |
//! | `updates`    | events of a tree as updates of a task                               |
//! | `errors`     | what was refused, in the words of A2A                               |

mod card;
mod errors;
mod list;
mod message;
mod send;
mod shape;
mod submission;
mod task;
mod tasks;
mod updates;

use std::time::Duration;

use hyperscale_api::rpc::Id;
use hyperscale_api::{A2aCall, EventFrame, Operation, RpcError};
use serde_json::Value;
use tokio::sync::mpsc;

use super::backend::TaskBackend;

pub(super) use card::card;
pub(super) use updates::Updates;

/// Carries out an operation that does not stream.
pub(super) async fn call(
    backend: &TaskBackend,
    call: A2aCall,
    hold_max: Duration,
) -> Result<Value, RpcError> {
    let (plane, A2aCall { version, operation, params }) = (backend.plane()?, call);
    let done = match operation {
        Operation::Send => send::send(backend, &plane, version, params, hold_max).await,
        Operation::Get => tasks::get(&plane, version, params).await,
        Operation::List => list::list(&plane, version, params).await,
        Operation::Cancel => tasks::cancel(&plane, version, params).await,
        Operation::PushNotifications => Err(errors::no_push_notifications()),
        Operation::ExtendedCard => Err(errors::no_extended_card(version)),
        Operation::SendStreaming | Operation::Subscribe => Err(errors::streams_only()),
    };
    done.map_err(errors::in_words_of_a2a)
}

/// Opens the stream of an operation that has one; every frame is a response to the request with this id.
pub(super) async fn stream(
    backend: &TaskBackend,
    call: A2aCall,
    id: Id,
) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
    let (plane, A2aCall { version, operation, params }) = (backend.plane()?, call);
    let opened = match operation {
        Operation::SendStreaming => send::stream(backend, &plane, version, params, id).await,
        _ => tasks::subscribe(backend, &plane, version, params, id).await,
    };
    opened.map_err(errors::in_words_of_a2a)
}
