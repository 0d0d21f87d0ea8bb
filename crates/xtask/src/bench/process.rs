//! A client that is run and measured from outside: CPU time by the kernel, peak memory, wall time.
//!
//! One client at a time and on one thread: its CPU time is what the kernel's account of ended children grew by.

use std::fs::{self, File};
use std::path::Path;
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

/// What a client used.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    pub(super) wall_s: f64,
    pub(super) peak_kib: u64,
    pub(super) stdout: String,
}

/// Runs a client to its end and says what it used. What it prints goes to files in `folder`: a full pipe would stop it.
pub(super) fn measure(invocation: &Invocation, folder: &Path, expected: Duration) -> Result<Usage> {
    let (stdout, stderr) = (folder.join("client.out"), folder.join("client.err"));
    let mut command = invocation.command();
    command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    let before = children_cpu()?;
    let begin = Instant::now();
    let mut child = command.spawn().context("cannot start taskset")?;
    let (status, peak_kib) = watch(&mut child, expected + PATIENCE)?;
    let wall_s = begin.elapsed().as_secs_f64();
    let after = children_cpu()?;
    let stdout = fs::read_to_string(stdout)?;
    if !status.success() {
        let messages = format!("{stdout}\n{}", fs::read_to_string(stderr)?);
        let shown: Vec<&str> = messages.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = shown[shown.len().saturating_sub(SHOWN_LINES)..].join("\n    ");
        bail!("'{}' ended with {status}:\n    {shown}", invocation.words.join(" "));
    }
    Ok(Usage { user_s: after.0 - before.0, system_s: after.1 - before.1, wall_s, peak_kib, stdout })
}

/// Waits for the end, and keeps the highest peak of memory seen.
fn watch(child: &mut Child, limit: Duration) -> Result<(ExitStatus, u64)> {
    let begin = Instant::now();
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    loop {
        let seen = fs::read_to_string(&status_file).ok().and_then(|text| vm_hwm_kib(&text));
        peak_kib = peak_kib.max(seen.unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            return Ok((status, peak_kib));
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("a client did not end within {} s", limit.as_secs());
        }
        thread::sleep(LOOK_EVERY);
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
        let usage = run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done").unwrap();
        assert_eq!(usage.stdout, "done\n");
        assert!(usage.user_s + usage.system_s > 0.0 && usage.wall_s > 0.0);
        let error = run("echo reason >&2; exit 3").expect_err("it failed");
        assert!(error.to_string().contains("reason"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
