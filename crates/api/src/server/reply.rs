//! HTTP responses: JSON, text, errors.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::Value;

use super::stream::EventBody;
use crate::error::{ErrorCode, RpcError};
use crate::rpc::{self, Id};

/// What a client is told: a whole body, or a stream of events.
pub(super) type Reply = Response<Either<Full<Bytes>, EventBody>>;

pub(super) fn json(status: StatusCode, value: &Value) -> Reply {
    text(status, "application/json", value.to_string())
}

pub(super) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(text.into())));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

pub(super) fn nothing(status: StatusCode) -> Reply {
    let mut reply = Response::new(Either::Left(Full::default()));
    *reply.status_mut() = status;
    reply
}

pub(super) fn wrong_method(allowed: &'static str) -> Reply {
    let mut reply = nothing(StatusCode::METHOD_NOT_ALLOWED);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}

pub(super) fn events(body: EventBody) -> Reply {
    let mut reply = Response::new(Either::Right(body));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// An error outside of JSON-RPC: its status, and the same body that `/rpc` would send.
pub(super) fn failure(error: &RpcError) -> Reply {
    let code = error.kind().unwrap_or(ErrorCode::InternalError);
    let status = StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = json(status, &rpc::write_response(&Id::Null, Err(error.clone())));
    if code == ErrorCode::Unauthorized {
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(after_ms) = error.details().retry_after_ms {
        reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after_ms.div_ceil(1_000)));
    }
    reply
}
