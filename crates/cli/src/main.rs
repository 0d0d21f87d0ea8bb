//! The binary `hyperscale`: arguments → settings → command.
//!
//! It owns what a person sees: flags, messages, exit codes. It must never decide how load is made or counted; that is
//! the engine's.

mod args;
mod cluster;
mod commands;
mod errors;
mod faces;
mod identity;
mod local;
mod plan_file;
mod printer;
mod recording;
mod report_file;
mod settings;
mod tasks;

use std::process::ExitCode;

use args::Cli;

fn main() -> ExitCode {
    match Cli::from_command_line() {
        Ok(cli) => commands::execute(cli).into(),
        Err(code) => code.into(),
    }
}
