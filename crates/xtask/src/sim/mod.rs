//! `cargo xtask sim`: builds the simulator and hands everything over to it.
//!
//! The simulator is a program of its own, so that this one stays quick to build.

mod measure;

use std::path::Path;

use anyhow::Result;

use crate::steps::{self, cargo};

/// Seeds that the tests run, for how long at most, and how many they need at least.
const TEST: [&str; 7] = ["--seeds", "300", "--seconds", "360", "--least", "100", "--replay"];
/// Clusters of a thousand nodes want real speed.
const LARGE: &str = "--large";
/// Numbers want it too, and all of them at once make a part of the document.
const MEASURE: &str = "--measure";

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
    if arguments.contains(&MEASURE) { measure::run(root, &arguments) } else { simulate(root, &arguments) }
}

/// The share of the simulator in the tests: seeds, and the recorded seed of every deliberate bug.
pub(crate) fn test(root: &Path) -> Result<()> {
    simulate(root, &TEST)
}

fn simulate(root: &Path, arguments: &[&str]) -> Result<()> {
    steps::run(root, &cargo(), &words(arguments))
}

/// What cargo is told.
fn words<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "--quiet", "--locked", "--package", "hyperscale-sim"];
    if arguments.contains(&LARGE) || arguments.contains(&MEASURE) {
        words.push("--release");
    }
    words.push("--");
    words.extend(arguments);
    words
}
