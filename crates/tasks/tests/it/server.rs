//! A PostgreSQL server of its own for a test, without syncs: these tests do not pull the plug.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_postgres::{Config, NoTls};

/// How long a server may take to accept connections.
const START_WITHIN: Duration = Duration::from_mins(1);

/// A running server. It ends with this, or with the thread that started it.
pub(crate) struct Server {
    process: Child,
    folder: TempDir,
    schemas: AtomicU32,
    /// Where it listens beside its socket.
    port: Option<u16>,
}

impl Server {
    /// Makes a cluster and starts a server on a socket in its folder.
    pub(crate) async fn start() -> Self {
        Self::start_as(None).await
    }

    /// The same on a port of loopback too, with this certificate and its key.
    pub(crate) async fn start_with_tls(certificate: &str, key: &str) -> Self {
        Self::start_as(Some((certificate, key))).await
    }

    async fn start_as(tls: Option<(&str, &str)>) -> Self {
        let folder = tempfile::Builder::new().prefix("hyperscale-pg").tempdir().unwrap();
        if let Some((user, group)) = unprivileged() {
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let data = folder.path().join("data");
        let made = program("initdb")
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--locale=C",
                "--pgdata",
            ])
            .arg(&data)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "initdb failed");
        let port = tls.map(|(certificate, key)| {
            write_for_server(&data.join("server.crt"), certificate);
            write_for_server(&data.join("server.key"), key);
            // Free a moment ago; nobody else asks for ports of this range by number.
            std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
        });
        let process = launch(folder.path(), port);
        let server = Self { process, folder, schemas: AtomicU32::new(0), port };
        server.wait().await;
        server
    }

    /// Ends the server as a crash would, and starts it again.
    pub(crate) async fn restart(&mut self) {
        // The postmaster ends its children at once and writes nothing.
        let process = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(process, rustix::process::Signal::QUIT).unwrap();
        self.process.wait().unwrap();
        self.process = launch(self.folder.path(), self.port);
        self.wait().await;
    }

    /// Cuts all connections but the one that asks for it.
    pub(crate) async fn cut_connections(&self) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
        run(&self.config(), sql).await.unwrap();
    }

    /// A connection to an empty schema.
    pub(crate) async fn schema(&self) -> Config {
        let name = format!("s{}", self.schemas.fetch_add(1, Ordering::Relaxed));
        let mut config = self.config();
        run(&config, &format!("CREATE SCHEMA {name}")).await.unwrap();
        config.options(format!("-c search_path={name}"));
        config
    }

    /// The URL of its database, for other processes.
    pub(crate) fn url(&self) -> String {
        format!("host={} user=postgres dbname=postgres", self.folder.path().display())
    }

    /// The port of a server with TLS.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap()
    }

    /// Where its socket is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(self.folder.path()).user("postgres").dbname("postgres");
        config.port(self.port.unwrap_or(5432));
        config
    }

    async fn wait(&self) {
        let begun = Instant::now();
        while let Err(error) = run(&self.config(), "SELECT 1").await {
            assert!(begun.elapsed() < START_WITHIN, "PostgreSQL does not start: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A file that only the server may read, as it demands of its key.
fn write_for_server(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    if let Some((user, group)) = unprivileged() {
        chown(path, Some(user), Some(group)).unwrap();
    }
}

/// Starts a server on the cluster in a folder; with a port it listens there and speaks TLS.
fn launch(folder: &Path, port: Option<u16>) -> Child {
    let mut options: Vec<String> =
        ["fsync=off", "full_page_writes=off", "max_connections=200"].map(str::to_owned).into();
    options.extend(match port {
        Some(port) => {
            ["listen_addresses=localhost".to_owned(), format!("port={port}"), "ssl=on".to_owned()].to_vec()
        }
        None => vec!["listen_addresses=".to_owned()],
    });
    program("postgres")
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .args(options.iter().flat_map(|option| ["-c", option.as_str()]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs a statement on a connection of its own.
pub(crate) async fn run(config: &Config, sql: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(connection);
    client.batch_execute(sql).await
}

/// A program of PostgreSQL, as somebody other than root: it refuses to run as root.
fn program(name: &str) -> Command {
    let path = programs().join(name);
    if unprivileged().is_none() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=KILL", "--"])
        .arg(path);
    command.current_dir("/");
    command
}

/// Where the newest installed version keeps its programs.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("the package postgresql is not installed");
    let newest = versions
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .expect("the package postgresql is not installed");
    Path::new("/usr/lib/postgresql").join(newest.to_string()).join("bin")
}

/// User and group of `postgres`, if we are root.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:")).expect("there is no user postgres");
    let mut fields = line.split(':').skip(2);
    let mut number = || fields.next().unwrap().parse().unwrap();
    Some((number(), number()))
}
