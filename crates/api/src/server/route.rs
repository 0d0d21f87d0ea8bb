//! From an HTTP request to what responds to it.

use hyper::body::Incoming;
use hyper::header::HeaderName;
use hyper::{Method as HttpMethod, Request, StatusCode};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::limits::{BLOB_MAX, BLOB_RETRY_AFTER, BODY_MAX};
use super::reply::{self, Reply};
use super::rpc::{self as dispatch, Asking, Response};
use super::stream::EventBody;
use super::{Backend, Caller, Readiness, Shared, Source, agent, body, dashboard, to_result};
use crate::error::{ErrorCode, RpcError};
use crate::event::{EventFrame, EventId};
use crate::rpc::{self, Calls};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Characters of a job's id in a path.
const JOB_MAX: usize = 256;

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route<'p> {
    Rpc,
    /// A file of the dashboard, by its path.
    Dashboard(&'p str),
    Events(&'p str),
    Blobs,
    Health,
    Ready,
    Metrics,
    AgentCard,
}

impl<'p> Route<'p> {
    fn of(path: &'p str, method: &HttpMethod) -> Option<Self> {
        match path {
            "/" if method == HttpMethod::GET => Some(Self::Dashboard(path)),
            "/rpc" | "/" => Some(Self::Rpc),
            "/blobs" => Some(Self::Blobs),
            "/healthz" => Some(Self::Health),
            "/readyz" => Some(Self::Ready),
            "/metrics" => Some(Self::Metrics),
            agent::CARD_PATH => Some(Self::AgentCard),
            _ if path.starts_with("/ui/") => Some(Self::Dashboard(path)),
            _ => path.strip_prefix("/events/").filter(|job| is_job(job)).map(Self::Events),
        }
    }

    fn method(self) -> HttpMethod {
        match self {
            Self::Rpc => HttpMethod::POST,
            Self::Blobs => HttpMethod::PUT,
            _ => HttpMethod::GET,
        }
    }

    fn allowed(self) -> &'static str {
        match self {
            Self::Rpc => "POST",
            Self::Blobs => "PUT",
            _ => "GET",
        }
    }
}

fn is_job(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=JOB_MAX).contains(&text.len()) && text.bytes().all(fits)
}

/// Responds to one request.
pub(super) async fn respond<B: Backend>(
    request: Request<Incoming>,
    source: Source,
    shared: &Shared<B>,
) -> Reply {
    let handled = handle(request, source, shared).await;
    handled.unwrap_or_else(|error| reply::failure(&error))
}

async fn handle<B: Backend>(
    request: Request<Incoming>,
    source: Source,
    shared: &Shared<B>,
) -> Result<Reply, RpcError> {
    shared.take(source, 1)?;
    let path = request.uri().path().to_owned();
    let Some(route) = Route::of(&path, request.method()) else {
        return Err(RpcError::new(ErrorCode::NotFound, format!("there is nothing at {}", shown(&path))));
    };
    match route {
        Route::Health | Route::Ready | Route::Metrics | Route::AgentCard | Route::Dashboard(_)
            if request.method() != route.method() =>
        {
            Ok(reply::wrong_method(route.allowed()))
        }
        Route::Health => Ok(reply::json(StatusCode::OK, &json!({ "healthy": true }))),
        Route::Ready => Ok(ready(shared).await),
        Route::Metrics => Ok(metrics(shared).await),
        Route::AgentCard => agent::card(request.headers(), shared),
        Route::Dashboard(path) => {
            let page = dashboard::file(path).filter(|_| shared.backend.has_dashboard());
            page.ok_or_else(|| {
                RpcError::new(ErrorCode::NotFound, format!("there is nothing at {}", shown(path)))
            })
        }
        Route::Rpc | Route::Events(_) | Route::Blobs => {
            let caller = shared.gate.admit(source, request.headers())?;
            if request.method() != route.method() {
                return Ok(reply::wrong_method(route.allowed()));
            }
            match route {
                Route::Events(job) => events(job, &request, &caller, shared).await,
                Route::Blobs => blob(request, &caller, shared).await,
                _ => rpc(request, caller, shared).await,
            }
        }
    }
}

fn shown(path: &str) -> String {
    path.chars().take(64).collect()
}

