//! A client that is run and measured from outside: CPU time by the kernel, peak memory, wall time.
//!
//! Measured from one thread: CPU time is what the kernel's account of ended children grew by meanwhile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeValLike;

/// How often a running client is looked at. Peak memory is a high-water mark; only what rises after the last look is
/// missed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A client that takes this much longer than it was told is ended.
const PATIENCE: Duration = Duration::from_secs(90);
/// Lines of a failed client's messages that are shown.
const SHOWN_LINES: usize = 8;

/// A command line, and the cores it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) words: Vec<String>,
    /// As `taskset -c` reads it.
    pub(super) cpus: String,
}

impl Invocation {
    pub(super) fn new<'a>(cpus: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        Self { words: words.into_iter().map(str::to_owned).collect(), cpus: cpus.to_owned() }
    }

    /// A command bound to its cores. `taskset` becomes the program, so that the process is the program's.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("taskset");
        command.arg("-c").arg(&self.cpus).args(&self.words).stdin(Stdio::null());
        command
    }
}

/// What clients that ran together used.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    pub(super) wall_s: f64,
    /// One for each client, in their order.
    pub(super) ends: Vec<End>,
}

/// What one client left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) peak_kib: u64,
    pub(super) stdout: String,
}

/// Runs a client to its end and says what it used.
pub(super) fn measure(invocation: &Invocation, folder: &Path, expected: Duration) -> Result<(Usage, End)> {
    let mut usage = measure_together(std::slice::from_ref(invocation), folder, expected)?;
    let end = usage.ends.pop().context("one client has one end")?;
    Ok((usage, end))
}

/// Runs clients side by side. What they print goes to files in `folder`: a full pipe would stop them.
pub(super) fn measure_together(
    invocations: &[Invocation],
    folder: &Path,
    expected: Duration,
) -> Result<Usage> {
    let before = children_cpu()?;
    let begin = Instant::now();
    let mut clients = Vec::new();
    for (at, invocation) in invocations.iter().enumerate() {
        clients.push(Running::start(invocation, folder, at)?);
    }
    while !Running::all_ended(&mut clients)? {
        if begin.elapsed() > expected + PATIENCE {
            clients.iter_mut().try_for_each(Running::kill)?;
            bail!("'{}' did not end in time", invocations[0].words.join(" "));
        }
        thread::sleep(LOOK_EVERY);
    }
    let wall_s = begin.elapsed().as_secs_f64();
    let after = children_cpu()?;
    let ends = clients.iter().zip(invocations).map(|(client, invocation)| client.end(invocation));
    let ends = ends.collect::<Result<_>>()?;
    Ok(Usage { user_s: after.0 - before.0, system_s: after.1 - before.1, wall_s, ends })
}

/// A started client.
struct Running {
    child: Child,
    status: Option<ExitStatus>,
    peak_kib: u64,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    fn start(invocation: &Invocation, folder: &Path, at: usize) -> Result<Self> {
        let (stdout, stderr) =
            (folder.join(format!("client.{at}.out")), folder.join(format!("client.{at}.err")));
        let mut command = invocation.command();
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let child = command.spawn().context("cannot start taskset")?;
        Ok(Self { child, status: None, peak_kib: 0, stdout, stderr })
    }

    /// Looks at every client; keeps the highest peak of memory seen.
    fn all_ended(clients: &mut [Self]) -> Result<bool> {
        for client in clients.iter_mut().filter(|client| client.status.is_none()) {
            let status = fs::read_to_string(format!("/proc/{}/status", client.child.id()));
            let seen = status.ok().and_then(|text| vm_hwm_kib(&text));
            client.peak_kib = client.peak_kib.max(seen.unwrap_or(0));
            client.status = client.child.try_wait()?;
        }
        Ok(clients.iter().all(|client| client.status.is_some()))
    }

    fn kill(&mut self) -> Result<()> {
        if self.status.is_none() {
            self.child.kill()?;
            self.child.wait()?;
        }
        Ok(())
    }

    /// What it left behind; an error with its last words if it failed.
    fn end(&self, invocation: &Invocation) -> Result<End> {
        let stdout = fs::read_to_string(&self.stdout)?;
        let status = self.status.context("it has ended")?;
        if status.success() {
            return Ok(End { peak_kib: self.peak_kib, stdout });
        }
        let messages = format!("{stdout}\n{}", fs::read_to_string(&self.stderr)?);
        let shown: Vec<&str> = messages.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = shown[shown.len().saturating_sub(SHOWN_LINES)..].join("\n    ");
        bail!("'{}' ended with {status}:\n    {shown}", invocation.words.join(" "));
    }
}

/// User and system time of all children that ended, in seconds.
fn children_cpu() -> Result<(f64, f64)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
    Ok((seconds(usage.user_time()), seconds(usage.system_time())))
}

/// The peak of resident memory in the text of `/proc/PID/status`.
fn vm_hwm_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Raises the limit of open files for us and all we start, as far as we may; returns what it is now.
pub(super) fn raise_open_files(wanted: u64) -> Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= wanted {
        return Ok(soft);
    }
    if setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).is_err() {
        setrlimit(Resource::RLIMIT_NOFILE, hard.min(wanted), hard)?;
    }
    Ok(getrlimit(Resource::RLIMIT_NOFILE)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_read_from_the_status_file() {
        assert_eq!(
            vm_hwm_kib("Name:\twrk\nVmPeak:\t  9000 kB\nVmHWM:\t    5124 kB\nThreads:\t2\n"),
            Some(5124)
        );
        assert_eq!(vm_hwm_kib("Name:\twrk\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn a_client_is_measured_and_a_failed_one_is_an_error_with_its_words() {
        let folder = std::env::temp_dir().join(format!("xtask-process-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let run =
            |script: &str| measure(&Invocation::new("0", ["sh", "-c", script]), &folder, Duration::ZERO);
        let (usage, end) = run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done").unwrap();
        assert_eq!(end.stdout, "done\n");
        assert!(usage.user_s + usage.system_s > 0.0 && usage.wall_s > 0.0);
        let error = run("echo reason >&2; exit 3").expect_err("it failed");
        assert!(error.to_string().contains("reason"), "{error}");
        let echo = |word: &str| Invocation::new("0", ["echo", word]);
        let ends = measure_together(&[echo("a"), echo("b")], &folder, Duration::ZERO).unwrap().ends;
        assert_eq!([&ends[0].stdout, &ends[1].stdout], ["a\n", "b\n"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
