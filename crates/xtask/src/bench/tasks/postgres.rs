//! A PostgreSQL server of its own, synced as in production; `psql` and `pgbench` ask it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::node::{wait_for, wait_within};
use crate::packages;

/// Where its files are: a folder that survives reboots, and so is a disk and no memory.
const PARENT: &str = "/var/tmp";
/// What differs from the settings that Debian ships: memory as the manual advises, room for the log between checkpoints, and
/// counting of statements. Syncs stay on. The same server runs pgbench.
const SETTINGS: [&str; 7] = [
    "listen_addresses=",
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "checkpoint_timeout=15min",
    "max_connections=200",
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track=all",
];
/// How long the server may take to write a checkpoint and end.
const STOP_WITHIN: Duration = Duration::from_mins(2);
/// What `psql` prints after each of our statements.
const END: &str = "-- end --";
/// Scale of the tables of pgbench: a million accounts.
const SCALE: &str = "10";

/// A running server. It ends, and its files go, with this.
pub(super) struct Postgres {
    process: Child,
    folder: PathBuf,
}

impl Postgres {
    /// Makes an empty cluster and starts a server on it.
    pub(super) fn start() -> Result<Self> {
        let folder = Path::new(PARENT).join(format!("hyperscale-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        if let Some((user, group)) = unprivileged()? {
            chown(&folder, Some(user), Some(group))?;
        }
        let data = folder.join("data");
        let made = program("initdb")?
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(&data)
            .stdout(Stdio::null())
            .status()?;
        ensure!(made.success(), "initdb ended with {made}");
        let process = program("postgres")?
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&folder)
            .args(SETTINGS.iter().flat_map(|setting| ["-c", *setting]))
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log"))?)
            .spawn()
            .context("cannot start postgres")?;
        let server = Self { process, folder };
        wait_for("a PostgreSQL server that accepts connections", || {
            let mut asked = server.client("pg_isready").ok()?;
            asked.stdout(Stdio::null()).status().ok()?.success().then_some(())
        })?;
        Ok(server)
    }

    /// An empty database of this name.
    pub(super) fn create(&self, database: &str) -> Result<()> {
        self.session("postgres")?.run(&format!("CREATE DATABASE {database}"))?;
        self.session(database)?.run("CREATE EXTENSION pg_stat_statements")
    }

    /// The URL of a database, for our nodes.
    pub(super) fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}/{database}")
    }

    /// A session in a database.
    pub(super) fn session(&self, database: &str) -> Result<Session> {
        let mut psql = self.client("psql")?;
        psql.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database]);
        let mut process = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().context("its stdin is a pipe")?;
        let output = BufReader::new(process.stdout.take().context("its stdout is a pipe")?);
        Ok(Session { process, input, output })
    }

    /// Makes the tables of pgbench.
    pub(super) fn prepare_pgbench(&self) -> Result<()> {
        self.session("postgres")?.run("CREATE DATABASE pgbench")?;
        let made = self.client("pgbench")?.args(["-i", "-q", "-s", SCALE, "pgbench"]).output()?;
        ensure!(made.status.success(), "pgbench -i: {}", String::from_utf8_lossy(&made.stderr));
        Ok(())
    }

    /// Transactions per second of `pgbench -N`: an update, a read and an insert each, by eight clients.
    pub(super) fn pgbench(&self, seconds: u64) -> Result<f64> {
        self.checkpoint()?;
        let mut pgbench = self.client("pgbench")?;
        pgbench.args(["-N", "-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", &seconds.to_string()]);
        let printed = pgbench.arg("pgbench").output()?;
        ensure!(printed.status.success(), "pgbench: {}", String::from_utf8_lossy(&printed.stderr));
        transactions(&String::from_utf8_lossy(&printed.stdout)).context("pgbench tells no rate")
    }

    /// Writes what is dirty, so that the next measurement does not pay for the one before it.
    pub(super) fn checkpoint(&self) -> Result<()> {
        self.session("postgres")?.run("CHECKPOINT")
    }

    /// A program that connects to it.
    fn client(&self, name: &str) -> Result<Command> {
        let mut command = Command::new(located(name)?);
        command.arg("-h").arg(&self.folder).args(["-U", "postgres"]);
        Ok(command)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A fast shutdown: connections are cut, and nothing is lost.
        let _ = kill(Pid::from_raw(self.process.id().cast_signed()), Signal::SIGINT);
        let ended =
            wait_within(STOP_WITHIN, "the end of PostgreSQL", || self.process.try_wait().ok().flatten());
        if ended.is_err() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A session of `psql` that is kept open: a new process for each question would disturb what is measured.
pub(super) struct Session {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Session {
    /// The lines that a statement prints: rows, with `|` between their columns.
    pub(super) fn lines(&mut self, sql: &str) -> Result<Vec<String>> {
        writeln!(self.input, "{sql};\n\\echo '{END}'")?;
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("psql ended at: {sql}");
            }
            match line.trim_end() {
                END => return Ok(lines),
                line => lines.push(line.to_owned()),
            }
        }
    }

    /// Runs a statement.
    pub(super) fn run(&mut self, sql: &str) -> Result<()> {
        self.lines(sql).map(drop)
    }

    /// The only value of the only row.
    pub(super) fn value(&mut self, sql: &str) -> Result<String> {
        self.lines(sql)?.pop().with_context(|| format!("no row: {sql}"))
    }

    /// The same as a number.
    pub(super) fn number(&mut self, sql: &str) -> Result<f64> {
        let value = self.value(sql)?;
        value.parse().with_context(|| format!("`{value}` is no number: {sql}"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A program of PostgreSQL, as somebody other than root: it refuses to run as root.
fn program(name: &str) -> Result<Command> {
    let path = located(name)?;
    if unprivileged()?.is_none() {
        return Ok(Command::new(path));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=INT", "--"]);
    command.arg(path).current_dir("/");
    Ok(command)
}

fn located(name: &str) -> Result<PathBuf> {
    packages::locate(name).with_context(|| format!("{name} is not installed"))
}

/// User and group of `postgres`, if we are root.
fn unprivileged() -> Result<Option<(u32, u32)>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.starts_with("postgres:")).context("no user postgres")?;
    let numbers: Vec<u32> = line.split(':').skip(2).take(2).filter_map(|text| text.parse().ok()).collect();
    Ok(numbers.first().copied().zip(numbers.get(1).copied()))
}

/// The rate in what pgbench prints, without the time that connecting took.
fn transactions(printed: &str) -> Option<f64> {
    let line = printed.lines().find_map(|line| line.strip_prefix("tps = "))?;
    line.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_of_pgbench_is_read_from_its_report() {
        let report = "latency average = 2.1 ms\ninitial connection time = 9.1 ms\ntps = 3763.217 (without initial connection time)\n";
        assert_eq!(transactions(report), Some(3763.217));
        assert_eq!(transactions("pgbench: error"), None);
    }
}
