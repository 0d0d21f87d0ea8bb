//! The endpoint that a Prometheus scrapes: the newest reading at `/metrics`.
//!
//! At the end of the run it waits for whoever has scraped before to come once more, so that the last number in the
//! database is the final one. Connections are few, short and bounded in time.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::encode::prometheus;
use crate::exporter::FLUSH_TIME;
use crate::queue::Queue;
use crate::reading::Reading;
use crate::tally::Tally;

/// Connections at the same time; more have to wait in the kernel.
const CONNECTIONS_MAX: usize = 16;
/// Time of one connection, from its first to its last byte.
const CONNECTION_TIME: Duration = Duration::from_secs(10);
/// Bytes of a request: a line and some fields.
const REQUEST_MAX: usize = 16 << 10;

/// What is shown now.
#[derive(Clone, Default)]
struct Page {
    text: Bytes,
    is_final: bool,
}

type Shared = Arc<Mutex<Page>>;

/// Answers until the final numbers were scraped, or it is too late for that. `linger`: how long to wait for it, even if
/// nobody came before.
pub(super) async fn serve(listener: TcpListener, linger: Option<Duration>, queue: &Queue, tally: &Tally) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tally.lost(1, &format!("the endpoint cannot be served: {error}")),
    };
    let page = Shared::default();
    let mut connections = JoinSet::new();
    let mut end = None;
    loop {
        tokio::select! {
            parcel = queue.next(), if end.is_none() => {
                let Some(parcel) = parcel else { return };
                show(&page, &parcel.reading);
                if parcel.reading.is_final {
                    end = Some(Instant::now() + last_wait(linger, tally.get().sent));
                }
            }
            Ok((stream, _)) = listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                connections.spawn(answer(stream, Arc::clone(&page)));
            }
            Some(served) = connections.join_next() => if let Ok(Some(page)) = served {
                tally.sent();
                if page.is_final {
                    return;
                }
            },
            () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => {
                return tally.lost(1, "nobody scraped the final numbers");
            }
        }
    }
}

/// How long the final numbers wait to be scraped.
fn last_wait(linger: Option<Duration>, scrapes: u64) -> Duration {
    linger.unwrap_or(if scrapes > 0 { FLUSH_TIME } else { Duration::ZERO })
}

fn show(page: &Shared, reading: &Reading) {
    let text = prometheus::encode(reading).into();
    // Nothing that holds it can panic half-way.
    *page.lock().unwrap_or_else(PoisonError::into_inner) = Page { text, is_final: reading.is_final };
}

/// Serves one connection; returns the page that was delivered over it.
async fn answer(stream: TcpStream, page: Shared) -> Option<Page> {
    let delivered = Shared::default();
    let service = service_fn(|request: Request<Incoming>| {
        let page = page.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let response = respond(&request, &page);
        if response.status() == StatusCode::OK {
            *delivered.lock().unwrap_or_else(PoisonError::into_inner) = page;
        }
        async { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).header_read_timeout(None).max_buf_size(REQUEST_MAX);
    let served = timeout(CONNECTION_TIME, http.serve_connection(TokioIo::new(stream), service)).await;
    let page = delivered.lock().unwrap_or_else(PoisonError::into_inner).clone();
    matches!(served, Ok(Ok(()))).then_some(page).filter(|page| !page.text.is_empty())
}

fn respond(request: &Request<Incoming>, page: &Page) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET) => {
            *response.body_mut() = Full::new(page.text.clone());
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(prometheus::MEDIA_TYPE));
        }
        ("/metrics", _) => {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        }
        _ => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    response
}
