//! The cheapest HTTP/1.1 server there can be, so that in benchmarks the client is the limit:
//! `minimal 127.0.0.1:0 [BODY]` prints its address as one line of JSON and serves until it is killed.
//!
//! One thread, one epoll, the same answer to everything. It looks for the end of a request's head and for nothing
//! else: requests must not have bodies. `GET /__count` tells how many requests it has answered besides those.
//! A client that does not read its answers is cut off.

#![expect(clippy::print_stdout, reason = "the ready line is what the benchmark reads")]

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Registry, Token};

const LISTENER: Token = Token(usize::MAX);
/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 1024;
/// Bytes read at once; far more than a request, so that a short read means that the socket is empty.
const READ_BYTES: usize = 64 * 1024;
/// Answers written at once, to clients that send many requests together.
const BATCH_MAX: usize = 64;
const BODY: &str = "Hello, World!";
const END: &[u8; 4] = b"\r\n\r\n";
const COUNT_PATH: &[u8] = b"GET /__count ";

struct Connection {
    stream: TcpStream,
    /// How many bytes of the end of a head have been seen.
    matched: usize,
}

struct Server {
    /// The same answer, [`BATCH_MAX`] times.
    answers: Vec<u8>,
    answer_len: usize,
    buffer: Vec<u8>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    answered: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address: SocketAddr = arguments.next().ok_or("usage: minimal ADDRESS [BODY]")?.parse()?;
    let mut server = Server::new(&arguments.next().unwrap_or_else(|| BODY.to_owned()));
    let mut listener = TcpListener::bind(address)?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    println!("{{\"ready\":true,\"role\":\"minimal\",\"listen\":\"{}\"}}", listener.local_addr()?);

    let mut events = Events::with_capacity(EVENTS_MAX);
    loop {
        if let Err(error) = poll.poll(&mut events, None)
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error.into());
        }
        for event in &events {
            match event.token() {
                LISTENER => server.accept(&listener, poll.registry())?,
                Token(at) => server.serve(at, event.is_read_closed()),
            }
        }
    }
}

impl Server {
    fn new(body: &str) -> Self {
        let answer = answer(body);
        Self {
            answers: answer.repeat(BATCH_MAX).into_bytes(),
            answer_len: answer.len(),
            buffer: vec![0; READ_BYTES],
            connections: Vec::new(),
            free: Vec::new(),
            answered: 0,
        }
    }

    fn accept(&mut self, listener: &TcpListener, registry: &Registry) -> io::Result<()> {
        loop {
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            stream.set_nodelay(true)?;
            let at = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            registry.register(&mut stream, Token(at), Interest::READABLE)?;
            self.connections[at] = Some(Connection { stream, matched: 0 });
        }
    }

    /// Reads what is there and answers it. A connection that ended or cannot take its answers is closed.
    fn serve(&mut self, at: usize, is_closing: bool) {
        let Some(mut connection) = self.connections[at].take() else { return };
        match self.answer(&mut connection, is_closing) {
            Ok(true) => self.connections[at] = Some(connection),
            Ok(false) | Err(_) => self.free.push(at),
        }
    }

    /// Returns whether the connection stays open.
    fn answer(&mut self, connection: &mut Connection, is_closing: bool) -> io::Result<bool> {
        loop {
            let len = match connection.stream.read(&mut self.buffer) {
                Ok(0) => return Ok(false),
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            };
            let bytes = &self.buffer[..len];
            if bytes.starts_with(COUNT_PATH) {
                connection.stream.write_all(answer(&self.answered.to_string()).as_bytes())?;
                return Ok(true);
            }
            let mut requests = ends(bytes, &mut connection.matched);
            self.answered += requests as u64;
            while requests > 0 {
                let batch = requests.min(BATCH_MAX);
                connection.stream.write_all(&self.answers[..batch * self.answer_len])?;
                requests -= batch;
            }
            // The next bytes raise a new event; only an end that came together with these did not.
            if len < READ_BYTES && !is_closing {
                return Ok(true);
            }
        }
    }
}

fn answer(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// How many heads end in these bytes, given how much of an end the bytes before them matched.
fn ends(bytes: &[u8], matched: &mut usize) -> usize {
    let mut found = 0;
    for byte in bytes {
        *matched = if *byte == END[*matched] { *matched + 1 } else { usize::from(*byte == END[0]) };
        if *matched == END.len() {
            *matched = 0;
            found += 1;
        }
    }
    found
}
