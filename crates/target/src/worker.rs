//! The serving threads: one accepts, all serve.
//!
//! Tasks of a thread live in its [`JoinSet`] and end with it: one acceptor per listener (first thread only), one task
//! per connection, one per request to settle. Connections are dealt out in turn, so threads are loaded evenly.

use std::io;
use std::net::TcpListener as StdTcpListener;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::counts::{Books, OpenGuard, Shard};
use crate::inject::Inject;
use crate::options::Options;
use crate::server::Shared;
use crate::socket::{Rewound, Socket, reset_when_dropped};
use crate::{h1, h2_server};

/// Connections accepted but not yet taken over by their thread. When it is full the acceptor waits and further ones
/// stay in the kernel's backlog.
const ACCEPTED_QUEUE: usize = 256;

/// Requests to settle waiting at one thread; askers beyond wait for their turn.
pub(crate) const SETTLE_QUEUE: usize = 16;

/// A thread has settled when nothing happened during this many turns of its event loop. A new connection needs three:
/// accepted, taken over, read.
const SETTLE_QUIET_TURNS: u32 = 8;

/// Turns after which a thread under steady load counts as settled.
const SETTLE_TURNS_MAX: u32 = 10_000;

/// Pause after a failed accept; the usual reason is that no file descriptors are left.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// First bytes of an HTTP/2 connection (RFC 9113, 3.4).
const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Room for the first read of a connection.
const FIRST_READ_BYTES: usize = 4096;

/// What the connections of one thread share.
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) inject: Inject,
    /// The answer of `/` in HTTP/1.1, unless it is too large to be kept.
    pub(crate) prepared: Option<h1::Prepared>,
}

/// The listening side, owned by the first thread.
pub(crate) struct Acceptor {
    pub(crate) tcp: StdTcpListener,
    pub(crate) unix: Option<StdUnixListener>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) max_connections: Option<usize>,
}

/// A connection on its way to the thread that serves it.
struct Accepted {
    transport: Transport,
    guard: OpenGuard,
}

/// Streams leave the runtime that accepted them as plain sockets.
enum Transport {
    Tcp(std::net::TcpStream, Option<TlsAcceptor>),
    Unix(std::os::unix::net::UnixStream),
}

/// One serving thread before it runs.
pub(crate) struct Worker {
    number: usize,
    runtime: Runtime,
    context: Arc<Context>,
    acceptor: Option<(Acceptor, Dealer)>,
    accepted: mpsc::Receiver<Accepted>,
    settle: mpsc::Receiver<oneshot::Sender<()>>,
    stopped: watch::Receiver<bool>,
}

impl Worker {
    /// All threads of a target; the first one gets the acceptor.
    pub(crate) fn crew(
        options: &Options,
        shared: &Arc<Shared>,
        acceptor: Acceptor,
        settle: Vec<mpsc::Receiver<oneshot::Sender<()>>>,
        stopped: &watch::Receiver<bool>,
    ) -> io::Result<Vec<Self>> {
        let (seats, takers): (Vec<_>, Vec<_>) = settle.iter().map(|_| mpsc::channel(ACCEPTED_QUEUE)).unzip();
        let dealer =
            Dealer { seats, next: 0, books: Arc::clone(&shared.books), max: acceptor.max_connections };
        let mut acceptor = Some((acceptor, dealer));
        let queues = takers.into_iter().zip(settle);
        queues
            .enumerate()
            .map(|(number, (accepted, settle))| {
                let context = Context {
                    shared: Arc::clone(shared),
                    shard: shared.books.shard(number),
                    inject: Inject::new(options, number),
                    prepared: h1::Prepared::index(&shared.site),
                };
                Ok(Self {
                    number,
                    runtime: Builder::new_current_thread().enable_all().build()?,
                    context: Arc::new(context),
                    acceptor: acceptor.take(),
                    accepted,
                    settle,
                    stopped: stopped.clone(),
                })
            })
            .collect()
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Serves until the target is stopped.
    pub(crate) fn run(self) {
        let Self { runtime, context, acceptor, mut accepted, mut settle, mut stopped, .. } = self;
        runtime.block_on(async move {
            let mut tasks = JoinSet::new();
            if let Some((acceptor, dealer)) = acceptor {
                acceptor.start(&dealer, &mut tasks);
            }
            loop {
                tokio::select! {
                    _ = stopped.wait_for(|stopped| *stopped) => break,
                    Some(connection) = accepted.recv() => { tasks.spawn(serve(connection, Arc::clone(&context))); }
                    Some(done) = settle.recv() => { tasks.spawn(settle_thread(Arc::clone(&context), done)); }
                    Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
                }
            }
        });
    }
}

impl Acceptor {
    /// Starts one task per listener. A listener the runtime cannot take would make the target deaf, so it panics: the
    /// sockets were made non-blocking when they were bound.
    fn start(self, dealer: &Dealer, tasks: &mut JoinSet<()>) {
        let tcp = TcpListener::from_std(self.tcp).expect("a bound, non-blocking socket can be registered");
        tasks.spawn(accept_tcp(tcp, self.tls, dealer.clone()));
        if let Some(unix) = self.unix {
            let unix = UnixListener::from_std(unix).expect("a bound, non-blocking socket can be registered");
            tasks.spawn(accept_unix(unix, dealer.clone()));
        }
    }
}

async fn accept_tcp(listener: TcpListener, tls: Option<TlsAcceptor>, mut dealer: Dealer) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY).await;
            continue;
        };
        let Some(guard) = dealer.admit() else {
            reset_when_dropped(&stream);
            continue;
        };
        // Without this, answers in several parts wait for delayed acknowledgements; a socket that refuses is gone.
        let _ = stream.set_nodelay(true);
        if let Ok(stream) = stream.into_std() {
            dealer.deal(Accepted { transport: Transport::Tcp(stream, tls.clone()), guard }).await;
        }
    }
}

