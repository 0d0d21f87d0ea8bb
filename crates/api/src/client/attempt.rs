//! One attempt at one server: the request is written, its response read.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST};
use hyper::http::request::Builder;
use hyper::{Request, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use super::Client;
use super::endpoint::Endpoint;
use super::error::CallError;
use super::exchange::{self, Exchange};
use crate::event::EventId;
use crate::method::Method;
use crate::response::StoredBlob;
use crate::rpc::{self, Id};

impl Client {
    /// One JSON-RPC call.
    pub(super) async fn attempt_call(
        &self,
        endpoint: &Endpoint,
        method: &Method,
    ) -> Result<Value, CallError> {
        let timing = self.timing();
        let time = if method.waits() { timing.wait } else { timing.call };
        let body = rpc::write_call(&method.to_call(Id::Number(1.into()))).to_string();
        let request = self.head(endpoint, Request::post("/rpc")).header(CONTENT_TYPE, "application/json");
        let body = self.whole(endpoint, request, body.into(), time).await?;
        let outcome = rpc::read_response(&body).ok_or_else(|| malformed("not a JSON-RPC response"))?;
        Ok(outcome?)
    }

    /// One upload.
    pub(super) async fn attempt_blob(
        &self,
        endpoint: &Endpoint,
        bytes: Bytes,
    ) -> Result<StoredBlob, CallError> {
        let request = self.head(endpoint, Request::put("/blobs"));
        let request = request.header(CONTENT_TYPE, "application/octet-stream");
        let body = self.whole(endpoint, request, bytes, self.timing().wait).await?;
        serde_json::from_slice(&body).map_err(|error| CallError::Malformed(error.to_string()))
    }

    /// Opens the stream of a job.
    pub(super) async fn attempt_events(
        &self,
        endpoint: &Endpoint,
        job: &str,
        after: Option<EventId>,
    ) -> Result<Exchange, CallError> {
        let mut request = self.head(endpoint, Request::get(format!("/events/{job}")));
        request = request.header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let opened = self.send(endpoint, request, Bytes::new());
        timeout(self.timing().call, opened).await.map_err(late)?
    }

    fn head(&self, endpoint: &Endpoint, request: Builder) -> Builder {
        let host = match endpoint {
            Endpoint::Unix(_) => "localhost".to_owned(),
            Endpoint::Tcp(url) => url.authority(),
        };
        let request = request.header(HOST, host).header(CONNECTION, "close");
        match &self.shared.token {
            Some(token) => request.header(AUTHORIZATION, token.header()),
            None => request,
        }
    }

    /// Sends a request and reads the whole body of a response that is not an error.
    async fn whole(
        &self,
        endpoint: &Endpoint,
        request: Builder,
        body: Bytes,
        time: Duration,
    ) -> Result<Bytes, CallError> {
        let exchanged = async { self.send(endpoint, request, body).await?.body().await };
        timeout(time, exchanged).await.map_err(late)?
    }

    /// Sends a request; a response that is not 200 is an error, in words of the server if it has any.
    async fn send(&self, endpoint: &Endpoint, request: Builder, body: Bytes) -> Result<Exchange, CallError> {
        let request = request.body(Full::new(body)).map_err(|error| malformed(&error.to_string()))?;
        let connect_time = self.timing().connect;
        let exchange = exchange::send(endpoint, self.shared.tls.as_ref(), connect_time, request).await?;
        let status = exchange.response.status();
        if status == StatusCode::OK {
            return Ok(exchange);
        }
        match rpc::read_response(&exchange.body().await?) {
            Some(Err(error)) => Err(CallError::Refused(error)),
            _ => Err(malformed(&format!("HTTP status {status}"))),
        }
    }
}

fn malformed(why: &str) -> CallError {
    CallError::Malformed(why.to_owned())
}

fn late(_: tokio::time::error::Elapsed) -> CallError {
    CallError::Lost("no response in time".to_owned())
}
