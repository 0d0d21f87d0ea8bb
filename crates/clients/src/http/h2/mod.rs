//! HTTP/2 on crate `h2`, over any byte stream: one connection, many exchanges at the same time.
//!
//! ```text
//! exchange ─ waits for a free stream ─ send_request ─┐                       ┌─ Answer (head, body, account)
//!                                                    ├─ driver task ─ Tap ─ stream of bytes
//! exchange ─ …                                       ┘   (one per connection)
//! ```
//! The driver is a local task of the core: it writes what all exchanges queued in one go and hands out what one read
//! brought. The [`tap`] between `h2` and the byte stream sees whole frames, and so knows for each stream how many
//! bytes it had and when its request's last byte was taken and its answer's first and last bytes came – one clock
//! read per system call instead of several per request.
//!
//! The driver's end is owned: it ends when the connection fails or when the last [`H2Connection`] handle is gone, and
//! then within [`CLOSE_TIME_MAX`]. It must be started inside a `LocalSet`. Requests are never repeated here; an error says
//! whether the peer provably has not processed its request.

mod error;
mod exchange;
mod frames;
mod head;
mod inbound;
pub(crate) mod multiplex;
mod pool;
mod tap;
mod turns;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ::h2::SendStream;
use ::h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use hyperscale_types::Now;
use hyperscale_types::limits::RESPONSE_HEAD_MAX;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;

pub use error::H2Error;
pub use head::HeadError;
pub(crate) use head::{Parts, request};
pub use inbound::SpareBuffer;
pub use pool::H2Pool;

use crate::lease::LeaseDeadline;
use exchange::Exchange;
use tap::{Ledger, Tap};
use turns::Turns;

/// Time in which a connection that nobody uses any more says goodbye.
pub const CLOSE_TIME_MAX: Duration = Duration::from_secs(1);
/// Streams at once before the peer has said how many it takes: one, for what is above its limit it refuses.
const STREAMS_INITIAL: usize = 1;
/// Streams at once on one connection, whatever the peer allows.
const STREAMS_MAX: usize = 1 << 16;
/// Bytes that a peer may send ahead on one stream. Answers are read as they come, so this is throughput, not memory.
const STREAM_WINDOW: u32 = 2 << 20;
/// Bytes that a peer may send ahead on all streams together.
const CONNECTION_WINDOW: u32 = 32 << 20;
/// Stream identifiers end at 2³¹; a connection that comes near is replaced. Reached after hours, not days.
const STREAM_ID_LAST: u32 = (1 << 31) - (1 << 16);

/// Who wants the parts of an answer.
pub trait Answer {
    /// When the call began that wants it: the oldest one gets the next stream.
    fn since(&self) -> Now;

    /// The final head. `Stop` leaves the rest of the answer unread.
    fn head(&mut self, status: StatusCode, fields: &HeaderMap) -> Next;

    /// Bytes of the body, still content-coded.
    fn body(&mut self, bytes: &[u8]) -> Next;

    /// What the exchange has cost on the wire. Called once, also when the exchange fails or is dropped.
    fn account(&mut self, traffic: &Traffic);
}

/// Whether to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// There may be more.
    Read,
    /// The rest is not wanted: the stream is reset, the connection lives on.
    Stop,
}

/// The wire's side of one exchange: whole frames of its stream that carry head or body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes taken by the byte stream.
    pub bytes_sent: u64,
    /// Bytes that came.
    pub bytes_received: u64,
    /// When the byte stream had taken the last byte of the request; `None` if it never did.
    pub sent: Option<Now>,
    /// When the first part of an answer came.
    pub first: Option<Now>,
    /// When the last byte of the answer came.
    pub ended: Option<Now>,
}

/// A connection. Exchanges run on it at the same time; the handle is shared in an `Rc`.
#[derive(Debug)]
pub struct H2Connection {
    /// Cloned for every exchange: a handle that has queued a stream which the peer does not take yet refuses another.
    send: SendRequest<Bytes>,
    state: Rc<State>,
    /// Exchanges that run or wait for a stream.
    load: Cell<usize>,
    /// Its drop tells the driver that nobody is left.
    _handle: oneshot::Sender<()>,
}

/// What exchanges and driver share.
#[derive(Debug)]
struct State {
    ledger: Rc<RefCell<Ledger>>,
    lease: LeaseDeadline,
    /// As many as streams that the peer allows.
    turns: Turns,
    /// The connection's end, if it has ended.
    closed: RefCell<Option<H2Error>>,
    /// No stream identifiers are left.
    used_up: Cell<bool>,
}

