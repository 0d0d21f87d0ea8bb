//! The server: HTTP/1.1 on a unix socket, `POST /rpc` and nothing else.
//!
//! Everything a peer can do costs bounded memory and time: connections, heads, bodies and waits have limits. Only processes
//! of the same user are served. The server never decides about a job: it asks its [`Desk`].

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method as HttpMethod, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::method::Method;
use crate::rpc::{self, Call, Calls, Malformed, RpcError};

/// Where requests go.
pub const PATH: &str = "/rpc";
/// Bytes of a request.
pub const BODY_MAX: usize = 1 << 20;
/// Connections at a time; others wait to be accepted.
const CONNECTIONS_MAX: usize = 16;
/// Bytes of a request's head, and of what is read ahead of it.
const HEAD_MAX: usize = 16 << 10;
/// Time in which a head, and then a body, must have come. Peers are on this machine.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Time in which a job must have answered.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that answers under way get when the server stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Whoever owns the job and answers for it.
pub trait Desk: Send + Sync + 'static {
    /// Does what is asked for, or says why not.
    fn answer(&self, method: Method) -> impl Future<Output = Result<Value, RpcError>> + Send;
}

/// Answers requests on one socket.
pub struct Server<D> {
    /// Where it listens.
    pub listener: UnixListener,
    /// Who is asked.
    pub desk: Arc<D>,
    /// Whose processes are served.
    pub user: u32,
}

impl<D: Desk> Server<D> {
    /// Serves until it is told to stop; then answers under way are finished.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                Some(_) = connections.join_next(), if connections.len() >= CONNECTIONS_MAX => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                    // A peer that is gone before it was accepted is no trouble of ours.
                    if let Ok((stream, _)) = accepted && is_of(&stream, self.user) {
                        connections.spawn(serve(stream, Arc::clone(&self.desk), stop.clone()));
                    }
                }
            }
        }
        drop(self.listener);
        let rest = async { while connections.join_next().await.is_some() {} };
        // What is still not answered is cut off with the set.
        drop(timeout(CLOSE_TIMEOUT, rest).await);
    }
}

/// Waits for the word to stop, or for the end of whoever could say it.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

fn is_of(stream: &UnixStream, user: u32) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == user)
}

async fn serve<D: Desk>(stream: UnixStream, desk: Arc<D>, mut stop: watch::Receiver<bool>) {
    let service = service_fn(move |request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(respond(request, desk.as_ref()).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_TIMEOUT)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // A connection that fails concerns its peer, who sees it too.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopped(&mut stop) => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}

async fn respond<D: Desk>(request: Request<Incoming>, desk: &D) -> Response<Full<Bytes>> {
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND);
    }
    if request.method() != HttpMethod::POST {
        return plain(StatusCode::METHOD_NOT_ALLOWED);
    }
    // One that says so itself need not be read to know it.
    if request.body().size_hint().lower() > BODY_MAX as u64 {
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let body = Limited::new(request.into_body(), BODY_MAX).collect();
    let body = match timeout(READ_TIMEOUT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return plain(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT),
    };
    match answer(rpc::read(&body), desk).await {
        None => plain(StatusCode::NO_CONTENT),
        Some(answer) => {
            let mut response = Response::new(Full::from(answer.to_string()));
            let json = hyper::header::HeaderValue::from_static("application/json");
            response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
            response
        }
    }
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

/// The answer to everything in one body; `None` if nothing of it wants one.
async fn answer<D: Desk>(calls: Calls, desk: &D) -> Option<Value> {
    match calls {
        Calls::One(call) => answer_one(call, desk).await,
        Calls::Batch(calls) => {
            let mut answers = Vec::new();
            // One after the other: a batch means what it says in the order it says it.
            for call in calls {
                answers.extend(answer_one(call, desk).await);
            }
            (!answers.is_empty()).then_some(Value::Array(answers))
        }
    }
}

async fn answer_one<D: Desk>(call: Result<Call, Malformed>, desk: &D) -> Option<Value> {
    let Call { id, method, params } = match call {
        Ok(call) => call,
        Err(Malformed { id, error }) => return Some(rpc::write_answer(&id, Err(error))),
    };
    let outcome = match Method::read(&method, params) {
        Ok(method) => timeout(ANSWER_TIMEOUT, desk.answer(method)).await.unwrap_or_else(|_| Err(silent())),
        Err(error) => Err(error),
    };
    Some(rpc::write_answer(&id?, outcome))
}

fn silent() -> RpcError {
    RpcError::refused("the run did not answer in time", "busy", "try again")
}
