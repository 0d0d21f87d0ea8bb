//! `cargo xtask e2e`: clusters of real processes under faults, with the times of production.
//!
//! The tests are those of the binary (`crates/cli/tests/it/cluster`); `cargo xtask test` runs them with the profile
//! `test`, a fifth of all times.

use std::num::NonZeroU32;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::packages;
use crate::steps::{cargo, output};

/// Tests of clusters of processes.
const CLUSTERS: &str = "test(/^cluster::/)";
/// Those that put every node on a host of its own: network namespaces are made by root alone.
pub(crate) const HOSTS: &str = "cluster::hosts::";
/// The variable that names the profile of times, read by the tests.
const TIMERS: &str = "HYPERSCALE_TEST_TIMERS";

/// Which of it, and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct E2eArgs {
    /// Only tests whose name contains this.
    filter: Option<String>,
    /// Profile of the nodes' times: `lan`, or `test` for a fifth of it.
    #[arg(long, default_value = "lan", value_parser = ["lan", "test"])]
    timers: String,
    /// Run everything this many times.
    #[arg(long, value_name = "N", default_value_t = NonZeroU32::MIN)]
    repeat: NonZeroU32,
}

/// Installs what is missing and runs them.
pub(crate) fn run(root: &Path, args: &E2eArgs) -> Result<()> {
    packages::install_missing(root, packages::FOR_TESTS)?;
    let filter = filter(args.filter.as_deref(), is_root(root)?);
    for round in 1..=args.repeat.get() {
        eprintln!("\n==> round {round} of {}, times of the profile `{}`", args.repeat, args.timers);
        let words = ["nextest", "run", "--locked", "-p", "hyperscale-cli", "--test", "it", "--no-fail-fast"];
        let status = Command::new(cargo())
            .args(words)
            .args(["-E", &filter])
            .env(TIMERS, &args.timers)
            .current_dir(root)
            .status()
            .context("cannot start cargo nextest; install it with 'cargo install cargo-nextest'")?;
        if !status.success() {
            bail!("round {round} ended with {status}");
        }
    }
    Ok(())
}

/// Whether network namespaces can be made. Says so if not.
pub(crate) fn is_root(root: &Path) -> Result<bool> {
    let is_root = output(root, "id", &["-u"])?.trim() == "0";
    if !is_root {
        eprintln!("  not run as root: tests that need network namespaces are left out ({HOSTS}*)");
    }
    Ok(is_root)
}

fn filter(part: Option<&str>, is_root: bool) -> String {
    let part = part.map(|part| format!(" and test({part})")).unwrap_or_default();
    let hosts = if is_root { String::new() } else { format!(" and not test(/^{HOSTS}/)") };
    format!("{CLUSTERS}{part}{hosts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_runs_what_needs_namespaces() {
        assert_eq!(filter(None, true), "test(/^cluster::/)");
        assert_eq!(
            filter(Some("killed"), false),
            "test(/^cluster::/) and test(killed) and not test(/^cluster::hosts::/)"
        );
    }
}
