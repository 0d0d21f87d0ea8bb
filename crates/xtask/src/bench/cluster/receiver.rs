//! A server that says when each request arrived. One thread per connection: it serves a few virtual users.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How long a response takes: what is measured is the first request, not the load.
const DELAY: Duration = Duration::from_millis(5);

/// A running server; it ends with the process.
pub(super) struct Arrivals {
    pub(super) address: SocketAddr,
    arrived: Receiver<Instant>,
}

impl Arrivals {
    pub(super) fn listen() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (sender, arrived) = mpsc::channel();
        thread::Builder::new().name("arrivals".to_owned()).spawn(move || accept(&listener, &sender))?;
        Ok(Self { address, arrived })
    }

    /// Forgets what has arrived so far.
    pub(super) fn forget(&self) {
        while self.arrived.try_recv().is_ok() {}
    }

    /// When the next request arrives.
    pub(super) fn next(&self, within: Duration) -> Result<Instant> {
        self.arrived.recv_timeout(within).context("no request arrived in time")
    }
}

fn accept(listener: &TcpListener, arrived: &Sender<Instant>) {
    for stream in listener.incoming().map_while(Result::ok) {
        let arrived = arrived.clone();
        let serve = move || {
            // A client that leaves ends its thread; nobody has to be told.
            drop(serve(&stream, &arrived));
        };
        if thread::Builder::new().name("arrivals".to_owned()).spawn(serve).is_err() {
            return;
        }
    }
}

fn serve(stream: &TcpStream, arrived: &Sender<Instant>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            if arrived.send(Instant::now()).is_err() {
                return Ok(());
            }
            thread::sleep(DELAY);
            writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    }
}
