//! A program in a process group of its own.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use super::OUTPUT_MAX;
use super::inputs::Inputs;
use crate::runtime::executors::text::Tail;

/// What of the node's environment a program may see.
const PASSED_ON: [&str; 6] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER"];

/// Bytes read at a time.
const READ_MAX: usize = 8 << 10;

/// How long output may still come after the group was killed.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// A running group. Dropping it kills the whole group.
pub(super) struct Group {
    child: Child,
    /// The number of the group, until its first process has been waited for.
    pid: Option<Pid>,
    output: Option<(ChildStdout, ChildStderr)>,
    kept: (Tail, Tail),
}

/// How a program ended, and what it wrote.
pub(super) struct Ended {
    /// `None` if a signal ended it.
    pub(super) code: Option<i32>,
    signal: Option<i32>,
    pub(super) stdout: Tail,
    pub(super) stderr: Tail,
}

impl Ended {
    pub(super) fn how(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        }
    }
}

impl Group {
    pub(super) fn start(program: &Path, inputs: &Inputs, told: &[(&str, String)]) -> io::Result<Self> {
        let passed_on = PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let mut child = Command::new(program)
            .args(&inputs.argv[1..])
            .env_clear()
            .envs(passed_on)
            .envs(&inputs.env)
            .envs(told.iter().map(|(name, value)| (*name, value)))
            .current_dir(inputs.cwd.as_deref().unwrap_or(Path::new("/")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let output = child.stdout.take().zip(child.stderr.take());
        Ok(Self { child, pid, output, kept: (Tail::new(OUTPUT_MAX), Tail::new(OUTPUT_MAX)) })
    }

    /// Waits for the program. What it has left running in its group is killed.
    pub(super) async fn wait(&mut self) -> io::Result<Ended> {
        let Self { child, output, kept, .. } = self;
        let status = match output {
            None => child.wait().await?,
            Some((stdout, stderr)) => {
                let copied = async { tokio::join!(copy(stdout, &mut kept.0), copy(stderr, &mut kept.1)) };
                tokio::pin!(copied);
                tokio::select! {
                    status = child.wait() => status?,
                    // It has closed its output and still runs.
                    _ = &mut copied => child.wait().await?,
                }
            }
        };
        self.kill();
        self.pid = None;
        self.rest().await;
        Ok(self.ended(status))
    }

    /// Tells the group to end, waits, and kills what is left.
    pub(super) async fn end(&mut self, grace: Duration) -> Ended {
        self.signal(Signal::TERM);
        if let Ok(Ok(ended)) = timeout(grace, self.wait()).await {
            return ended;
        }
        self.kill();
        let status = self.child.wait().await.unwrap_or_default();
        self.pid = None;
        self.rest().await;
        self.ended(status)
    }

    fn ended(&mut self, status: std::process::ExitStatus) -> Ended {
        use std::os::unix::process::ExitStatusExt as _;
        let empty = || Tail::new(OUTPUT_MAX);
        let (stdout, stderr) = std::mem::replace(&mut self.kept, (empty(), empty()));
        Ended { code: status.code(), signal: status.signal(), stdout, stderr }
    }

    /// Reads what is left in the pipes. Somebody who has left the group may hold them open.
    async fn rest(&mut self) {
        let Some((mut stdout, mut stderr)) = self.output.take() else { return };
        let copied =
            async { tokio::join!(copy(&mut stdout, &mut self.kept.0), copy(&mut stderr, &mut self.kept.1)) };
        let _ = timeout(LAST_OUTPUT, copied).await;
    }

    fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            // A group that is gone needs no signal.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads to the end and keeps the last part.
async fn copy(from: &mut (impl AsyncRead + Unpin), to: &mut Tail) {
    let mut buffer = vec![0; READ_MAX];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        to.add(&buffer[..count]);
    }
}
