//! A server that says when each request arrived. One thread per connection: it serves a few clients.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How long a response takes: what is measured is the first request, not the load.
const DELAY: Duration = Duration::from_millis(5);

/// A running server; it ends with the process.
pub(super) struct Arrivals {
    pub(super) address: SocketAddr,
    arrived: Receiver<Arrival>,
    gate: Arc<Gate>,
}

/// A request.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) at: Instant,
    pub(super) path: String,
}

/// Responses wait while it is closed.
#[derive(Default)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().unwrap_or_else(PoisonError::into_inner) = is_closed;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let closed = self.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_while(closed, |is_closed| *is_closed));
    }
}

impl Arrivals {
    pub(super) fn listen() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (sender, arrived) = mpsc::channel();
        let gate = Arc::new(Gate::default());
        let held = gate.clone();
        thread::Builder::new()
            .name("arrivals".to_owned())
            .spawn(move || accept(&listener, &sender, &held))?;
        Ok(Self { address, arrived, gate })
    }

    /// Holds responses back from now on, or lets all of them go.
    pub(super) fn hold(&self, is_held: bool) {
        self.gate.set(is_held);
    }

    /// Forgets what has arrived so far.
    pub(super) fn forget(&self) {
        while self.arrived.try_recv().is_ok() {}
    }

    /// When the next request arrives.
    pub(super) fn next(&self, within: Duration) -> Result<Instant> {
        Ok(self.arrival(within)?.at)
    }

    /// The next request.
    pub(super) fn arrival(&self, within: Duration) -> Result<Arrival> {
        self.arrived.recv_timeout(within).context("no request arrived in time")
    }
}

fn accept(listener: &TcpListener, arrived: &Sender<Arrival>, gate: &Arc<Gate>) {
    for stream in listener.incoming().map_while(Result::ok) {
        let (arrived, gate) = (arrived.clone(), gate.clone());
        let serve = move || {
            // A client that leaves ends its thread; nobody has to be told.
            drop(serve(&stream, &arrived, &gate));
        };
        if thread::Builder::new().name("arrivals".to_owned()).spawn(serve).is_err() {
            return;
        }
    }
}

fn serve(stream: &TcpStream, arrived: &Sender<Arrival>, gate: &Gate) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    let (mut line, mut path) = (String::new(), None);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if path.is_none() {
            path = line.split(' ').nth(1).map(str::to_owned);
        }
        if line.trim().is_empty() {
            let arrival = Arrival { at: Instant::now(), path: path.take().unwrap_or_default() };
            if arrived.send(arrival).is_err() {
                return Ok(());
            }
            thread::sleep(DELAY);
            gate.pass();
            writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_wait_for_the_gate_and_arrivals_tell_their_path() {
        let arrivals = Arrivals::listen().unwrap();
        arrivals.hold(true);
        let mut client = TcpStream::connect(arrivals.address).unwrap();
        client.write_all(b"GET /task/7 HTTP/1.1\r\nhost: here\r\n\r\n").unwrap();
        assert_eq!(arrivals.arrival(Duration::from_secs(10)).unwrap().path, "/task/7");
        client.set_read_timeout(Some(DELAY * 4)).unwrap();
        let mut response = String::new();
        assert!(BufReader::new(&client).read_line(&mut response).is_err(), "held back: {response}");
        arrivals.hold(false);
        client.set_read_timeout(None).unwrap();
        BufReader::new(&client).read_line(&mut response).unwrap();
        assert_eq!(response, "HTTP/1.1 200 OK\r\n");
    }
}
