//! HTTP/2 connections, by prior knowledge or ALPN, on the crate `h2`.
//!
//! A request counts when its stream is accepted, which is when its header block was read completely. Each stream has
//! a task of its own that ends with the connection; `/` is answered without one.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::counts::OpenGuard;
use crate::reply::{Answer, Body, FILLING, Fault, Pieces, Reply, TRAILER};
use crate::request::Request;
use crate::routes;
use crate::socket::{Rewound, Socket};
use crate::worker::Context;

/// Streams a client may have open at once on a connection.
const STREAMS_MAX: u32 = 1_000;

/// Flow-control windows: large enough that uploads on loopback are not held up.
const WINDOW_BYTES: u32 = 1 << 20;

/// Bytes of a body that is kept, as in HTTP/1; longer ones are answered with 413.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Ends of the connection asked for by streams; the first one decides.
const END_QUEUE: usize = 1;

type Server<S> = Connection<Rewound<S>, Bytes>;

/// How a stream wants its connection to end.
#[derive(Debug, Clone, Copy)]
enum End {
    /// At once, without a word.
    Drop,
    /// With an error for everybody.
    Abort(Reason),
    /// After the streams that are open.
    Graceful,
}

/// Serves a connection until either side ends it.
pub(crate) async fn serve<S: Socket>(socket: Rewound<S>, context: Arc<Context>, mut guard: OpenGuard) {
    let handshake = h2::server::Builder::new()
        .max_concurrent_streams(STREAMS_MAX)
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .handshake::<_, Bytes>(socket);
    let Ok(mut connection) = handshake.await else {
        context.shard.malformed();
        return;
    };
    let (end, mut ends) = mpsc::channel(END_QUEUE);
    let mut streams = JoinSet::new();
    let mut is_fresh = true;
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { break };
                let path = request.uri().path();
                if !path.starts_with(routes::CONTROL_PREFIX) {
                    context.shard.request(path);
                } else if is_fresh {
                    guard.forget();
                }
                is_fresh = false;
                let exchange = Exchange { respond, context: Arc::clone(&context), end: end.clone() };
                if let Some((exchange, request)) = exchange.try_index(request) {
                    streams.spawn(exchange.run(request));
                }
            }
            Some(end) = ends.recv() => match end {
                End::Drop => return,
                End::Abort(reason) => connection.abrupt_shutdown(reason),
                End::Graceful => connection.graceful_shutdown(),
            },
            Some(_) = streams.join_next(), if !streams.is_empty() => {}
        }
    }
    finish(connection).await;
}

/// Writes what is still to be written.
async fn finish<S: Socket>(mut connection: Server<S>) {
    // An error means that the client is gone.
    let _ = poll_fn(|cx| connection.poll_closed(cx)).await;
}

/// One stream.
struct Exchange {
    respond: SendResponse<Bytes>,
    context: Arc<Context>,
    end: mpsc::Sender<End>,
}

/// The stream ended early; whoever is concerned knows already.
type Outcome = Result<(), h2::Error>;

impl Exchange {
    /// Answers `/` at once if nothing has to be waited for; otherwise gives everything back.
    fn try_index(mut self, request: http::Request<RecvStream>) -> Option<(Self, http::Request<RecvStream>)> {
        let is_plain = request.uri().path() == "/" && request.method() != http::Method::HEAD;
        if !is_plain || !request.body().is_end_stream() || !self.context.inject.is_calm() {
            return Some((self, request));
        }
        let reply = self.context.shared.site.index();
        let Body::Bytes(body) = &reply.body else { return Some((self, request)) };
        self.context.shard.status(reply.status);
        if let Ok(mut stream) = self.respond.send_response(head(&reply), false) {
            // Fails only if the stream was reset meanwhile. Small bodies are queued by h2 if the window is shut.
            let _ = stream.send_data(body.clone(), true);
        }
        None
    }

    async fn run(mut self, request: http::Request<RecvStream>) {
        // An error of the stream means that the client gave it up.
        let _ = self.exchange(request).await;
    }

