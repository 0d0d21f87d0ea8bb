//! One request on one connection, and its response.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::endpoint::{Endpoint, ServerUrl};
use super::error::CallError;
use crate::tls::ClientTls;

/// Bytes of a response: the result of a large plan has some megabytes.
const RESPONSE_MAX: usize = 64 << 20;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A response whose body is still being read. The connection is driven by whoever reads: there is no task of its own.
pub(super) struct Exchange {
    pub(super) response: Response<Incoming>,
    driver: Driver,
}

/// The future that moves bytes of a connection; `None` when it has ended.
struct Driver(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Driver {
    /// Waits for something that happens on the connection.
    async fn drive<T>(&mut self, waited: impl Future<Output = T>) -> T {
        let mut waited = pin!(waited);
        poll_fn(|context| {
            if let Some(connection) = &mut self.0
                && connection.as_mut().poll(context).is_ready()
            {
                self.0 = None;
            }
            match waited.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(done),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// Connects and sends a request; returns when the head of the response has come.
pub(super) async fn send(
    endpoint: &Endpoint,
    tls: Option<&ClientTls>,
    connect_time: Duration,
    request: Request<Full<Bytes>>,
) -> Result<Exchange, CallError> {
    let late = |_| unreachable(endpoint, &io::ErrorKind::TimedOut.into());
    let stream = timeout(connect_time, connect(endpoint, tls)).await.map_err(late)??;
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| lost(&error))?;
    let mut driver = Driver(Some(Box::pin(async move { drop(connection.await) })));
    let response = driver.drive(sender.send_request(request)).await.map_err(|error| lost(&error))?;
    Ok(Exchange { response, driver })
}

impl Exchange {
    /// The rest of the body.
    pub(super) async fn body(mut self) -> Result<Bytes, CallError> {
        let body = Limited::new(self.response.into_body(), RESPONSE_MAX).collect();
        let collected = self.driver.drive(body).await;
        collected.map(http_body_util::Collected::to_bytes).map_err(|error| CallError::Lost(error.to_string()))
    }

    /// The next part of the body; `None` at its end.
    pub(super) async fn part(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            match self.driver.drive(self.response.body_mut().frame()).await {
                None => return Ok(None),
                Some(Err(error)) => return Err(lost(&error)),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exchange({})", self.response.status())
    }
}

async fn connect(endpoint: &Endpoint, tls: Option<&ClientTls>) -> Result<Box<dyn Stream>, CallError> {
    let failed = |error| unreachable(endpoint, &error);
    match endpoint {
        Endpoint::Unix(path) => Ok(Box::new(UnixStream::connect(path).await.map_err(failed)?)),
        Endpoint::Tcp(url) => {
            let stream = TcpStream::connect((url.host(), url.port())).await.map_err(failed)?;
            let _ = stream.set_nodelay(true);
            match tls.filter(|_| url.is_tls()) {
                None if url.is_tls() => Err(untrusted(url, "no authorities are configured")),
                None => Ok(Box::new(stream)),
                Some(tls) => Ok(Box::new(handshake(url, tls, stream).await?)),
            }
        }
    }
}

async fn handshake(
    url: &ServerUrl,
    tls: &ClientTls,
    stream: TcpStream,
) -> Result<impl Stream + use<>, CallError> {
    let name = ServerName::try_from(url.host().to_owned()).map_err(|error| untrusted(url, error))?;
    let connected = TlsConnector::from(tls.0.clone()).connect(name, stream).await;
    connected.map_err(|error| untrusted(url, error))
}

fn unreachable(endpoint: &Endpoint, error: &io::Error) -> CallError {
    CallError::Unreachable { server: endpoint.to_string(), why: error.to_string() }
}

fn untrusted(url: &ServerUrl, why: impl fmt::Display) -> CallError {
    CallError::Untrusted { server: url.to_string(), why: why.to_string() }
}

fn lost(error: &hyper::Error) -> CallError {
    use std::error::Error as _;
    let why = error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    CallError::Lost(why)
}
