//! Receivers of exports: what arrived at them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::PATIENCE;

/// Takes requests and keeps them. Its thread ends with the test.
pub(super) struct Web {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Line and fields, in lower case.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Web {
    /// Answers everything with 200 and nothing.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, keep) = (stream.unwrap(), Arc::clone(&keep));
                thread::spawn(move || {
                    while let Some(request) = read_request(&mut stream) {
                        keep.lock().unwrap().push(request);
                        drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
                    }
                });
            }
        });
        Self { address, seen }
    }

    /// Every request so far.
    pub(super) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some(Request { head, body })
}

/// Takes datagrams, which the kernel keeps until they are asked for.
pub(super) struct Datagrams(UdpSocket);

impl Datagrams {
    pub(super) fn start() -> Self {
        Self(UdpSocket::bind("127.0.0.1:0").unwrap())
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// All that have arrived. Whoever sent them on this machine has ended, so no more are under way.
    pub(super) fn all(&self) -> Vec<String> {
        self.0.set_nonblocking(true).unwrap();
        let mut all = Vec::new();
        let mut buffer = [0; 2_048];
        while let Ok(length) = self.0.recv(&mut buffer) {
            all.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        }
        all
    }
}

/// Asks for a page; `None` if nobody listens.
pub(super) fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}