async fn ready<B: Backend>(shared: &Shared<B>) -> Reply {
    let late = |_| Readiness::NotReady("the node did not respond in time".to_owned());
    let readiness = timeout(shared.limits.call_timeout, shared.backend.readiness()).await;
    match readiness.unwrap_or_else(late) {
        Readiness::Ready => reply::json(StatusCode::OK, &json!({ "ready": true })),
        Readiness::NotReady(reason) => {
            let body = json!({ "ready": false, "reason": reason });
            reply::json(StatusCode::SERVICE_UNAVAILABLE, &body)
        }
    }
}

async fn metrics<B: Backend>(shared: &Shared<B>) -> Reply {
    match timeout(shared.limits.call_timeout, shared.backend.metrics()).await {
        Ok(text) => reply::text(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text),
        Err(_) => reply::nothing(StatusCode::SERVICE_UNAVAILABLE),
    }
}

async fn rpc<B: Backend>(
    request: Request<Incoming>,
    caller: Caller,
    shared: &Shared<B>,
) -> Result<Reply, RpcError> {
    let asking = Asking { caller, version: agent::version(request.headers(), request.uri()) };
    let body = body::read(request.into_body(), BODY_MAX, shared.limits.read_timeout).await?;
    let calls = rpc::read(&body);
    // Every call of a batch counts; the first one has been counted with the request.
    if let Calls::Batch(all) = &calls {
        shared.take(caller.source, u32::try_from(all.len() - 1).unwrap_or(u32::MAX))?;
    }
    Ok(match dispatch::respond(calls, &asking, shared).await {
        Response::Nothing => reply::nothing(StatusCode::NO_CONTENT),
        Response::Whole(response) => reply::json(StatusCode::OK, &response),
        Response::Stream(frames) => stream(frames, shared),
    })
}

async fn events<B: Backend>(
    job: &str,
    request: &Request<Incoming>,
    caller: &Caller,
    shared: &Shared<B>,
) -> Result<Reply, RpcError> {
    let after = match request.headers().get(LAST_EVENT_ID) {
        None => None,
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.parse::<EventId>().ok());
            let wrong = || RpcError::new(ErrorCode::InvalidRequest, "`Last-Event-ID` is `token.sequence`");
            Some(id.ok_or_else(wrong)?)
        }
    };
    let opened =
        timeout(shared.limits.call_timeout, shared.backend.events(caller, job.to_owned(), after)).await;
    let late = |_| Err(RpcError::new(ErrorCode::Overloaded, "the stream could not be opened in time"));
    let frames = opened.unwrap_or_else(late)?;
    Ok(stream(frames, shared))
}

fn stream<B>(frames: mpsc::Receiver<EventFrame>, shared: &Shared<B>) -> Reply {
    reply::events(EventBody::new(frames, shared.limits.keep_alive, shared.stop.clone()))
}

async fn blob<B: Backend>(
    request: Request<Incoming>,
    caller: &Caller,
    shared: &Shared<B>,
) -> Result<Reply, RpcError> {
    let full = |_| {
        RpcError::new(ErrorCode::Overloaded, "too many blobs are being received")
            .retry_after(BLOB_RETRY_AFTER)
    };
    let _permit = shared.blobs.try_acquire().map_err(full)?;
    let bytes = body::read(request.into_body(), BLOB_MAX, shared.limits.blob_timeout).await?;
    let stored = timeout(shared.limits.call_timeout, shared.backend.blob(caller, bytes)).await;
    let late = |_| Err(RpcError::new(ErrorCode::Overloaded, "the blob could not be stored in time"));
    let stored = stored.unwrap_or_else(late)?;
    Ok(reply::json(StatusCode::OK, &to_result(&stored)?))
}

impl<B> Shared<B> {
    /// Takes requests from the bucket of a source. Processes of the own user have no limit but that of connections.
    fn take(&self, source: Source, requests: u32) -> Result<(), RpcError> {
        let Source::Peer(address) = source else { return Ok(()) };
        self.sources.take(address.ip(), requests).map_err(|after| {
            RpcError::new(ErrorCode::RateLimited, "too many requests from this address")
                .retry_after(after)
                .fix("send fewer requests, or wait as long as `retry-after` says")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_routes() {
        let of = |path| Route::of(path, &HttpMethod::POST);
        assert_eq!(of("/events/run-1"), Some(Route::Events("run-1")));
        assert_eq!((of("/rpc"), of("/")), (Some(Route::Rpc), Some(Route::Rpc)));
        assert_eq!(Route::of("/", &HttpMethod::GET), Some(Route::Dashboard("/")));
        let long = format!("/events/{}", "j".repeat(JOB_MAX + 1));
        for path in ["/events/", "/events/a/b", "/events/%2e", "/rpc/", "/blob", "", &long] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