async fn accept_unix(listener: UnixListener, mut dealer: Dealer) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY).await;
            continue;
        };
        if let (Some(guard), Ok(stream)) = (dealer.admit(), stream.into_std()) {
            dealer.deal(Accepted { transport: Transport::Unix(stream), guard }).await;
        }
    }
}

/// Deals connections out to the threads in turn.
#[derive(Clone)]
struct Dealer {
    seats: Vec<mpsc::Sender<Accepted>>,
    next: usize,
    books: Arc<Books>,
    max: Option<usize>,
}

impl Dealer {
    /// Counts the connection in, unless too many are open.
    fn admit(&self) -> Option<OpenGuard> {
        if self.max.is_some_and(|max| self.books.open_now() >= max as u64) {
            self.books.refused();
            return None;
        }
        Some(self.books.open())
    }

    async fn deal(&mut self, connection: Accepted) {
        let seat = self.next;
        self.next = (self.next + 1) % self.seats.len();
        // A thread that ended has closed its end; the connection is dropped, as all others of a stopped target.
        let _ = self.seats[seat].send(connection).await;
    }
}

async fn settle_thread(context: Arc<Context>, done: oneshot::Sender<()>) {
    let progress = || context.shard.progress() + context.shared.books.accept_progress();
    let mut quiet = 0;
    for _ in 0..SETTLE_TURNS_MAX {
        let before = progress();
        // Lets the runtime look for socket events and run every task they wake before it comes back here.
        tokio::task::yield_now().await;
        quiet = if progress() == before { quiet + 1 } else { 0 };
        if quiet == SETTLE_QUIET_TURNS {
            break;
        }
    }
    // The asker may have gone away.
    let _ = done.send(());
}

async fn serve(connection: Accepted, context: Arc<Context>) {
    let Accepted { transport, guard } = connection;
    match transport {
        Transport::Tcp(stream, None) => {
            if let Ok(stream) = TcpStream::from_std(stream) {
                serve_stream(stream, context, guard).await;
            }
        }
        Transport::Tcp(stream, Some(tls)) => {
            let Ok(stream) = TcpStream::from_std(stream) else { return };
            match tls.accept(stream).await {
                Ok(stream) => serve_stream(stream, context, guard).await,
                Err(_) => context.shared.books.tls_failed(),
            }
        }
        Transport::Unix(stream) => {
            if let Ok(stream) = UnixStream::from_std(stream) {
                serve_stream(stream, context, guard).await;
            }
        }
    }
}

/// Finds out by the first bytes which version of HTTP is spoken.
async fn serve_stream<S: Socket>(mut stream: S, context: Arc<Context>, guard: OpenGuard) {
    let mut start = BytesMut::with_capacity(FIRST_READ_BYTES);
    while H2_PREFACE.starts_with(&start) && start.len() < H2_PREFACE.len() {
        // An error or the end before a request: nobody is left to talk to.
        if stream.read_buf(&mut start).await.unwrap_or(0) == 0 {
            return;
        }
    }
    if start.starts_with(H2_PREFACE) {
        h2_server::serve(Rewound { start, rest: stream }, context, guard).await;
    } else {
        h1::serve(stream, start, context, guard).await;
    }
}
