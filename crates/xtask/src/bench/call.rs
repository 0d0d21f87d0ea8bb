//! JSON-RPC over one kept connection, from a source address of its own: the API limits requests per source.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(15);

/// A connection to the API of a node.
pub(super) struct Caller {
    stream: BufReader<TcpStream>,
}

impl Caller {
    /// From a loopback address that was not used before, as the API limits requests per source.
    pub(super) fn connect(to: SocketAddrV4) -> Result<Self> {
        static CONNECTIONS: AtomicU32 = AtomicU32::new(0);
        let [_, high, middle, low] = CONNECTIONS.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        Self::connect_from(Ipv4Addr::new(127, 128 | high, middle, low), to)
    }

    /// From this address of the loopback.
    pub(super) fn connect_from(source: Ipv4Addr, to: SocketAddrV4) -> Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let fd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        bind(fd.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(source, 0)))?;
        connect(fd.as_raw_fd(), &SockaddrIn::from(to))?;
        let stream = TcpStream::from(fd);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Calls a method; the result, or the error of the server.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let head = format!(
            "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all((head + &body).as_bytes())?;
        let response: Value = serde_json::from_slice(&self.read_body()?)?;
        match response.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("{method}: {}", response["error"]),
        }
    }

    fn read_body(&mut self) -> Result<Vec<u8>> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                bail!("the connection was closed");
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse()?);
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length.context("the response has no length")?];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}
