//! `cargo xtask sim`: builds the simulator and hands everything over to it.
//!
//! The simulator is a program of its own, so that this one stays quick to build.

use std::path::Path;

use anyhow::Result;

use crate::steps::{self, cargo};

/// Seeds that the tests run, for how long at most, and how many they need at least.
const TEST: [&str; 7] = ["--seeds", "300", "--seconds", "360", "--least", "100", "--replay"];
/// Arguments that want real speed: numbers for the document, and clusters of a thousand nodes.
const FAST: [&str; 2] = ["--measure", "--large"];

/// Arguments for the simulator; `--help` lists them.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SimArgs {
    /// Handed over as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the simulator with these arguments.
pub(crate) fn run(root: &Path, args: &SimArgs) -> Result<()> {
    let arguments: Vec<&str> = args.arguments.iter().map(String::as_str).collect();
    simulate(root, &arguments)
}

/// The share of the simulator in the tests: seeds, and the recorded seed of every deliberate bug.
pub(crate) fn test(root: &Path) -> Result<()> {
    simulate(root, &TEST)
}

fn simulate(root: &Path, arguments: &[&str]) -> Result<()> {
    let mut words = vec!["run", "--quiet", "--locked", "--package", "hyperscale-sim"];
    if FAST.iter().any(|flag| arguments.contains(flag)) {
        words.push("--release");
    }
    words.push("--");
    words.extend(arguments);
    steps::run(root, &cargo(), &words)
}
