//! A node of ours as a process: started, looked at, killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddrV4;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::process::Invocation;

/// How long anything may take before the measurement is given up.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
/// How often something is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The unit of CPU times in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// A node that ends with its owner.
pub(super) struct Node {
    child: Child,
    pub(super) http: SocketAddrV4,
}

impl Node {
    /// Starts it on these cores and waits until it says where its API is.
    pub(super) fn start(cpus: &str, words: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = Invocation::new(cpus, words.iter().copied()).command();
        command.envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("its stdout is a pipe")?).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).context("a node did not start")?;
        let http = ready["http"].as_str().unwrap_or_default().parse()?;
        Ok(Self { child, http })
    }

    /// Ends it at once, like a crash.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Asks until there is a response.
pub(super) fn wait_for<T>(what: &str, ask: impl FnMut() -> Option<T>) -> Result<T> {
    wait_within(PATIENCE, what, ask)
}

/// The same with another patience.
pub(super) fn wait_within<T>(
    patience: Duration,
    what: &str,
    mut ask: impl FnMut() -> Option<T>,
) -> Result<T> {
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if let Some(found) = ask() {
            return Ok(found);
        }
        thread::sleep(LOOK_EVERY);
    }
    bail!("never saw {what}")
}

/// User and system time of a process so far, in seconds.
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in brackets may contain anything; the numbers follow it.
    let (_, numbers) = stat.rsplit_once(')').context("the kernel's line has a name")?;
    let ticks = |at: usize| numbers.split_whitespace().nth(at).and_then(|text| text.parse::<f64>().ok());
    let (user, system) = (ticks(11).context("user time")?, ticks(12).context("system time")?);
    Ok((user + system) / TICKS_PER_SECOND)
}

/// Resident memory of a process in MiB.
pub(super) fn resident_mib(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("it has memory")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
