//! Developer entry points: `cargo xtask test`, `tidy`, `sim`, `e2e` and `bench`.
//!
//! Plain `std` and little else, because everybody builds this first. It must never be needed to run the product.

#![expect(clippy::print_stderr, reason = "a developer tool talks to the terminal it was started from")]

mod bench;
mod e2e;
mod instructions;
mod packages;
mod python;
mod sim;
mod steps;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer entry points of Hyperscale.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check and test everything; installs the Debian and Python packages the tests need.
    Test {
        /// Only formatting, tidy and tests: for the inner loop.
        #[arg(long)]
        quick: bool,
    },
    /// Check what the compiler cannot: dependency directions, licences, file sizes, forbidden texts, documents.
    Tidy,
    /// Simulate whole clusters under faults; `cargo xtask sim --help` lists what can be asked.
    Sim(sim::SimArgs),
    /// Clusters of real processes under faults, with the times of production.
    E2e(e2e::E2eArgs),
    /// Measure the goals of the engine side by side with its peers; installs what is missing.
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Test { quick } => test::run(&root(), quick),
        Command::Tidy => tidy::run(&root()),
        Command::Sim(args) => sim::run(&root(), &args),
        Command::E2e(args) => e2e::run(&root(), &args),
        Command::Bench(args) => bench::run(&root(), &args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace: two levels above this crate.
fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).map(PathBuf::from).unwrap_or(manifest)
}
