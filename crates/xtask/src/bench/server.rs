//! The servers that are loaded: nginx and the minimal server, both told to do as little as they can, both counting.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::process::Invocation;
use crate::packages;
use crate::steps::output;

/// How long a server may take to answer its first question, and any later one.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Connections one nginx worker can hold; the largest benchmark opens 50 000.
const NGINX_CONNECTIONS: u32 = 60_000;

/// What nginx has below `/bodies/`, each under its size.
pub(super) const BODIES: [(&str, usize); 2] = [("100 kB", 100_000), ("10 MB", 10_000_000)];
/// Where uploads go.
pub(super) const UPLOAD: &str = "/upload";
/// Where every response ends its connection.
pub(super) const CLOSING: &str = "/closing";

/// A running server that tells how many requests it answered. It ends when this is dropped.
pub(super) struct Server {
    child: Child,
    counter: Counter,
}

/// How a server is asked for its count.
struct Counter {
    at: SocketAddr,
    path: &'static str,
    read: fn(&str) -> Option<u64>,
    /// Whether the count contains the question for it.
    counts_itself: bool,
}

impl Server {
    /// Does some work and says how many requests were answered meanwhile.
    pub(super) fn count<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
        let before = self.answered()?;
        let done = work()?;
        let after = self.answered()?;
        Ok((done, after.saturating_sub(before + u64::from(self.counter.counts_itself))))
    }

    fn answered(&self) -> Result<u64> {
        let body = get(self.counter.at, self.counter.path)?;
        (self.counter.read)(&body).context("a server told no count")
    }

    /// Asks until it answers.
    fn when_ready(self) -> Result<Self> {
        let begin = Instant::now();
        while let Err(error) = self.answered() {
            if begin.elapsed() > ANSWER_WITHIN {
                return Err(error.context("a server does not answer"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(self)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that ended by itself needs no signal, and nobody could be told.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
        drop(self.child.wait());
    }
}

/// The minimal server on `cpus`, answering with `body`; with its URL.
pub(super) fn minimal(program: &Path, cpus: &str, body: &str) -> Result<(Server, String)> {
    let program = program.to_str().context("the path of the minimal server is no text")?;
    let mut command = Invocation::new(cpus, [program, "127.0.0.1:0", body]).command();
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the minimal server")?;
    let mut line = String::new();
    let stdout = child.stdout.take().context("its stdout is a pipe")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let ready: serde_json::Value = serde_json::from_str(&line).context("the minimal server is not ready")?;
    let listen: SocketAddr = ready["listen"].as_str().unwrap_or_default().parse()?;
    let read = |body: &str| body.trim().parse().ok();
    let counter = Counter { at: listen, path: "/__count", read, counts_itself: false };
    let server = Server { child, counter }.when_ready()?;
    Ok((server, format!("http://{listen}/")))
}

/// nginx with one address per way to speak.
pub(super) struct Nginx {
    pub(super) server: Server,
    pub(super) plain: String,
    pub(super) h2c: String,
    pub(super) tls: String,
}

/// nginx on `cpus` with as many workers, its files in `folder`. It reads uploads to their end if `upstream` answers them.
pub(super) fn nginx(folder: &Path, cpus: &str, workers: u32, upstream: Option<&str>) -> Result<Nginx> {
    fs::create_dir_all(folder.join("bodies"))?;
    for (_, bytes) in BODIES {
        fs::write(folder.join("bodies").join(bytes.to_string()), vec![b'x'; bytes])?;
    }
    make_certificate(folder)?;
    let [status, plain, h2c, tls] = free_ports()?;
    let config = nginx_config(workers, [status, plain, h2c, tls]);
    fs::write(folder.join("nginx.conf"), config)?;
    fs::write(folder.join("locations.conf"), locations(upstream))?;
    let prefix = folder.to_str().context("the path of the target folder is no text")?;
    let program = packages::locate("nginx").context("nginx is not installed")?;
    let program = program.to_str().context("the path of nginx is no text")?;
    let words = [program, "-p", prefix, "-e", "stderr", "-c", "nginx.conf"];
    let child = Invocation::new(cpus, words).command().spawn().context("cannot start nginx")?;
    let at = SocketAddr::from(([127, 0, 0, 1], status));
    let counter = Counter { at, path: "/", read: stub_status_requests, counts_itself: true };
    let server = Server { child, counter }.when_ready()?;
    Ok(Nginx {
        server,
        plain: format!("http://127.0.0.1:{plain}/"),
        h2c: format!("http://127.0.0.1:{h2c}/"),
        tls: format!("https://127.0.0.1:{tls}/"),
    })
}

fn nginx_config(workers: u32, [status, plain, h2c, tls]: [u16; 4]) -> String {
    // Each worker gets its own queue of connections, so that they share them evenly.
    let queue = if workers > 1 { "backlog=4096 reuseport" } else { "backlog=4096" };
    format!(
        "\
daemon off;
worker_processes {workers};
worker_rlimit_nofile {files};
pid nginx.pid;
error_log error.log crit;
events {{ worker_connections {NGINX_CONNECTIONS}; }}
http {{
    access_log off;
    client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp; uwsgi_temp_path temp; scgi_temp_path temp;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    http2_max_concurrent_streams 128;
    default_type text/plain;
    server {{ listen 127.0.0.1:{status}; location / {{ stub_status; }} }}
    server {{ listen 127.0.0.1:{plain} {queue}; include locations.conf; }}
    server {{ listen 127.0.0.1:{h2c} http2 {queue}; include locations.conf; }}
    server {{
        listen 127.0.0.1:{tls} ssl {queue};
        ssl_certificate certificate.pem;
        ssl_certificate_key key.pem;
        ssl_session_cache off;
        ssl_session_tickets off;
        include locations.conf;
    }}
}}
",
        files = NGINX_CONNECTIONS + 1000,
    )
}

/// What all servers answer. An answer that nginx makes by itself would come before the upload ended, and not every client
/// survives that.
fn locations(upstream: Option<&str>) -> String {
    let uploads = upstream.map(|upstream| {
        format!(
            "\
location {UPLOAD} {{
    client_max_body_size 16m;
    client_body_buffer_size 16m;
    proxy_method GET;
    proxy_pass_request_body off;
    proxy_set_header content-length '';
    proxy_pass {upstream};
}}
"
        )
    });
    format!(
        "\
location / {{ return 200 'Hello, World!'; }}
location {CLOSING} {{ keepalive_timeout 0; return 200 'Hello, World!'; }}
location /bodies/ {{ root .; sendfile on; }}
{}",
        uploads.unwrap_or_default()
    )
}

fn make_certificate(folder: &Path) -> Result<()> {
    let request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let files = ["-keyout", "key.pem", "-out", "certificate.pem", "-days", "30"];
    let subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    output(folder, "openssl", &[&request[..], &files[..], &subject[..]].concat()).map(drop)
}

/// Ports that were free a moment ago, all different.
fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let held: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

/// The body of a small answer.
fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(body) = body(&String::from_utf8_lossy(&answer)) {
            return Ok(body.to_owned());
        }
        match stream.read(&mut chunk)? {
            0 => bail!("{address}{path} ended in the middle of its answer"),
            len => answer.extend_from_slice(&chunk[..len]),
        }
    }
}

/// The body of an answer with a content length, once all of it is there.
fn body(answer: &str) -> Option<&str> {
    let (head, rest) = answer.split_once("\r\n\r\n")?;
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let length = fields.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    rest.get(..length?.1.trim().parse().ok()?)
}

/// The third number of the line below "server accepts handled requests".
fn stub_status_requests(text: &str) -> Option<u64> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("server accepts"));
    lines.nth(1)?.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nginx_tells_requests_as_third_number() {
        let text = "Active connections: 65 \nserver accepts handled requests\n 67 67 812345 \nReading: 0 Writing: 1 \n";
        assert_eq!(stub_status_requests(text), Some(812_345));
        assert_eq!(stub_status_requests("<html>404</html>"), None);
    }

    #[test]
    fn body_is_there_when_all_of_it_is() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
        assert_eq!(body(&format!("{head}1234")), Some("1234"));
        assert_eq!(body(&format!("{head}12")), None);
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Le"), None);
    }

    #[test]
    fn free_ports_differ() {
        let [first, second] = free_ports().unwrap();
        assert_ne!(first, second);
    }
}
