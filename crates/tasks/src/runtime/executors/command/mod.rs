//! `command`: runs a program of this machine, never through a shell.
//!
//! Off unless the operator has named the program. It runs in a process group of its own, without the environment of the node: that
//! may hold the node's secrets. When the attempt is cancelled the group is told to end, and killed if it does not; when the attempt
//! is dropped – deadline, lost lease – the group is killed at once.

mod inputs;
mod process;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use self::inputs::Inputs;
use self::process::{Ended, Group};
use crate::runtime::executors::text::head;
use crate::runtime::{Context, Executor, Failure};

/// Bytes kept of each of stdout and stderr, from their ends.
const OUTPUT_MAX: usize = 64 << 10;

/// Bytes of stderr that an error shows, from its end.
const SHOWN_MAX: usize = 500;

/// How long a group that was told to end may take before it is killed.
const TERM_GRACE: Duration = Duration::from_secs(5);

/// Runs programs that are on its list.
#[derive(Clone, Debug)]
pub struct Command {
    allowed: BTreeSet<String>,
}

impl Command {
    /// Allows these programs: names, found through the `PATH` of the node, or absolute paths. Without any, every task is refused.
    pub fn new(allowed: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { allowed: allowed.into_iter().map(Into::into).collect() }
    }

    fn read(&self, inputs: &Value) -> Result<Inputs, String> {
        let inputs = Inputs::read(inputs)?;
        let program = inputs.program();
        if self.allowed.contains(program) {
            return Ok(inputs);
        }
        let why = if self.allowed.is_empty() {
            "no program is allowed on this node".to_owned()
        } else {
            let allowed: Vec<&str> = self.allowed.iter().map(String::as_str).collect();
            format!("allowed are: {}", allowed.join(", "))
        };
        Err(format!(
            "`argv[0]` is `{program}`, but {why}; the operator allows it with --allow-command {program}"
        ))
    }
}

#[async_trait]
impl Executor for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn schema(&self) -> Value {
        inputs::schema()
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        self.read(inputs).map(drop)
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let inputs = self.read(inputs).map_err(Failure::ForGood)?;
        let program = find(inputs.program()).map_err(Failure::ForGood)?;
        let mut group = Group::start(&program, &inputs, &environment(context))
            .map_err(|error| Failure::Retry(format!("`{}` cannot be started: {error}", inputs.program())))?;
        let ended = tokio::select! {
            ended = group.wait() => ended,
            () = context.cancelled().cancelled() => {
                group.end(TERM_GRACE).await;
                return Err(Failure::Cancelled);
            }
            () = timeout(inputs.timeout) => {
                let ended = group.end(TERM_GRACE).await;
                let why = format!("it did not end within {:?}", inputs.timeout.unwrap_or_default());
                return Err(Failure::Retry(failure(&inputs, &why, &ended)));
            }
        };
        let ended = ended.map_err(|error| Failure::Retry(format!("`{}`: {error}", inputs.program())))?;
        match ended.code {
            Some(0) => Ok(inputs.secrets.mask_value(result(ended))),
            _ => Err(Failure::Retry(failure(&inputs, &ended.how(), &ended))),
        }
    }
}

/// What the program is told about its task.
fn environment(context: &Context) -> [(&'static str, String); 3] {
    [
        ("HYPERSCALE_TASK_ID", context.task().to_string()),
        ("HYPERSCALE_ATTEMPT", context.attempt().to_string()),
        ("HYPERSCALE_EFFECT_KEY", context.effect_key("command")),
    ]
}

/// Where a program is. The `PATH` is the node's: that of the inputs would lead around the list.
fn find(program: &str) -> Result<PathBuf, String> {
    if program.contains('/') {
        return Ok(program.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("`{program}` is not in the PATH of this node"))
}

async fn timeout(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

fn result(ended: Ended) -> Value {
    let (stdout, stdout_cut) = ended.stdout.into_text();
    let (stderr, stderr_cut) = ended.stderr.into_text();
    let mut value = json!({"exit_code": ended.code, "stdout": stdout, "stderr": stderr});
    if stdout_cut || stderr_cut {
        value["truncated"] = json!(true);
    }
    value
}

fn failure(inputs: &Inputs, why: &str, ended: &Ended) -> String {
    let stderr = ended.stderr.last(SHOWN_MAX);
    let (stderr, _) = head(stderr.trim(), SHOWN_MAX);
    let colon = if stderr.is_empty() { "" } else { ": " };
    inputs.secrets.mask(&format!("`{}`: {why}{colon}{stderr}", inputs.program()))
}
