//! A target to talk to and a plain client that checks every byte it reads.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hyperscale_target::{Options, Running, Stats, Target};
use serde_json::Value;

/// Only so that a broken target fails a test instead of hanging it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running target that stops when the test ends.
pub(crate) struct Site {
    pub(crate) running: Running,
}

/// Starts a target on a free port of the loopback.
pub(crate) fn site(configure: impl FnOnce(&mut Options)) -> Site {
    let mut options = Options::new(([127, 0, 0, 1], 0).into());
    configure(&mut options);
    Site {
        running: Target::bind(options)
            .expect("loopback can be bound")
            .spawn()
            .expect("threads can be started"),
    }
}

impl Site {
    pub(crate) fn connect(&self) -> Wire<TcpStream> {
        let stream = TcpStream::connect(self.running.handle().listen()).expect("target accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        stream.set_nodelay(true).expect("a socket has nodelay");
        Wire::new(stream)
    }

    /// One GET on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> Response {
        self.connect().get(path)
    }

    /// The books without a connection, after everything that arrived was read.
    pub(crate) fn settled_stats(&self) -> Stats {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(self.running.handle().settled_stats())
    }

    /// The books as `GET /__stats` tells them.
    pub(crate) fn stats(&self) -> Value {
        self.get("/__stats").json()
    }
}

/// One connection.
pub(crate) struct Wire<S> {
    pub(crate) stream: S,
    unread: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// Sizes of the chunks, if it came in chunks.
    pub(crate) chunks: Vec<usize>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

impl<S: Read + Write> Wire<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.stream.write_all(bytes.as_ref()).expect("target reads");
        self.stream.flush().expect("target reads");
        self
    }

    pub(crate) fn request(&mut self, method: &str, path: &str, extra: &str) -> &mut Self {
        self.send(format!("{method} {path} HTTP/1.1\r\nHost: test\r\n{extra}\r\n"))
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.request("GET", path, "").response()
    }

    pub(crate) fn get_with(&mut self, path: &str, extra: &str) -> Response {
        self.request("GET", path, extra).response()
    }

    pub(crate) fn post(&mut self, path: &str, kind: &str, body: &str) -> Response {
        let length = body.len();
        self.request("POST", path, &format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n"));
        self.send(body).response()
    }

    /// Reads one response with its body.
    pub(crate) fn response(&mut self) -> Response {
        let mut response = self.head();
        if response.status < 200 || response.status == 204 || response.status == 304 {
            return response;
        }
        if response.header("transfer-encoding") == Some("chunked") {
            self.read_chunks(&mut response);
        } else if let Some(length) = response.header("content-length") {
            response.body = self.exactly(length.parse().expect("a length is a number"));
        } else {
            response.body = self.rest();
        }
        response
    }

    /// Reads the head of a response and nothing more.
    pub(crate) fn head(&mut self) -> Response {
        let status_line = self.line();
        let mut words = status_line.splitn(3, ' ');
        assert_eq!(words.next(), Some("HTTP/1.1"));
        let status = words.next().expect("a status").parse().expect("a status is a number");
        let headers = self.headers();
        Response { status, headers, body: Vec::new(), trailers: Vec::new(), chunks: Vec::new() }
    }

    fn headers(&mut self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                return headers;
            }
            let (name, value) = line.split_once(": ").expect("a header has a colon");
            headers.push((name.to_owned(), value.to_owned()));
        }
    }

    fn read_chunks(&mut self, response: &mut Response) {
        loop {
            let size = usize::from_str_radix(&self.line(), 16).expect("a chunk has a size");
            if size == 0 {
                response.trailers = self.headers();
                return;
            }
            response.chunks.push(size);
            response.body.extend(self.exactly(size));
            assert_eq!(self.line(), "", "a chunk ends with its size");
        }
    }

    fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.windows(2).position(|end| end == b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).collect();
                return String::from_utf8(line[..end].to_vec()).expect("a line is text");
            }
            assert!(self.read_more() > 0, "connection ended inside of a line: {:?}", self.unread);
        }
    }

    fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(self.read_more() > 0, "connection ended {} bytes early", count - self.unread.len());
        }
        self.unread.drain(..count).collect()
    }

    /// Everything up to the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.read_more() > 0 {}
        std::mem::take(&mut self.unread)
    }

    fn read_more(&mut self) -> usize {
        let mut block = [0; 16 * 1024];
        let count = self.stream.read(&mut block).expect("target answers");
        self.unread.extend_from_slice(&block[..count]);
        count
    }
}
