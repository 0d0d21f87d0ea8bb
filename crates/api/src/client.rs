//! The client: one request to one socket, one answer.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::method::Method;
use crate::rpc::{self, Id, RpcError};
use crate::server::PATH;

/// Bytes of an answer: the result so far of a large plan has some megabytes.
const ANSWER_MAX: usize = 64 << 20;
/// Time for everything, longer than a server takes to give up on its job.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Speaks to whoever listens on a socket.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody listens there. The request was not seen.
    #[error("nobody answers on {}: {source}", socket.display())]
    Unreachable {
        /// Where.
        socket: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody listens, but no whole answer came. The request may have been carried out.
    #[error("the connection was lost before the answer: {0}")]
    Lost(String),
    /// An answer came that makes no sense; the other side is something else, or another version.
    #[error("the answer cannot be understood: {0}")]
    Strange(String),
    /// The other side refused. Nothing was done.
    #[error(transparent)]
    Refused(#[from] RpcError),
}

impl Client {
    /// A client for this socket. Nothing is opened yet.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// Calls a method and waits for its result.
    pub async fn call<T: DeserializeOwned>(&self, method: &Method) -> Result<T, CallError> {
        let unreachable = |source| CallError::Unreachable { socket: self.socket.clone(), source };
        let stream = UnixStream::connect(&self.socket).await.map_err(unreachable)?;
        let body = rpc::write_call(&method.to_call(Id::Number(1.into()))).to_string();
        let answer = timeout(TIMEOUT, exchange(stream, body)).await;
        let answer = answer.map_err(|_| CallError::Lost("it took too long".to_owned()))??;
        let outcome =
            rpc::read_answer(&answer).ok_or_else(|| CallError::Strange("not an answer".to_owned()))?;
        serde_json::from_value(outcome?).map_err(|error| CallError::Strange(error.to_string()))
    }
}

async fn exchange(stream: UnixStream, body: String) -> Result<Bytes, CallError> {
    let lost = |error: hyper::Error| CallError::Lost(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    let request = Request::post(PATH)
        .header(HOST, "localhost")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::<Bytes>::from(body))
        .expect("a path and two constant headers are a request");
    let answered = async {
        let response = sender.send_request(request).await.map_err(lost)?;
        if response.status() != StatusCode::OK {
            return Err(CallError::Strange(format!("status {}", response.status())));
        }
        let body = Limited::new(response.into_body(), ANSWER_MAX).collect().await;
        body.map(Collected::to_bytes).map_err(|error| CallError::Lost(error.to_string()))
    };
    // The connection has to be driven while the answer is waited for; it may end first.
    let driven = async {
        drop(connection.await);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        answer = answered => answer,
        () = driven => unreachable!("it never ends"),
    }
}
