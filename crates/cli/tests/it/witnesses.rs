//! Servers that are not ours write down every request they see: as many as the result says.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hyperscale_stats::result::RunResult;
use tempfile::TempDir;

use crate::support::{PATIENCE, PlanFile, free_address, program, run, start_file, wait_until};

/// A server with a log, which dies with its owner.
pub(crate) struct Witness {
    child: Child,
    pub(crate) address: String,
    folder: TempDir,
    /// What a line about a request contains.
    line: &'static str,
}

impl Witness {
    /// `start` gets the address and the folder that `log` is written to.
    fn start(line: &'static str, start: impl FnOnce(SocketAddr, &Path) -> Command) -> Self {
        // It cannot tell which port it got, so a free one is looked for.
        let address = free_address();
        let mut witness = Self::start_at(address.to_string(), line, |folder| start(address, folder));
        wait_until("a server that listens", || {
            assert_eq!(witness.child.try_wait().unwrap(), None, "it ended");
            TcpStream::connect(address).ok()
        });
        witness
    }

    fn start_at(address: String, line: &'static str, start: impl FnOnce(&Path) -> Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = start(folder.path()).stdin(Stdio::null()).spawn().unwrap();
        Witness { child, address, folder, line }
    }

    /// nginx with this in its server.
    fn nginx(server: &str) -> Self {
        Self::start("REQUEST", |address, folder| {
            let server = server.replace("LISTEN", &format!("listen {address}"));
            configured_nginx(Command::new(program("nginx")), folder, &server)
        })
    }

    /// nginx on another host, where `command` starts it and this address is its own.
    pub(crate) fn nginx_by(command: Command, address: &str) -> Self {
        let listen = format!("{address}:80");
        let server = format!("listen {listen}; location / {{ return 200 hello; }}");
        let mut witness =
            Self::start_at(listen, "REQUEST", |folder| configured_nginx(command, folder, &server));
        // It writes down its process once its sockets are bound.
        let pid = witness.folder.path().join("pid");
        wait_until("a server that listens", || {
            assert_eq!(witness.child.try_wait().unwrap(), None, "it ended");
            fs::read_to_string(&pid).ok().filter(|text| !text.is_empty())
        });
        witness
    }

    /// The addresses that sent requests, in the order in which nginx has answered them.
    pub(crate) fn senders(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let whole = log.lines().filter(|line| line.ends_with(" END"));
        whole.filter_map(|line| line.split(' ').nth(4)).map(str::to_owned).collect()
    }

    /// nghttpd, which writes down every frame, with these options.
    fn nghttpd(options: &[&str]) -> Self {
        Self::start("recv HEADERS frame", |address, folder| {
            fs::write(folder.join("index.html"), "hello").unwrap();
            let mut command = Command::new(program("nghttpd"));
            command.args(["--no-tls", "--verbose"]).arg(format!("--address={}", address.ip())).args(options);
            command.arg(format!("--htdocs={}", folder.display())).arg(address.port().to_string());
            let log = fs::File::create(folder.join("log")).unwrap();
            command.stdout(log).stderr(Stdio::null());
            command
        })
    }

    /// The result of a run against this path.
    fn run(&self, path: &str, args: &[&str]) -> RunResult {
        let url = format!("http://{}{path}", self.address);
        run(&[&["run", &url, "--json", "--no-ui"], args].concat()).result(0)
    }

    /// Requests in the log: as many as are expected, or what is there when patience ends.
    pub(crate) fn seen(&self, expected: u64) -> u64 {
        let end = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let seen = log.lines().filter(|line| line.contains(self.line)).count() as u64;
            if seen >= expected || Instant::now() > end {
                return seen;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether the log has as many requests as the result.
    #[track_caller]
    fn assert_agrees(&self, result: &RunResult) {
        assert_eq!(self.seen(result.totals.requests), result.totals.requests);
    }
}

/// A command for nginx with its configuration in this folder.
fn configured_nginx(mut command: Command, folder: &Path, server: &str) -> Command {
    let files = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {}/{kind};", folder.display()));
    let config = format!(
        "daemon off;\nmaster_process off;\npid {0}/pid;\nerror_log {0}/error.log;\nevents {{}}\nhttp {{ {1}\n\
         log_format seen 'REQUEST $request_method $status $request_length $remote_addr END';\n\
         access_log {0}/log seen;\nkeepalive_requests 1000000;\nserver {{ {server} }} }}\n",
        folder.display(),
        files.join("\n"),
    );
    fs::write(folder.join("nginx.conf"), config).unwrap();
    command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf")).stderr(Stdio::null());
    command
}

impl Drop for Witness {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A file to upload, and the argument for it.
fn upload(bytes: usize) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), vec![b'x'; bytes]).unwrap();
    let argument = format!("@{}", file.path().display());
    (file, argument)
}

#[test]
fn nginx_logs_as_many_requests_as_are_reported_over_http_1() {
    let nginx = Witness::nginx("LISTEN; keepalive_requests 7; location / { return 200 hello; }");
    let result = nginx.run("/", &["-c", "4", "-n", "500"]);
    assert_eq!((result.totals.ok, result.totals.failed), (500, 0));
    nginx.assert_agrees(&result);
}

