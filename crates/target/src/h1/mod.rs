//! HTTP/1.1 (and 1.0) connections: one request after the other, pipelined ones tolerated.
//!
//! Hot for `/`: no allocation per request once the buffers have grown, prepared answers, one read and one write per
//! round. The codec is the target's own and must not be shared with the clients it is the witness for.

mod body;
mod fault;
mod head;
mod write;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use self::body::BodyError;
use self::head::{Head, HeadError, Manner, Rejected, Work};
use self::write::Next;
pub(crate) use self::write::Prepared;
use crate::counts::OpenGuard;
use crate::reply::{Answer, Reply};
use crate::routes;
use crate::socket::Socket;
use crate::worker::Context;

/// Longest request head; longer ones are answered with 431.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Free room a read is given at least.
const READ_BYTES: usize = 4096;

/// After an answer that rejects the request, how much of the rest is read away so that the answer is not lost to a
/// reset, and for how long.
const DRAIN_BYTES_MAX: usize = 1 << 20;
const DRAIN_TIME_MAX: Duration = Duration::from_secs(1);

/// The connection is over: the client left or a fault wants it so. Nobody is there to be told why.
#[derive(Debug)]
struct Hangup;

/// One connection.
struct Connection<S> {
    socket: S,
    /// Read but not yet used.
    inbox: BytesMut,
    /// Answered but not yet written; flushed before anything is waited for.
    out: Vec<u8>,
    context: Arc<Context>,
    guard: OpenGuard,
    /// No request was seen yet: this may be somebody who only asks for the books.
    is_fresh: bool,
}

/// Serves a connection whose first bytes are in `inbox` until either side ends it.
pub(crate) async fn serve<S: Socket>(socket: S, inbox: BytesMut, context: Arc<Context>, guard: OpenGuard) {
    let mut connection = Connection { socket, inbox, out: Vec::new(), context, guard, is_fresh: true };
    while let Ok(Next::KeepAlive) = connection.exchange().await {}
}

impl<S: Socket> Connection<S> {
    /// One request and its answer.
    async fn exchange(&mut self) -> Result<Next, Hangup> {
        let head = match self.next_head().await? {
            Ok(head) => head,
            Err(Rejected(message)) => {
                self.count_status(400);
                return self.reject(400, message).await;
            }
        };
        let manner = head.manner;
        let body = match self.body_of(&head).await {
            Ok(body) => body,
            Err(BodyError::Hangup(hangup)) => return Err(hangup),
            Err(BodyError::Malformed) => {
                self.count_status(400);
                return self.reject(400, "the chunks of the body are broken\n").await;
            }
            Err(BodyError::TooLarge) => {
                self.count_status(413);
                return self.reject(413, "the body is larger than what this route keeps\n").await;
            }
        };
        let next = match head.work {
            Work::Index => self.index(manner).await?,
            Work::Control(request) => {
                let reply = routes::control(&request.method, &request.path, &self.context.shared).await;
                self.send(&reply, manner).await?
            }
            Work::Route(mut request) => {
                request.body = body;
                let answer = routes::answer(&request, &self.context.shared.site);
                self.route(answer, manner).await?
            }
        };
        if next == Next::Close {
            self.flush().await?;
            // The answer is out; whether the client still hears the goodbye does not matter.
            let _ = self.socket.shutdown().await;
        }
        Ok(next)
    }

    async fn next_head(&mut self) -> Result<Result<Head, Rejected>, Hangup> {
        loop {
            let (shard, guard, is_fresh) = (&self.context.shard, &mut self.guard, &mut self.is_fresh);
            let count = |path: &str| {
                let is_control = path.starts_with(routes::CONTROL_PREFIX);
                if !is_control {
                    shard.request(path);
                } else if *is_fresh {
                    guard.forget();
                }
                *is_fresh = false;
            };
            match head::parse(&self.inbox, count) {
                Ok(Some(Ok(head))) => {
                    self.inbox.advance(head.length);
                    return Ok(Ok(head));
                }
                Ok(Some(Err(rejected))) => return Ok(Err(rejected)),
                Ok(None) if self.inbox.len() < HEAD_BYTES_MAX => self.fill().await?,
                Ok(None) | Err(HeadError::TooLarge) => {
                    self.context.shard.malformed();
                    self.reject(431, "the head of the request is too large\n").await?;
                    return Err(Hangup);
                }
                Err(HeadError::Malformed) => {
                    self.context.shard.malformed();
                    self.reject(400, "this is not HTTP/1\n").await?;
                    return Err(Hangup);
                }
            }
        }
    }

