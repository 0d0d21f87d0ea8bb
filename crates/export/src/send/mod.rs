//! How readings leave: what an exporter needs is opened before the run, then its thread delivers one reading after the
//! other until the final one.

mod datagrams;
mod file;
mod post;
mod scrape;

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::Instant;

use self::datagrams::DatagramSink;
use self::file::FileSink;
use self::post::PostSink;
use crate::place::{Destination, Place, PostFormat};
use crate::queue::Queue;
use crate::reading::Reading;
use crate::tally::Tally;

/// How long one reading may take, with all repetitions. Then a newer one is worth more.
pub(crate) const SEND_TIME: Duration = Duration::from_secs(2);

/// Why an exporter cannot begin. Nothing was sent. Contains nothing secret.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nobody can be answered there.
    #[error("{shown} cannot be listened on")]
    Listen {
        /// Where.
        shown: String,
        /// What the system said.
        source: io::Error,
    },
    /// Datagrams have nowhere to go.
    #[error("{shown} is no address that datagrams can be sent to")]
    Resolve {
        /// Where.
        shown: String,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{} cannot be written", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The same place was named before.
    #[error("{shown} is named twice")]
    Twice {
        /// Which.
        shown: String,
    },
    /// The system has no thread for it.
    #[error("the system refused a thread")]
    Thread(io::Error),
}

/// An exporter that can begin.
pub(crate) enum Opened {
    /// Answers scrapes, and waits so long for the last one.
    Scrape { listener: TcpListener, linger: Option<Duration> },
    /// Posts bodies.
    Post { format: PostFormat, url: String, fields: Vec<(String, String)> },
    /// Sends datagrams.
    Datagrams(DatagramSink),
    /// Writes a file.
    File(FileSink),
}

impl Opened {
    /// Takes what the place needs: a port, an address, a file. Whether a receiver is there is no question yet.
    pub(crate) fn open(place: &Place) -> Result<Self, OpenError> {
        let shown = || place.shown().to_owned();
        match place.destination.clone() {
            Destination::Scrape { listen, linger } => TcpListener::bind(listen)
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                .map(|listener| Self::Scrape { listener, linger })
                .map_err(|source| OpenError::Listen { shown: shown(), source }),
            Destination::Post { format, url, fields } => Ok(Self::Post { format, url, fields }),
            Destination::Datagrams { format, to } => socket(&to)
                .map(|socket| Self::Datagrams(DatagramSink::new(format, socket)))
                .map_err(|source| OpenError::Resolve { shown: shown(), source }),
            Destination::Csv(path) => {
                FileSink::create(&path).map(Self::File).map_err(|source| OpenError::File { path, source })
            }
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Scrape { listener, .. } => listener.local_addr().ok(),
            _ => None,
        }
    }

    /// How long beyond the end of the run it may be at work.
    pub(crate) fn linger(&self) -> Duration {
        match self {
            Self::Scrape { linger, .. } => linger.unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }

    /// Delivers until the final reading, or until the queue is closed.
    pub(crate) fn work(self, queue: &Queue, tally: &Tally) {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return tally.lost(1, &format!("the system refused a runtime: {error}")),
        };
        runtime.block_on(async {
            match self {
                Self::Scrape { listener, linger } => scrape::serve(listener, linger, queue, tally).await,
                Self::Post { format, url, fields } => match PostSink::new(format, &url, &fields) {
                    Ok(sink) => deliver(Sink::Post(Box::new(sink)), queue, tally).await,
                    Err(error) => tally.lost(1, &error.to_string()),
                },
                Self::Datagrams(sink) => deliver(Sink::Datagrams(sink), queue, tally).await,
                Self::File(sink) => deliver(Sink::File(sink), queue, tally).await,
            }
        });
        // A name that is still being looked up is nobody's any more.
        runtime.shutdown_background();
    }
}

/// Everything that readings are pushed into.
enum Sink {
    Post(Box<PostSink>),
    Datagrams(DatagramSink),
    File(FileSink),
}

impl Sink {
    async fn send(&mut self, reading: &Reading, until: Instant) -> Result<(), String> {
        match self {
            Self::Post(sink) => sink.send(reading, until).await,
            Self::Datagrams(sink) => sink.send(reading),
            Self::File(sink) => sink.send(reading),
        }
    }
}

async fn deliver(mut sink: Sink, queue: &Queue, tally: &Tally) {
    while let Some(parcel) = queue.next().await {
        let until = parcel.until.unwrap_or_else(|| Instant::now() + SEND_TIME);
        match sink.send(&parcel.reading, until).await {
            Ok(()) => tally.sent(),
            Err(why) => tally.lost(1, &why),
        }
        if parcel.reading.is_final {
            return;
        }
    }
}

/// A socket that is connected, so that a refused datagram is told with the next one.
fn socket(to: &str) -> io::Result<UdpSocket> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for peer in to.to_socket_addrs()? {
        let any: SocketAddr = if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
        match UdpSocket::bind(any).and_then(|socket| socket.connect(peer).map(|()| socket)) {
            Ok(socket) => {
                socket.set_write_timeout(Some(SEND_TIME))?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