#[test]
fn nginx_logs_as_many_requests_as_are_reported_over_http_2() {
    let nginx = Witness::nginx("LISTEN http2; location / { return 200 hello; }");
    let result = nginx.run("/", &["--http2", "--connections", "2", "-c", "40", "-n", "2000"]);
    assert_eq!((result.totals.ok, result.totals.failed), (2_000, 0));
    nginx.assert_agrees(&result);
}

#[test]
fn nginx_logs_uploads_that_it_answers_before_they_end() {
    let (_file, body) = upload(100_000);
    for (listen, version) in [("LISTEN", &[][..]), ("LISTEN http2", &["--http2"])] {
        let nginx = Witness::nginx(&format!(
            "{listen}; location / {{ return 200 early; }} location /small {{ client_max_body_size 1k; root /; }}"
        ));
        let args = [&["-X", "POST", "-b", &body, "-c", "5", "-n", "100"], version].concat();
        let early = nginx.run("/", &args);
        assert_eq!((early.totals.requests, early.totals.ok), (100, 100), "{listen}");
        nginx.assert_agrees(&early);
        let refused = nginx.run("/small", &args);
        let step = &refused.workflows[0].steps[0];
        assert_eq!((step.requests, step.failed, step.status.get("413")), (100, 100, Some(&100)), "{listen}");
        assert_eq!(nginx.seen(200), 200, "{listen}");
    }
}

#[test]
fn nghttpd_sees_as_many_requests_as_are_reported() {
    let nghttpd = Witness::nghttpd(&[]);
    let result = nghttpd.run("/index.html", &["--http2", "--connections", "2", "-c", "40", "-n", "1000"]);
    assert_eq!((result.totals.requests, result.totals.ok), (1_000, 1_000));
    nghttpd.assert_agrees(&result);
}

#[test]
fn nghttpd_sees_uploads_that_it_answers_before_they_end() {
    let (_file, body) = upload(100_000);
    let nghttpd = Witness::nghttpd(&["--early-response"]);
    let result = nghttpd.run("/index.html", &["--http2", "-X", "POST", "-b", &body, "-c", "5", "-n", "100"]);
    assert_eq!((result.totals.requests, result.totals.ok), (100, 100));
    nghttpd.assert_agrees(&result);
}

/// After every hundredth stream nginx goes away, though others have begun on the connection that all share.
const SHARED: &str = "workflows:\n  Main:\n    vus: 20\n    iterations: 1000\n    steps:\n      a:\n        \
                      http: { url: \"{{ base }}/\", version: 2, connections: 1, RETRY }\nvars: { base: \"\" }\n";

#[test]
fn requests_that_nginx_did_not_process_are_sent_again_and_none_twice() {
    let nginx = Witness::nginx("LISTEN http2; keepalive_requests 100; location / { return 200 hello; }");
    let plan = PlanFile::new(&SHARED.replace("RETRY", "retry: { on: [ goaway ], max: 10 }"));
    let result = start_file(&plan, &format!("http://{}", nginx.address), &["--no-ui", "--cores", "1"])
        .wait()
        .result(0);
    let totals = &result.totals;
    assert_eq!((totals.ok, totals.failed), (1_000, 0), "{:?}", result.errors);
    assert!(totals.retries > 0, "nginx goes away nine times, with streams that wait");
    assert_eq!(nginx.seen(1_000), 1_000, "each call was processed once");
    assert!((1_000..=1_000 + totals.retries).contains(&totals.requests), "{totals:?}");
}

#[test]
fn old_calls_are_not_refused_in_favour_of_new_ones() {
    // Each connection takes the requests of half of the virtual users.
    let nginx = Witness::nginx("LISTEN http2; keepalive_requests 10; location / { return 200 hello; }");
    let plan = PlanFile::new(&SHARED.replace("RETRY", "retry: { on: [ goaway ], max: 10 }"));
    let base = format!("http://{}", nginx.address);
    let result = start_file(&plan, &base, &["--no-ui", "--cores", "1"]).wait().result(0);
    assert_eq!((result.totals.ok, result.totals.failed), (1_000, 0), "{:?}", result.errors);
    assert!(result.totals.retries > 0, "nginx goes away a hundred times, with streams that wait");
    assert_eq!(nginx.seen(1_000), 1_000, "each call was processed once");
}

#[test]
fn a_run_without_retries_repeats_nothing() {
    let nginx = Witness::nginx("LISTEN http2; keepalive_requests 100; location / { return 200 hello; }");
    let plan = PlanFile::new(&SHARED.replace("RETRY", "retry: false"));
    let base = format!("http://{}", nginx.address);
    let result = start_file(&plan, &base, &["--no-ui", "--cores", "1"]).wait().result(0);
    assert_eq!((result.totals.ok + result.totals.failed, result.totals.retries), (1_000, 0));
    assert_eq!(nginx.seen(result.totals.ok), result.totals.ok, "what was answered, and nothing else");
    assert!(result.totals.requests <= 1_000);
}