    async fn body_of(&mut self, head: &Head) -> Result<Vec<u8>, BodyError> {
        if head.framing == head::Framing::Length(0) {
            return Ok(Vec::new());
        }
        if head.expects_continue && self.inbox.is_empty() {
            self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.read_body(head.framing, head.keeps_body()).await
    }

    /// Answers `/`, from prepared bytes if the request is an ordinary one.
    async fn index(&mut self, manner: Manner) -> Result<Next, Hangup> {
        match &self.context.prepared {
            Some(prepared) if manner.keep_alive && !manner.is_old && self.context.inject.is_calm() => {
                self.count_status(200);
                let bytes = if manner.is_head { &prepared.head } else { &prepared.full };
                self.out.extend_from_slice(bytes);
                Ok(Next::KeepAlive)
            }
            _ => {
                let reply = self.context.shared.site.index();
                self.route(reply.into(), manner).await
            }
        }
    }

    /// Answers after what is injected: latency, errors, stalls.
    async fn route(&mut self, answer: Answer, manner: Manner) -> Result<Next, Hangup> {
        let draw = self.context.inject.draw();
        let answer = if draw.fail { Reply::injected_error().into() } else { answer };
        let own_delay = match &answer {
            Answer::Reply(reply) => reply.delay,
            Answer::Fault(_) => Duration::ZERO,
        };
        self.wait(own_delay + draw.delay).await?;
        match answer {
            Answer::Reply(reply) => {
                self.count_status(reply.status);
                self.send(&reply, manner).await
            }
            Answer::Fault(fault) => self.commit(fault, manner).await,
        }
    }

    async fn wait(&mut self, delay: Duration) -> Result<(), Hangup> {
        if delay.is_zero() && self.context.inject.is_calm() {
            return Ok(());
        }
        self.flush().await?;
        let context = &self.context;
        context.inject.wait(delay, &context.shared.epoch).await;
        Ok(())
    }

    /// Answers a request that cannot be served, and ends the connection so that the answer arrives.
    async fn reject(&mut self, status: u16, message: &'static str) -> Result<Next, Hangup> {
        let manner = Manner { keep_alive: false, is_old: false, is_head: false };
        self.send(&Reply::text(status, message), manner).await?;
        self.flush().await?;
        self.socket.shutdown().await.map_err(|_| Hangup)?;
        let drain = async {
            let mut drained = 0;
            while drained < DRAIN_BYTES_MAX {
                self.inbox.clear();
                self.fill().await?;
                drained += self.inbox.len();
            }
            Ok::<(), Hangup>(())
        };
        // Time over or client gone: either way it had its chance to read the answer.
        let _ = tokio::time::timeout(DRAIN_TIME_MAX, drain).await;
        Err(Hangup)
    }

    fn count_status(&self, status: u16) {
        self.context.shard.status(status);
    }

    /// Reads more, after writing what is still to be written.
    async fn fill(&mut self) -> Result<(), Hangup> {
        self.flush().await?;
        self.inbox.reserve(READ_BYTES);
        match self.socket.read_buf(&mut self.inbox).await {
            Ok(0) | Err(_) => Err(Hangup),
            Ok(_) => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<(), Hangup> {
        if !self.out.is_empty() {
            self.socket.write_all(&self.out).await.map_err(|_| Hangup)?;
            self.socket.flush().await.map_err(|_| Hangup)?;
            self.out.clear();
        }
        Ok(())
    }
}
