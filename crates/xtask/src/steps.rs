//! A sequence of named steps with a summary; the first failure ends it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Steps done so far.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// Does one step and remembers how long it took. `advice` says what to do if it fails.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        advice: &str,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        eprintln!("\n==> {name}");
        let begin = Instant::now();
        let outcome = work();
        self.done.push((name, begin.elapsed()));
        outcome.with_context(|| format!("step '{name}' failed; {advice}"))
    }

    /// One line per step, slow ones easy to see.
    pub(crate) fn summary(&self) -> String {
        let total = self.done.iter().map(|(_, time)| *time).sum();
        let lines = self.done.iter().copied().chain([("total", total)]);
        let lines = lines.map(|(name, time)| format!("  {name:<12} {:>7.1} s", time.as_secs_f64()));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Runs a command in `directory` with the terminal's streams and wants it to succeed.
pub(crate) fn run(directory: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    let shown = format!("{program} {}", arguments.join(" "));
    eprintln!("  $ {shown}");
    let status = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .status()
        .with_context(|| format!("cannot start '{shown}'"))?;
    if !status.success() {
        bail!("'{shown}' ended with {status}");
    }
    Ok(())
}

/// Runs a command silently and returns what it wrote to stdout.
pub(crate) fn output(directory: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    let shown = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .with_context(|| format!("cannot start '{shown}'"))?;
    if !output.status.success() {
        bail!("'{shown}' ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("'{shown}' wrote no text"))
}

/// The cargo that runs us, or the one in the path.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_step_names_itself_and_the_advice() {
        let mut steps = Steps::default();
        let error = steps.step("format", "run 'cargo fmt'", || bail!("not formatted")).expect_err("failed");
        assert_eq!(format!("{error:#}"), "step 'format' failed; run 'cargo fmt': not formatted");
        assert!(steps.summary().starts_with("  format"));
    }

    #[test]
    fn failing_commands_are_errors() {
        let here = Path::new(".");
        assert!(run(here, "true", &[]).is_ok());
        assert!(format!("{:#}", run(here, "false", &[]).expect_err("failed")).contains("exit status: 1"));
        assert!(run(here, "no-such-program-here", &[]).is_err());
        assert_eq!(output(here, "echo", &["a"]).expect("runs"), "a\n");
    }
}