impl H2Connection {
    /// Shakes hands on a byte stream (prior knowledge, or after ALPN has chosen `h2`) and starts the driver. Nothing is
    /// written after the lease.
    pub async fn handshake<T>(
        io: T,
        lease: LeaseDeadline,
        spare: SpareBuffer,
    ) -> Result<H2Connection, H2Error>
    where
        T: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let ledger = Rc::default();
        let (send, connection) = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(RESPONSE_HEAD_MAX as u32)
            .initial_max_send_streams(STREAMS_INITIAL)
            .enable_push(false)
            .handshake(Tap::new(io, Rc::clone(&ledger), lease.clone(), spare))
            .await
            .map_err(H2Error::from)?;
        let state = Rc::new(State {
            ledger,
            lease,
            turns: Turns::new(STREAMS_INITIAL),
            closed: RefCell::default(),
            used_up: Cell::new(false),
        });
        let (handle, orphaned) = oneshot::channel();
        tokio::task::spawn_local(drive(connection, Rc::clone(&state), orphaned));
        Ok(H2Connection { send, state, load: Cell::new(0), _handle: handle })
    }

    /// Whether new exchanges can begin. A peer that goes away finishes what runs but takes nothing new.
    pub fn is_open(&self) -> bool {
        !self.state.used_up.get()
            && self.state.closed.borrow().is_none()
            && !self.state.ledger.borrow().is_going_away()
    }

    /// Exchanges that run or wait for a stream.
    pub fn load(&self) -> usize {
        self.load.get()
    }

    /// Sends a request and reads its answer; waits first while the peer allows no further stream. Dropping the future
    /// resets the stream and nothing else.
    pub async fn exchange<A: Answer>(
        &self,
        request: Request<()>,
        body: Bytes,
        answer: &mut A,
    ) -> Result<Traffic, H2Error> {
        let _load = Load::new(&self.load);
        let turn = self.state.turns.take(answer.since()).await;
        let _turn = turn.ok_or_else(|| self.unsent(self.state.end()))?;
        self.state.lease.check_now()?;
        let (response, upload) = self.begin(request, body.is_empty()).map_err(|error| self.unsent(error))?;
        let exchange = Exchange::new(&self.state.ledger, response, upload, body, answer);
        // A write that fails ends the driver; `h2` tells the streams only that the connection is gone.
        exchange.run().await.map_err(|error| {
            if !error.is_closed() {
                return error;
            }
            H2Error { unprocessed: error.unprocessed, ..self.state.end() }
        })
    }

    /// The error of an exchange that did not begin.
    fn unsent(&self, error: H2Error) -> H2Error {
        error.before(self.state.ledger.borrow().is_going_away())
    }

    fn begin(
        &self,
        request: Request<()>,
        no_body: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), H2Error> {
        let begun = self.send.clone().send_request(request, no_body);
        let (response, upload) = begun.map_err(H2Error::from)?;
        if upload.stream_id().as_u32() >= STREAM_ID_LAST {
            self.state.used_up.set(true);
        }
        Ok((response, upload))
    }
}

impl State {
    fn close(&self, error: H2Error) {
        self.closed.borrow_mut().get_or_insert(error);
        self.turns.close();
    }

    fn end(&self) -> H2Error {
        self.closed.borrow().clone().unwrap_or_else(H2Error::closed)
    }
}

/// Drives a connection until it ends, or until nobody is left and it has said goodbye.
async fn drive<T>(
    mut connection: Connection<Tap<T>, Bytes>,
    state: Rc<State>,
    orphaned: oneshot::Receiver<()>,
) where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let driven = std::future::poll_fn(|cx| {
        let result = std::pin::Pin::new(&mut connection).poll(cx);
        if result.is_pending() {
            state.turns.allow(connection.max_concurrent_send_streams().min(STREAMS_MAX));
        }
        result
    });
    tokio::pin!(driven);
    let result = tokio::select! {
        biased;
        result = &mut driven => result,
        _ = orphaned => tokio::time::timeout(CLOSE_TIME_MAX, driven).await.unwrap_or(Ok(())),
    };
    state.close(result.map_or_else(H2Error::from, |()| H2Error::closed()));
}

/// Counts an exchange for as long as it lives.
struct Load<'a>(&'a Cell<usize>);

impl<'a> Load<'a> {
    fn new(load: &'a Cell<usize>) -> Self {
        load.set(load.get() + 1);
        Load(load)
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests;
