//! The target as a component: `Options` → [`Target`] → [`Running`] with a cheap [`Handle`].

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::{mpsc, oneshot, watch};

use crate::counts::{Books, Stats};
use crate::inject::Epoch;
use crate::options::{BODY_SIZE_MAX, Options};
use crate::routes::Site;
use crate::tls::{Tls, TlsError};
use crate::worker::{Acceptor, SETTLE_QUEUE, Worker};

/// Connections the kernel may hold for us before they are accepted; it cuts this to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// Why a target could not be set up. Nothing was left behind.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The TCP address is taken, not local or not allowed.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The unix socket could not be made; the path may exist.
    #[error("cannot listen on unix socket {}: {source}", path.display())]
    Unix {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// TLS could not be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The body size is beyond [`BODY_SIZE_MAX`].
    #[error("body size {0} is larger than the limit of {BODY_SIZE_MAX} bytes")]
    BodySize(u64),
}

/// A target whose sockets are bound but not served yet.
pub struct Target {
    options: Options,
    listener: TcpListener,
    unix: Option<UnixListener>,
    tls: Option<Tls>,
    listen: SocketAddr,
}

impl Target {
    /// Binds the sockets and prepares TLS.
    pub fn bind(options: Options) -> Result<Self, BindError> {
        if let Some(size) = options.body_size.filter(|size| *size > BODY_SIZE_MAX) {
            return Err(BindError::BodySize(size));
        }
        let address = options.listen;
        let (listener, listen) = bind_tcp(address).map_err(|source| BindError::Listen { address, source })?;
        let tls = options.tls.as_ref().map(|tls| Tls::new(tls, listen)).transpose()?;
        let unix = match &options.unix {
            None => None,
            Some(path) => {
                let bound =
                    UnixListener::bind(path).and_then(|unix| unix.set_nonblocking(true).map(|()| unix));
                Some(bound.map_err(|source| BindError::Unix { path: path.clone(), source })?)
            }
        };
        Ok(Self { options, listener, unix, tls, listen })
    }

    /// The TCP address, with the real port.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Serves on threads of its own until stopped.
    pub fn spawn(self) -> io::Result<Running> {
        let threads = self.options.threads.get();
        let (stop, stopped) = watch::channel(false);
        let (settle, settle_requests): (Vec<_>, Vec<_>) =
            (0..threads).map(|_| mpsc::channel(SETTLE_QUEUE)).unzip();
        let epoch = Arc::new(Epoch::now());
        let shared = Arc::new(Shared {
            books: Arc::new(Books::new(threads)),
            epoch: Arc::clone(&epoch),
            site: Site::new(&self.options, epoch),
            settle,
            stop,
            listen: self.listen,
            ca_pem: self.tls.as_ref().map(|tls| tls.ca_pem.clone()),
        });
        let acceptor = Acceptor {
            tcp: self.listener,
            unix: self.unix,
            tls: self.tls.map(|tls| tls.acceptor),
            max_connections: self.options.max_connections,
        };
        let mut running = Running {
            handle: Handle(Arc::clone(&shared)),
            threads: Vec::new(),
            unix: self.options.unix.clone(),
        };
        for worker in Worker::crew(&self.options, &shared, acceptor, settle_requests, &stopped)? {
            let name = format!("target-{}", worker.number());
            // If this fails, dropping `running` stops the threads that did start.
            running.threads.push(std::thread::Builder::new().name(name).spawn(move || worker.run())?);
        }
        Ok(running)
    }

    /// Serves until `shutdown` resolves or a [`Handle`] stops it.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let running = self.spawn()?;
        let mut stopped = running.handle.0.stop.subscribe();
        tokio::select! {
            () = shutdown => {}
            // An error would mean that the sender is gone, but `running` holds it.
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        tokio::task::spawn_blocking(move || running.stop()).await.map_err(io::Error::other)
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // So that a target can come back on its port while old connections are still in TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    let listener = TcpListener::from(socket);
    let listen = listener.local_addr()?;
    Ok((listener, listen))
}

/// A target that serves on its threads. Dropping it stops it without waiting for them.
pub struct Running {
    handle: Handle,
    threads: Vec<JoinHandle<()>>,
    /// Removed at the end, for we made it.
    unix: Option<PathBuf>,
}

impl Running {
    /// A handle that can be kept and given away.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Closes the listener and every connection, and waits for the threads to end.
    pub fn stop(mut self) {
        self.handle.stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so on stderr; the others still end in order.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(path) = &self.unix {
            // Somebody may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What the threads of a target share.
pub(crate) struct Shared {
    pub(crate) books: Arc<Books>,
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) site: Site,
    settle: Vec<mpsc::Sender<oneshot::Sender<()>>>,
    stop: watch::Sender<bool>,
    listen: SocketAddr,
    ca_pem: Option<String>,
}

impl Shared {
    /// Waits until every thread has read what had arrived before this call.
    pub(crate) async fn settle(&self) {
        // The first thread accepts for all, so it goes first.
        for thread in &self.settle {
            let (done, settled) = oneshot::channel();
            if thread.send(done).await.is_ok() {
                // An error means that the thread ended meanwhile, and then it is as settled as can be.
                let _ = settled.await;
            }
        }
    }

    pub(crate) fn reset(&self) {
        self.books.reset();
        self.epoch.restart();
    }
}

/// Looks at and stops a running target from anywhere.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    /// The TCP address, with the real port.
    pub fn listen(&self) -> SocketAddr {
        self.0.listen
    }

    /// PEM of the authority to trust, if the target speaks TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.0.ca_pem.as_deref()
    }

    /// What was counted so far. Requests that arrived but were not read yet are missing; see [`Handle::settled_stats`].
    pub fn stats(&self) -> Stats {
        self.0.books.snapshot()
    }

    /// What was counted, after everything that had arrived before the call was read. `GET /__stats` answers with this.
    pub async fn settled_stats(&self) -> Stats {
        self.0.settle().await;
        self.0.books.snapshot()
    }

    /// Sets all counts to zero and starts the clock of the stalls anew.
    pub fn reset(&self) {
        self.0.reset();
    }

    /// Closes the listener and every connection; does not wait.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }
}