    async fn exchange(&mut self, request: http::Request<RecvStream>) -> Outcome {
        let (parts, body) = request.into_parts();
        let mut request = Request {
            method: parts.method.as_str().to_owned(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            version: "HTTP/2.0",
            headers: owned(&parts.headers),
            body: Vec::new(),
        };
        let is_head = request.method == "HEAD";
        let Some(kept) = read_body(body, routes::reads_body(&request.path)).await? else {
            self.context.shard.status(413);
            return self
                .send(&Reply::text(413, "the body is larger than what this route keeps\n"), is_head)
                .await;
        };
        request.body = kept;
        if request.path.starts_with(routes::CONTROL_PREFIX) {
            let reply = routes::control(&request.method, &request.path, &self.context.shared).await;
            return self.send(&reply, is_head).await;
        }
        let answer = routes::answer(&request, &self.context.shared.site);
        self.answer(answer, is_head).await
    }

    async fn answer(&mut self, answer: Answer, is_head: bool) -> Outcome {
        let draw = self.context.inject.draw();
        let answer = if draw.fail { Reply::injected_error().into() } else { answer };
        let own_delay = match &answer {
            Answer::Reply(reply) => reply.delay,
            Answer::Fault(_) => Duration::ZERO,
        };
        self.context.inject.wait(own_delay + draw.delay, &self.context.shared.epoch).await;
        match answer {
            Answer::Reply(reply) => {
                self.context.shard.status(reply.status);
                self.send(&reply, is_head).await
            }
            Answer::Fault(fault) => self.commit(fault, is_head).await,
        }
    }

    async fn commit(&mut self, fault: Fault, is_head: bool) -> Outcome {
        match fault {
            Fault::Reset => self.respond.send_reset(Reason::INTERNAL_ERROR),
            Fault::Close => self.end_connection(End::Drop).await,
            // Frames are made by h2, which makes no garbage; an error for the whole connection comes closest.
            Fault::Garbage => self.end_connection(End::Abort(Reason::PROTOCOL_ERROR)).await,
            Fault::CloseMidBody => {
                self.context.shard.status(200);
                let reply = Reply::text(200, "").header("content-length", "1000");
                let mut stream = self.respond.send_response(head_without_length(&reply), false)?;
                send_bytes(&mut stream, Bytes::from_static(b"0123456789"), false).await?;
                // A reset throws away what is queued, so let the connection's task write it first.
                tokio::task::yield_now().await;
                stream.send_reset(Reason::INTERNAL_ERROR);
            }
            Fault::HugeHead(bytes) => {
                self.context.shard.status(200);
                let padding = "x".repeat(bytes);
                let reply = self.context.shared.site.index().header("x-padding", padding);
                self.send(&reply, is_head).await?;
            }
            Fault::SlowHead(pause) => {
                // A header block is one piece; it can only be late.
                tokio::time::sleep(pause).await;
                self.send_index(is_head).await?;
            }
            Fault::NoLength => self.send_index(is_head).await?,
            Fault::CloseAfter => {
                self.send_index(is_head).await?;
                self.ask(End::Graceful);
            }
            Fault::EarlyHints => {
                let mut hints = Response::new(());
                *hints.status_mut() = http::StatusCode::EARLY_HINTS;
                hints
                    .headers_mut()
                    .insert("link", HeaderValue::from_static("</style.css>; rel=preload; as=style"));
                self.respond.send_informational(hints)?;
                self.send_index(is_head).await?;
            }
        }
        Ok(())
    }

    /// Asks for the end and stays until it comes: a stream that is given up without an answer would be reset, and the
    /// client could see that reset instead of the end of its connection.
    async fn end_connection(&self, end: End) {
        self.ask(end);
        std::future::pending::<()>().await;
    }

    fn ask(&self, end: End) {
        // Full: another stream already asked for an end.
        let _ = self.end.try_send(end);
    }

    async fn send_index(&mut self, is_head: bool) -> Outcome {
        self.context.shard.status(200);
        let reply = self.context.shared.site.index();
        self.send(&reply, is_head).await
    }

    async fn send(&mut self, reply: &Reply, is_head: bool) -> Outcome {
        let is_bodiless = is_head || reply.is_bodiless() || reply.body.length() == Some(0);
        let mut stream = self.respond.send_response(head(reply), is_bodiless)?;
        if is_bodiless {
            return Ok(());
        }
        match &reply.body {
            Body::Bytes(bytes) => send_bytes(&mut stream, bytes.clone(), true).await,
            Body::Fill(length) => send_filling(&mut stream, *length).await,
            Body::Pieces(pieces) => send_pieces(&mut stream, pieces).await,
        }
    }
}

fn head(reply: &Reply) -> Response<()> {
    let mut response = head_without_length(reply);
    if let Some(length) = reply.body.length().filter(|_| !reply.is_bodiless()) {
        response.headers_mut().insert(http::header::CONTENT_LENGTH, length.into());
    }
    response
}

fn head_without_length(reply: &Reply) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() =
        http::StatusCode::from_u16(reply.status).expect("routes answer with statuses from 200 to 999");
    for (name, value) in &reply.headers {
        // Routes let only visible ASCII into headers; what else may come from an echoed type is left out.
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    response
}

fn owned(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

/// Reads a body to its end; `None` if it is to be kept and too large.
async fn read_body(mut body: RecvStream, keep: bool) -> Result<Option<Vec<u8>>, h2::Error> {
    let mut kept = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        if keep && kept.len() + data.len() > KEPT_BYTES_MAX {
            return Ok(None);
        }
        if keep {
            kept.extend_from_slice(&data);
        }
    }
    Ok(Some(kept))
}

/// Sends as the windows allow.
async fn send_bytes(stream: &mut SendStream<Bytes>, mut bytes: Bytes, is_last: bool) -> Outcome {
    if bytes.is_empty() && is_last {
        return stream.send_data(bytes, true);
    }
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let Some(capacity) = poll_fn(|cx| stream.poll_capacity(cx)).await else { return Ok(()) };
        let part = bytes.split_to(capacity?.min(bytes.len()));
        stream.send_data(part, is_last && bytes.is_empty())?;
    }
    Ok(())
}

async fn send_filling(stream: &mut SendStream<Bytes>, length: u64) -> Outcome {
    let mut missing = length;
    while missing > 0 {
        let count = missing.min(FILLING.len() as u64);
        missing -= count;
        send_bytes(stream, Bytes::from_static(&FILLING[..count as usize]), missing == 0).await?;
    }
    Ok(())
}

async fn send_pieces(stream: &mut SendStream<Bytes>, pieces: &Pieces) -> Outcome {
    for index in 0..pieces.count {
        if index > 0 && !pieces.interval.is_zero() {
            tokio::time::sleep(pieces.interval).await;
        }
        send_bytes(stream, pieces.piece(index), false).await?;
    }
    if pieces.trailers {
        let mut trailers = HeaderMap::new();
        trailers.insert(TRAILER, pieces.count.into());
        return stream.send_trailers(trailers);
    }
    send_bytes(stream, Bytes::new(), true).await
}
