//! A connection to PostgreSQL that can be cut, or held without a word.

use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How the proxy treats bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mode {
    /// Connections of older generations are closed.
    generation: u64,
    /// Nothing passes, and nobody is told.
    is_held: bool,
}

/// One port in front of the server's socket.
pub(super) struct Proxy {
    pub(super) port: u16,
    mode: watch::Sender<Mode>,
    _server: JoinSet<()>,
}

impl Proxy {
    pub(super) async fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mode, watched) = watch::channel(Mode::default());
        let mut server = JoinSet::new();
        server.spawn(accept(listener, folder.join(".s.PGSQL.5432"), watched));
        Self { port, mode, _server: server }
    }

    /// Closes all connections. New ones work.
    pub(super) fn cut(&self) {
        self.mode.send_modify(|mode| mode.generation += 1);
    }

    /// Lets nothing pass, as a network that drops packets.
    pub(super) fn hold(&self) {
        self.mode.send_modify(|mode| mode.is_held = true);
    }

    /// Closes what was held, and lets new connections pass.
    pub(super) fn release(&self) {
        self.mode.send_modify(|mode| *mode = Mode { generation: mode.generation + 1, is_held: false });
    }
}

async fn accept(listener: TcpListener, socket: PathBuf, mode: watch::Receiver<Mode>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((near, _)) = accepted else { continue };
                let (socket, mode) = (socket.clone(), mode.clone());
                connections.spawn(async move {
                    let generation = mode.borrow().generation;
                    let Ok(far) = UnixStream::connect(&socket).await else { return };
                    let (near_read, near_write) = near.into_split();
                    let (far_read, far_write) = far.into_split();
                    // When one direction ends, so does the connection.
                    tokio::select! {
                        () = carry(near_read, far_write, mode.clone(), generation) => {}
                        () = carry(far_read, near_write, mode.clone(), generation) => {}
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut mode: watch::Receiver<Mode>,
    generation: u64,
) {
    let mut buffer = vec![0; 64 << 10];
    let mut gate = mode.clone();
    loop {
        tokio::select! {
            read = from.read(&mut buffer) => {
                let Ok(count @ 1..) = read else { return };
                let passed = gate.wait_for(|mode| mode.generation != generation || !mode.is_held).await.map(drop);
                if passed.is_err() || to.write_all(&buffer[..count]).await.is_err() {
                    return;
                }
            }
            () = replaced(&mut mode, generation) => return,
        }
    }
}

/// Waits for a cut.
async fn replaced(mode: &mut watch::Receiver<Mode>, generation: u64) {
    // A proxy that is gone has cut everything.
    drop(mode.wait_for(|mode| mode.generation != generation).await);
}
